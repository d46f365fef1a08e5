import PusherCore
import Testing

/// An event as a test reads it; its data alone stands for an event with the usual name.
struct StreamEvent: Equatable, CustomStringConvertible, ExpressibleByStringLiteral {
  var type: String
  var data: String
  var id: String

  init(type: String = "message", _ data: String, id: String = "") {
    (self.type, self.data, self.id) = (type, data, id)
  }

  init(stringLiteral data: String) { self.init(data) }

  var description: String { "\(type)/\(id)/\(data)" }
}

/// How a body ends, if it does.
enum BodyEnd: Sendable {
  case marked
  case unmarked
}

/// What a body says, as a test reads it.
struct StreamReading: Equatable {
  var events: [StreamEvent] = []
  var lastEventID = ""
  var reconnectionTime: Int?
  var error: EventStreamError?
  /// True if the end of a body that is no event stream cut an event off.
  var isCut = false

  var data: [String] { events.map(\.data) }

  /// Feeds the pieces in order, as a socket delivers them.
  init(
    _ pieces: [[UInt8]], _ format: BodyFormat = .eventStream,
    limits: EventStreamLimits = EventStreamLimits(), end: BodyEnd? = nil, lastEventID: String = ""
  ) {
    let parser = EventStreamParser(limits: limits, lastEventID: lastEventID)
    if format != .eventStream { parser.begin(format) }
    do throws(EventStreamError) {
      for piece in pieces {
        parser.input.append(piece)
        try take(from: parser)
      }
      if let end, parser.endBody(isMarked: end == .marked) { try take(from: parser) }
    } catch { self.error = error }
    self.lastEventID = parser.lastEventID
    reconnectionTime = parser.reconnectionTime
    isCut = format != .eventStream && error == nil && parser.isInsideEvent
  }

  init(_ text: String, _ format: BodyFormat = .eventStream, end: BodyEnd? = nil) {
    self.init([Array(text.utf8)], format, end: end)
  }

  private mutating func take(from parser: EventStreamParser) throws(EventStreamError) {
    while let event = try parser.next() {
      events.append(StreamEvent(type: event.type.text, event.data.text, id: event.lastEventID.text))
    }
  }

  /// Reads whole and byte by byte, with the same result.
  static func wholeAndBytewise(
    _ bytes: [UInt8], _ format: BodyFormat = .eventStream,
    limits: EventStreamLimits = EventStreamLimits(), end: BodyEnd? = nil
  ) -> StreamReading {
    let whole = StreamReading([bytes], format, limits: limits, end: end)
    #expect(StreamReading(bytes.map { [$0] }, format, limits: limits, end: end) == whole)
    return whole
  }

  static func expectNoMemory(forLinesOf text: String, _ format: BodyFormat) throws {
    let parser = EventStreamParser()
    if format != .eventStream { parser.begin(format) }
    for _ in 0..<10_000 {
      parser.input.append(String(repeating: text, count: 99) + "\n")
      #expect(try parser.next() == nil)
    }
    #expect(parser.input.isEmpty && parser.input.capacity <= 65_536)
  }

  /// Expects the same result at all pairs of split points, and byte by byte.
  static func expectSameAtEverySplit(
    _ bytes: [UInt8], _ format: BodyFormat = .eventStream, end: BodyEnd? = nil
  ) {
    let whole = wholeAndBytewise(bytes, format, end: end)
    for first in 0...bytes.count {
      for second in first...bytes.count {
        let pieces = [bytes[..<first], bytes[first..<second], bytes[second...]].map(Array.init)
        let reading = StreamReading(pieces, format, end: end)
        guard reading != whole else { continue }
        return unexpected("cut at \(first) and \(second): \(reading.events)")
      }
    }
  }
}

struct EventStreamSample: Sendable, CustomStringConvertible {
  let description: String
  let format: BodyFormat
  let bytes: [UInt8]
  let events: [StreamEvent]
  var isCut = false

  init(_ name: String, _ text: String = "", bytes: [UInt8]? = nil, _ events: [StreamEvent]) {
    self.init(name, .eventStream, text, bytes: bytes, events)
  }

  init(
    _ name: String, _ format: BodyFormat, _ text: String = "", bytes: [UInt8]? = nil,
    _ events: [StreamEvent], isCut: Bool = false
  ) {
    (description, self.format, self.bytes) = (name, format, bytes ?? Array(text.utf8))
    (self.events, self.isCut) = (events, isCut)
  }

  func check() {
    let reading = StreamReading([bytes], format)
    #expect(reading.events == events && reading.error == nil && reading.isCut == isCut)
  }

