import PusherCore
import TestSupport
import Testing

@Suite("Event streams (HTML Living Standard section 9.2)")
struct EventStreamParserTests {
  @Test(arguments: EventStreamSample.all)
  func `a stream gives the events that the standard asks for`(_ sample: EventStreamSample) {
    let reading = StreamReading([sample.bytes])
    #expect(reading.events == sample.events)
    #expect(reading.error == nil)
  }

  @Test(arguments: EventStreamSample.all)
  func `the events are the same at every split point`(_ sample: EventStreamSample) {
    let bytes = sample.bytes
    let whole = StreamReading([bytes])
    #expect(bytes.count < 200)
    for first in 0...bytes.count {
      for second in first...bytes.count {
        let pieces = [
          Array(bytes[..<first]), Array(bytes[first..<second]), Array(bytes[second...]),
        ]
        let reading = StreamReading(pieces)
        guard reading != whole else { continue }
        Issue.record("\(sample) cut at \(first) and \(second): \(reading.events)")
        return
      }
    }
    #expect(StreamReading(bytes.map { [$0] }) == whole)
  }

  /// Reads a stream at once, and expects the same byte by byte.
  private func whole(_ bytes: [UInt8]) -> StreamReading {
    let reading = StreamReading([bytes])
    #expect(StreamReading(bytes.map { [$0] }) == reading, "\(bytes)")
    return reading
  }

  @Test(arguments: EventStreamSample.all)
  func `a stream gives the same after an earlier event`(_ sample: EventStreamSample) {
    #expect(whole(Array("id: 0\ndata: 0\n\n".utf8) + sample.bytes).events.count > 0)
  }

  @Test(arguments: ["17", "an-id-of-more-than-sixteen-bytes"])
  func `events of the usual shape with one changed byte are the same at once and byte by byte`(
    id: String
  ) {
    let usual = Array(
      "id: \(id)\nevent: price.updated\ndata: {\"note\":\"more than thirty-two bytes, é\"}\n\n".utf8
    )
    for index in usual.indices {
      for byte: UInt8 in [0, 0x09, 0x0A, 0x0D, 0x20, 0x7F, 0xC3] {
        var changed = usual
        changed[index] = byte
        let reading = whole(usual + changed + usual)
        #expect(reading.events.first?.type == "price.updated")
        #expect(reading.events.last?.id == id)
      }
    }
  }

  @Test func `an event is given as soon as its empty line has ended with CR`() {
    #expect(StreamReading("data: a\r\r").events == [.init(data: "a")])
  }

  @Test func `the reconnection time is taken from digits only`() {
    let times: [(String, Int?)] = [
      ("retry: 2500", 2500), ("retry:0", 0), ("retry: 007", 7), ("retry", nil), ("retry:", nil),
      ("retry: 1.5", nil), ("retry: -1", nil), ("retry: 1e3", nil), ("retry:  5", nil),
      ("retry: 5 ", nil), ("retry: ٣", nil), ("retry: 99999999999999999999999", Int.max),
    ]
    for (line, time) in times {
      #expect(StreamReading(line + "\n").reconnectionTime == time, "\(line)")
    }
    #expect(StreamReading("retry: 1\nretry: 2\nretry: x\n\n").reconnectionTime == 2)
  }

  @Test func `the last event ID is that of the last complete event`() {
    let reading = StreamReading(
      [Array("id: 1\ndata: a\n\nid: 2\ndata: b\n".utf8)], lastEventID: "0")
    #expect(reading.lastEventID == "1")
    #expect(StreamReading([[]], lastEventID: "0").lastEventID == "0")
  }

  @Test func `a new stream begins anew but for the last event ID`() throws {
    let parser = EventStreamParser()
    parser.input.append("retry: 5\nid: 1\ndata: a\n\nevent: x\nid: 2\ndata: b\r")
    #expect(try parser.next()?.data.text == "a")
    #expect(try parser.next() == nil)
    parser.reset()
    parser.input.append("\u{FEFF}data: c\n\n")
    let event = try #require(try parser.next())
    #expect(event.type.text == "message")
    #expect(event.data.text == "c")
    #expect(event.lastEventID.text == "1")
    #expect(parser.reconnectionTime == 5)
  }

  @Test func `a one-line event is not copied`() throws {
    let parser = EventStreamParser()
    parser.input.append("id: 1\nevent: e\ndata: here\n\n")
    let input = parser.input.view
    let event = try #require(try parser.next())
    #expect(unsafe event.data.base == input.base + 21)
  }
}

@Suite("Event streams: limits")
struct EventStreamLimitTests {
  private let limits = EventStreamLimits(line: 20, event: 30)

