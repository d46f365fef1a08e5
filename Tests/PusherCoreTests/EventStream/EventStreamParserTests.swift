import PusherCore
import TestSupport
import Testing

struct `Event streams (HTML Living Standard section 9.2)` {
  @Test(arguments: EventStreamSample.all)
  func `a stream gives the events that the standard asks for`(_ sample: EventStreamSample) {
    sample.check()
  }

  @Test(arguments: EventStreamSample.all)
  func `the events are the same at every split point`(_ sample: EventStreamSample) {
    StreamReading.expectSameAtEverySplit(sample.bytes)
  }

  @Test(arguments: EventStreamSample.all)
  func `a stream gives the same after an earlier event`(_ sample: EventStreamSample) {
    let earlier = Array("id: 0\ndata: 0\n\n".utf8)
    #expect(StreamReading.wholeAndBytewise(earlier + sample.bytes).events.count > 0)
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
    #expect(event.type.text == "message" && event.data.text == "c")
    #expect(event.lastEventID.text == "1" && parser.reconnectionTime == 5)
  }

  @Test(arguments: [
    (BodyFormat.eventStream, "id: 1\nevent: e\ndata: here\n\n", 21), (.lines, " {}\n", 1),
  ])
  func `an event of one line is not copied`(format: BodyFormat, text: String, place: Int) throws {
    let parser = EventStreamParser()
    if format != .eventStream { parser.begin(format) }
    parser.input.append(text)
    let input = parser.input.view
    let event = try #require(try parser.next())
    #expect(unsafe event.data.base == input.base + place)
  }
}

struct `Event streams: limits` {
  private let limits = EventStreamLimits(line: 20, event: 30)

  private func read(_ text: String) -> StreamReading {
    .wholeAndBytewise(Array(text.utf8), limits: limits)
  }

  @Test func `a line may be as long as the limit`() {
    let reading = read("data: 12345678901234\n\n")
    #expect(reading.events == ["12345678901234"] && reading.error == nil)
  }

  @Test(arguments: ["", "\n\n"])
  func `a longer line ends the stream, complete or not, and events before it count`(end: String) {
    let reading = read("data: a\n\n: 3456789012345678901" + end)
    #expect(reading.events == ["a"] && reading.error == .lineTooLong(limit: 20))
  }

  @Test func `the limits hold for a usual event after another event`() {
    let reading = read("data: a\n\ndata: 123456789012345\n\n")
    #expect(reading.events == ["a"] && reading.error == .lineTooLong(limit: 20))
    let bytes = Array("data: a\n\ndata: 1234\n\n".utf8)
    let short = StreamReading([bytes], limits: EventStreamLimits(line: 20, event: 3))
    #expect(short.error == .eventTooLarge(limit: 3))
  }

  @Test func `an event's data may be as large as the limit, and no larger`() {
    let lines = String(repeating: "data: 12345678901234\n", count: 2)
    #expect(read(lines + "\n").data.map(\.utf8.count) == [29])
    #expect(read(lines + "data\n\n").error == nil)
    #expect(read(lines + "data: 1\n").error == .eventTooLarge(limit: 30))
  }

  @Test(arguments: [(11, EventStreamError.eventTooLarge(limit: 30)), (10, nil)])
  func `mended data counts as it is kept`(count: Int, error: EventStreamError?) {
    let broken = [UInt8](repeating: 0xFF, count: count)
    let bytes = Array("data: ".utf8) + broken + Array("\n\n".utf8)
    let reading = StreamReading.wholeAndBytewise(bytes, limits: limits)
    #expect(reading.error == error && reading.events.count == (error == nil ? 1 : 0))
  }

  @Test func `an endless comment takes no memory`() throws {
    try StreamReading.expectNoMemory(forLinesOf: ":", .eventStream)
  }
}

struct `Mending UTF-8 (Encoding standard, UTF-8 decoder)` {
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

  private func repaired(_ bytes: [UInt8]) -> [UInt8] {
    let output = ByteBuffer()
    #expect(withView(bytes) { output.append(repairing: $0, limit: 1000) })
    return output.array
  }
}
