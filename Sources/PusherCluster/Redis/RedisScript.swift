internal import PusherCore

package struct RedisScript: Sendable, Equatable {
  package let text: String
  /// The name under which Redis keeps the script: its SHA-1 in hexadecimal digits.
  package let sha1: String

  package init(_ text: String) {
    self.text = text
    sha1 = Hex.encode(Digest.sha1(Array(text.utf8)))
  }

  /// Returns the command that runs the script, by name or, for a Redis without the script, by text.
  package func command(keys: [[UInt8]], arguments: [[UInt8]], byName: Bool) -> RedisCommand {
    let head = byName ? ["EVALSHA", sha1] : ["EVAL", text]
    return RedisCommand((head + ["\(keys.count)"]).map { Array($0.utf8) } + keys + arguments)
  }
}

extension RedisLink {
  /// Runs a script, with the result as from ``send(_:_:)``.
  ///
  /// The first call on a connection sends the text, later calls send the name. A Redis that has
  /// lost the script gets the text again; commands sent in the meantime run before it.
  package func run(
    _ script: RedisScript, keys: [[UInt8]], arguments: [[UInt8]],
    _ reply: @escaping (RedisResult) -> Void
  ) {
    let isKnown = noteUse(of: script)
    send(script.command(keys: keys, arguments: arguments, byName: isKnown)) {
      [weak self] result in
      guard isKnown, case .success(let answer) = result, answer.isError("NOSCRIPT"), let self
      else { return reply(result) }
      send(script.command(keys: keys, arguments: arguments, byName: false), reply)
    }
  }
}
