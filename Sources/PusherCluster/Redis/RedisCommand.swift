package import PusherCore

/// A command for Redis: words of bytes.
package struct RedisCommand: Sendable, Equatable {
  private let words: [[UInt8]]

  /// There is at least one word, the command's name.
  package init(_ words: [[UInt8]]) {
    precondition(!words.isEmpty, "a command without a name")
    self.words = words
  }

  package init(_ words: String...) { self.init(words.map { Array($0.utf8) }) }

  /// Maximum size on the wire, in bytes: each word has a length and two line ends.
  package var size: Int { words.reduce(24) { $0 + $1.count + 24 } }

  /// Appends the wire form: an array of bulk strings.
  ///
  /// Source: Redis's page "RESP protocol specification".
  package func write(to output: ByteBuffer) {
    Self.write(UInt8(ascii: "*"), words.count, to: output)
    for word in words {
      Self.write(UInt8(ascii: "$"), word.count, to: output)
      output.append(word)
      output.append("\r\n")
    }
  }

  private static func write(_ type: UInt8, _ length: Int, to output: ByteBuffer) {
    output.append(type)
    output.append(decimal: length)
    output.append("\r\n")
  }
}