  /// The examples of the standard's section 9.2.6, in order, and one of section 9.2.1.
  static let standard: [EventStreamSample] = [
    .init(
      "three events of the introduction",
      "data: This is the first message.\n\ndata: This is the second message, it\n"
        + "data: has two lines.\n\ndata: This is the third message.\n\n",
      [
        "This is the first message.", "This is the second message, it\nhas two lines.",
        "This is the third message.",
      ]),
    .init(
      "two types",
      "event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\nevent: add\ndata: 113411\n\n",
      [.init(type: "add", "73857293"), .init(type: "remove", "2153"), .init(type: "add", "113411")]),
    .init("a stock ticker", "data: YHOO\ndata: +2\ndata: 10\n\n", ["YHOO\n+2\n10"]),
    .init(
      "four blocks: a comment, an id, an id without value, an incomplete one",
      ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n",
      [.init("first event", id: "1"), "second event"]),
    .init(
      "four blocks, the last complete",
      ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
      [.init("first event", id: "1"), "second event", " third event"]),
    .init(
      "two events of empty lines, the last block incomplete", "data\n\ndata\ndata\n\ndata:",
      ["", "\n"]),
    .init("a space or none", "data:test\n\ndata: test\n\n", ["test", "test"]),
  ]

  /// The examples of the original README.
  static let readme: [EventStreamSample] = [
    .init(
      "an event with a name", "id: event-id\nevent: event-name\ndata: event-data\n\n",
      [.init(type: "event-name", "event-data", id: "event-id")]),
    .init(
      "an event without a name", "id: event-id\ndata: event-data\n\ndata: event-data\n\n",
      [.init("event-data", id: "event-id"), .init("event-data", id: "event-id")]),
    .init(
      "three data lines",
      "id: event-id\ndata: event-data-1\ndata: event-data-2\ndata: event-data-3\n\n",
      [.init("event-data-1\nevent-data-2\nevent-data-3", id: "event-id")]),
    .init("a heartbeat", ":heartbeat\n\n", []),
  ]

  static let details: [EventStreamSample] = [
    .init(
      "CR, LF and CRLF mixed", "data: a\rdata: b\r\ndata: c\n\r\ndata: d\r\rdata: e\n\r",
      ["a\nb\nc", "d", "e"]),
    .init("an LF after a CRLF is a line of its own", "data: a\r\n\ndata: b\r\r\n\n", ["a", "b"]),
    .init("an empty line that ends with CR alone", "data: a\r\r", ["a"]),
    .init("a byte order mark", "\u{FEFF}data: a\n\n", ["a"]),
    .init("only the first mark goes", "\u{FEFF}\u{FEFF}data: a\n\ndata: b\n\n", ["b"]),
    .init("a mark later on is text", "data: \u{FEFF}a\n\n", ["\u{FEFF}a"]),
    .init("comments inside a block", "data: a\n: b\ndata: c\n:\n\n", ["a\nc"]),
    .init("a block that begins with a comment", ":\ndata: a\n\n", ["a"]),
    .init("one space goes, tabs stay", "data:  a\ndata:\tb\n\n", [" a\n\tb"]),
    .init("colons in the value", "data: a:b: c\n\n", ["a:b: c"]),
    .init(
      "unknown names, other letters, spaces in the name",
      "datax: a\nData: b\n data: c\ndat: d\ndata : e\n: data: f\n\n", []),
    .init(
      "an id with NUL says nothing", "id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n",
      [.init("a", id: "1"), .init("b", id: "1")]),
    .init(
      "an id counts without data, and stays", "id: 7\n\ndata: a\n\ndata: b\n\n",
      [.init("a", id: "7"), .init("b", id: "7")]),
    .init("an event without data says nothing", "event: x\n\ndata: a\n\n", ["a"]),
    .init(
      "the last type and id of a block count",
      "event: x\nid: 1\nevent: y\nid: 2\ndata: a\n\nevent: z\nevent:\ndata: b\n\n",
      [.init(type: "y", "a", id: "2"), .init("b", id: "2")]),
    .init("NUL in data is text", "data: a\0b\n\n", ["a\0b"]),
    .init("nothing", "", []),
    .init("only line ends", "\n\r\n\r\r\n\n", []),
    .init("other languages", "data: é 中文 😀\nid: ü\n\n", [.init("é 中文 😀", id: "ü")]),
    .init(
      "bytes that are not UTF-8",
      bytes: Array("data: ".utf8) + [0x61, 0xFF, 0xE2, 0x82, 0x0A] + Array("id: ".utf8) + [
        0x80, 0x0A,
      ]
        + Array("event: ".utf8) + [0xF0, 0x9F, 0x98, 0x0A, 0x0A],
      [.init(type: "\u{FFFD}", "a\u{FFFD}\u{FFFD}", id: "\u{FFFD}")]),
    .init("a long line", "data: \(long)\n\n", [.init(long)]),
  ]

  private static let long = String(repeating: "0123456789", count: 9)

  static let all = standard + readme + details
}
