import PusherCore
import TestSupport
import Testing

struct `The fast reader of events` {
  private static let reader = PlainEventReader(protocolPrefix: PusherService.pusher.commonPrefix)

  private static func parts(_ bytes: [UInt8]) -> [String]? {
    let scratch = ByteBuffer(capacity: 64)
    return withView(bytes) { view in
      let parts = reader.read(view, buffer: scratch)
      #expect(view.array == bytes)
      return parts.map { [$0.event.text, $0.channel.text, $0.data.text] }
    }
  }

  private static func general(_ bytes: [UInt8]) throws -> [String?] {
    try withView(bytes) { view in
      let envelope = try Envelope(view)
      return [envelope.eventName, envelope.channelName, envelope.dataString.map(JSONString.decode)]
    }
  }

  @Test func `messages of the usual shape are taken, and hold what the general way finds`() throws {
    var random = SeededGenerator(seed: 41)
    var taken = 0
    for _ in 0..<4000 {
      let message = RandomMessage(&random)
      let parts = Self.parts(message.bytes)
      if message.isCommon { #expect(parts != nil) }
      guard let parts else { continue }
      taken += 1
      #expect(try Self.general(message.bytes) == parts)
    }
    #expect(taken > 1000)
  }

  @Test func `a changed message is taken only when the general way finds the same`() throws {
    var random = SeededGenerator(seed: 42)
    for _ in 0..<8000 {
      let bytes = RandomMessage(&random).mutated(&random)
      guard let parts = Self.parts(bytes) else { continue }
      #expect(try Self.general(bytes) == parts)
    }
  }

  @Test(arguments: [
    "", "{", "{}", #"{"event":"e""#, #"{"event":"e","channel":"c"}"#, #"{"event":"e","data":"x"}"#,
    #"{"event":"pusher:error","channel":"c","data":"x"}"#,
    #"{"event":"e","channel":"private-encrypted-c","data":"x"}"#,
    #"{"event":"e","channel":"c","data":{"a":1}}"#, #"{"event":"e","channel":"c","data":"\n"}"#,
    #"{"event":"e","channel":"c","data":"x"} "#, #"{"event":"e","channel":"c","data":"x","a":1}"#,
    #"{"event":"\u0065","channel":"c","data":"x"}"#,
    #"{"event":"e","channel":"\u0063","data":"x"}"#,
  ])
  func `an event of another form goes the general way`(_ text: String) {
    #expect(Self.parts(Array(text.utf8)) == nil)
  }

  @Test func `every prefix of a message goes the general way`() {
    let message = Array(#"{"event":"an-event","channel":"channel","data":"{\"a\":\"b\"}"}"#.utf8)
    for count in 0..<message.count { #expect(Self.parts(Array(message[..<count])) == nil) }
    #expect(Self.parts(message) == ["an-event", "channel", #"{"a":"b"}"#])
  }

  @Test func `blanks in data stay, since data is handed out byte for byte`() {
    let message = #"{"event":"e","channel":"c","data":"{ \"a\" : [ 1.10 ] } "}"#
    #expect(Self.parts(Array(message.utf8))?.last == #"{ "a" : [ 1.10 ] } "#)
  }

  @Test func `behind a head that is known, the same data is found as by reading the whole`() {
    var random = SeededGenerator(seed: 44)
    var (taken, known) = (0, 0)
    for _ in 0..<4000 {
      let message = RandomMessage(&random)
      let scratch = ByteBuffer(capacity: 64)
      let head = withView(message.bytes) { Self.reader.read($0, buffer: scratch)?.head }
      guard let head, head > 0 else { continue }
      known += 1
      for bytes in [message.bytes, message.mutated(&random)] {
        guard bytes.count >= head, bytes[..<head] == message.bytes[..<head] else { continue }
        let data = withView(bytes) { view in
          let data = Self.reader.data(of: view, behind: head, buffer: scratch)
          #expect(view.array == bytes)
          return data?.text
        }
        if data != nil { taken += 1 }
        #expect(data == Self.parts(bytes)?.last)
      }
    }
    #expect(known > 500 && taken > known)
  }

  @Test func `the head ends with the quote before the data, where both names stand before it`() {
    let scratch = ByteBuffer(capacity: 64)
    func head(_ text: String) -> Int? {
      withView(Array(text.utf8)) { Self.reader.read($0, buffer: scratch)?.head }
    }
    let start = #"{"event":"e","channel":"c","data":""#
    #expect(head(start + #"x"}"#) == start.utf8.count)
    #expect(head(#"{"event":"e","data":"x","channel":"c"}"#) == 0)
  }
}