  private func read(_ text: String) -> [StreamReading] {
    let bytes = Array(text.utf8)
    return [
      StreamReading([bytes], limits: limits), StreamReading(bytes.map { [$0] }, limits: limits),
    ]
  }

  @Test func `a line may be as long as the limit`() {
    for reading in read("data: 12345678901234\n\n") {
      #expect(reading.events == [.init(data: "12345678901234")])
      #expect(reading.error == nil)
    }
  }

  @Test func `a longer line ends the stream, complete or not, and events before it count`() {
    for end in ["", "\n\n"] {
      for reading in read("data: a\n\n: 3456789012345678901" + end) {
        #expect(reading.events == [.init(data: "a")])
        #expect(reading.error == .lineTooLong(limit: 20))
      }
    }
  }

  @Test func `the limits hold for a usual event after another event`() {
    for reading in read("data: a\n\ndata: 123456789012345\n\n") {
      #expect(reading.events == [.init(data: "a")])
      #expect(reading.error == .lineTooLong(limit: 20))
    }
    let bytes = Array("data: a\n\ndata: 1234\n\n".utf8)
    let reading = StreamReading([bytes], limits: EventStreamLimits(line: 20, event: 3))
    #expect(reading.error == .eventTooLarge(limit: 3))
  }

  @Test func `an event's data may be as large as the limit, and no larger`() {
    let line = "data: 12345678901234\n"
    for reading in read(line + line + "\n") {
      #expect(reading.events.map(\.data.utf8.count) == [29])
    }
    for reading in read(line + line + "data\n\n") { #expect(reading.error == nil) }
    for reading in read(line + line + "data: 1\n") {
      #expect(reading.error == .eventTooLarge(limit: 30))
    }
  }

  @Test func `mended data counts as it is kept`() {
    let bytes = Array("data: ".utf8) + [UInt8](repeating: 0xFF, count: 11) + Array("\n\n".utf8)
    #expect(StreamReading([bytes], limits: limits).error == .eventTooLarge(limit: 30))
    let fewer = Array("data: ".utf8) + [UInt8](repeating: 0xFF, count: 10) + Array("\n\n".utf8)
    #expect(StreamReading([fewer], limits: limits).events.count == 1)
  }

  @Test func `an endless comment takes no memory`() throws {
    let parser = EventStreamParser()
    let block = [UInt8](repeating: UInt8(ascii: ":"), count: 99) + [0x0A]
    for _ in 0..<10_000 {
      parser.input.append(block)
      #expect(try parser.next() == nil)
    }
    #expect(parser.input.isEmpty)
    #expect(parser.input.capacity <= 65_536)
  }
}

@Suite("Mending UTF-8 (Encoding standard, UTF-8 decoder)")
struct UTF8RepairTests {
  @Test func `each maximal part that is wrong becomes one replacement character`() {
    let cases: [(hex: String, text: String)] = [
      ("61 62", "ab"), ("80", "\u{FFFD}"), ("C0 AF", "\u{FFFD}\u{FFFD}"), ("E2 82", "\u{FFFD}"),
      ("E2 82 41", "\u{FFFD}A"), ("F0 9F 98", "\u{FFFD}"), ("F0 9F 98 E2 82 AC", "\u{FFFD}€"),
      ("ED A0 80", "\u{FFFD}\u{FFFD}\u{FFFD}"), ("F4 90 80 80", "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}"),
      ("E0 9F BF", "\u{FFFD}\u{FFFD}\u{FFFD}"), ("FF 41 FE", "\u{FFFD}A\u{FFFD}"),
      ("F0 80 80 41", "\u{FFFD}\u{FFFD}\u{FFFD}A"), ("C3 A9 C3", "é\u{FFFD}"),
    ]
    for (hex, text) in cases { #expect(repaired(wire(hex)) == Array(text.utf8), "\(hex)") }
  }

  @Test func `random bytes become what the standard library makes of them`() {
    var random = SeededGenerator(seed: 9)
    let pool: [UInt8] = [
      0x41, 0x80, 0xBF, 0xC3, 0xE0, 0xE2, 0xED, 0xF0, 0xF4, 0x9F, 0xA0, 0x90, 0xFF,
    ]
    for _ in 0..<3000 {
      let bytes = (0..<Int.random(in: 0...12, using: &random)).map { _ in
        pool[Int.random(in: 0..<pool.count, using: &random)]
      }
      #expect(repaired(bytes) == Array(String(decoding: bytes, as: UTF8.self).utf8), "\(bytes)")
    }
  }

  private func repaired(_ bytes: [UInt8]) -> [UInt8] {
    let output = ByteBuffer()
    #expect(withView(bytes) { output.append(repairing: $0, limit: 1000) })
    return output.array
  }
}
