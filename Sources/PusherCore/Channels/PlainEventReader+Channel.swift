extension PlainEventReader {
  /// The message must be one that ``EventTranscoder`` has taken; others give any part, or `nil`.
  package static func channel(ofTaken message: ByteView) -> ByteView? {
    // `{"event":"` has ten bytes, and every name begins after them.
    guard message.count > 10, let nameEnd = quote(in: message, from: 10) else { return nil }
    let rest = message[(nameEnd + 1)..<message.count]
    if rest.begins(with: #","channel":""#) { return name(in: message, from: nameEnd + 13) }
    return EventTranscoder.channelStart(message).flatMap { name(in: message, from: $0 + 12) }
  }

  private static func name(in message: ByteView, from start: Int) -> ByteView? {
    quote(in: message, from: start).map { message[start..<$0] }
  }

  private static func quote(in message: ByteView, from start: Int) -> Int? {
    var index = start
    while index < message.count {
      if message[index] == 0x22 { return index }
      index &+= 1
    }
    return nil
  }
}
