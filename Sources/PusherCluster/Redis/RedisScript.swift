internal import PusherCore

/// A Lua script that Redis runs as one step.
package struct RedisScript: Sendable, Equatable {
  package let text: String
  /// The name under which Redis keeps it: its SHA-1 in hexadecimal digits.
  package let sha1: String

  package init(_ text: String) {
    self.text = text
    sha1 = Hex.encode(Digest.sha1(Array(text.utf8)))
  }

  /// The command that runs it, by its name or, for a Redis that does not have it, by its text.
  package func command(
    keys: [[UInt8]], arguments: [[UInt8]], byName: Bool
  ) -> RedisCommand {
    let head = byName ? ["EVALSHA", sha1] : ["EVAL", text]
    return RedisCommand(
      (head + ["\(keys.count)"]).map { Array($0.utf8) } + keys + arguments)
  }
}

extension RedisLink {
  /// Runs a script, and hands its result on as ``send(_:_:)`` does.
  ///
  /// The first time on a connection it is sent as text, afterwards by name. A Redis that has forgotten it gets the text
  /// again; then commands that were sent meanwhile run before it.
  package func run(
    _ script: RedisScript, keys: [[UInt8]], arguments: [[UInt8]],
    _ reply: @escaping (Result<RedisReply, RedisFailure>) -> Void
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
