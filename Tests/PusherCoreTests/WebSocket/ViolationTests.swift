import PusherCore
import TestSupport
import Testing

struct `Violations fail the connection (RFC 6455 sections 5, 7.1.7 and 8.1)` {
  private func expectFailure(
    _ connection: WebSocketConnection, _ bytes: [UInt8], _ error: WebSocketError,
    after: [ReceivedEvent] = [], sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let events = connection.events(after: bytes)
    #expect(events == after + [.failed(error)], sourceLocation: sourceLocation)
    #expect(connection.state == .closed, sourceLocation: sourceLocation)
    let sent = connection.takeOutput()
    let peer = sent.count > 1 && sent[1] & 0x80 == 0 ? WebSocketConnection.client() : .server()
    #expect(
      peer.events(after: sent).last == .closed(error.closeCode.rawValue, error.description),
      sourceLocation: sourceLocation)
    let later = connection.events(after: textFrame("later"))
    #expect(later == [] && connection.input.isEmpty, sourceLocation: sourceLocation)
    #expect(!connection.send(text: "x"), sourceLocation: sourceLocation)
  }

  @Test(arguments: [
    ("c1 00", WebSocketError.reservedBits), ("83 00", .unknownOpcode(3)),
    ("80 00", .continuationUnexpected), ("00 00", .continuationUnexpected),
    ("01 01 61 81 01 62", .continuationExpected), ("01 01 61 02 00", .continuationExpected),
    ("81 81 00 00 00 00 61", .maskUnexpected), ("09 00", .fragmentedControlFrame),
    ("89 7e 00 7e", .controlFrameTooLong), ("81 7e 00 01 61", .lengthNotMinimal),
    ("88 01 03", .closePayloadTooShort), ("88 04 03 e8 c3 28", .closeReasonNotUTF8),
    ("81 01 ff", .invalidUTF8), ("81 02 c3 28", .invalidUTF8), ("81 01 c3", .invalidUTF8),
    ("01 01 c3 80 01 28", .invalidUTF8), ("01 01 c3 80 00", .invalidUTF8),
    // Before the message ends.
    ("01 02 ce ba 00 01 ff", .invalidUTF8),
  ])
  func `a violation is answered, and the rest dropped`(hex: String, error: WebSocketError) throws {
    try expectFailure(.client(), wire(hex), error)
  }

  @Test func `a client's frame without a mask is refused`() throws {
    try expectFailure(.server(), textFrame("x"), .maskMissing)
  }

  @Test func `messages before the violation are delivered`() throws {
    let bytes = textFrame("good text") + wire("c1 00")
    try expectFailure(.client(), bytes, .reservedBits, after: [.text("good text")])
  }

  @Test(arguments: [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535])
  func `a close code that may not be sent is refused`(code: UInt16) throws {
    let close = frame(.close, [UInt8(code >> 8), UInt8(code & 255)])
    try expectFailure(.client(), close, .invalidCloseCode(code))
  }

  @Test func `bad UTF-8 fails inside an unfinished frame`() throws {
    let good = [UInt8]("κόσμε".utf8)
    try expectFailure(.client(), wire("81 7e 03 e8") + good + wire("ed a0"), .invalidUTF8)
    try expectFailure(.client(), wire("01 7e 03 e8") + good + wire("f4 90"), .invalidUTF8)
    let masked = frame(
      .text, good + [0xC0] + [UInt8](repeating: 0x61, count: 500), mask: 0xABCD_EF01)
    try expectFailure(.server(), [UInt8](masked[..<(8 + good.count + 1)]), .invalidUTF8)
  }

  @Test func `bad UTF-8 fails at its first byte when bytes come one by one`() {
    let payload = [UInt8]("κόσμε".utf8) + wire("f4 90 80 80 65")
    for mask in [nil, UInt32(0x1234_5678)] {
      let bytes = frame(.text, payload, mask: mask)
      let peer = mask == nil ? WebSocketConnection.client() : .server()
      let fatal = bytes.count - 4
      for (index, byte) in bytes.enumerated() {
        let events = peer.events(after: [byte])
        #expect(events == (index == fatal ? [.failed(.invalidUTF8)] : []), "at \(index)")
      }
    }
  }

  @Test func `binary messages hold any bytes`() {
    let client = WebSocketConnection.client()
    #expect(client.events(after: wire("82 01 ff")) == [.binary([0xFF])])
    #expect(client.events(after: wire("02 01 ff 80 01 fe")) == [.binary([0xFF, 0xFE])])
  }
}
