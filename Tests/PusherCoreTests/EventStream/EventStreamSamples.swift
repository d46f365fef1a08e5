import PusherCore

/// An event as a test reads it.
struct StreamEvent: Equatable, CustomStringConvertible {
  var type = "message"
  var data: String
  var id = ""

  var description: String { "\(type)/\(id)/\(data)" }
}

struct StreamReading: Equatable {
  var events: [StreamEvent] = []
  var lastEventID = ""
  var reconnectionTime: Int?
  var error: EventStreamError?

  /// Feeds the pieces in order, as a socket delivers them.
  init(
    _ pieces: [[UInt8]], limits: EventStreamLimits = EventStreamLimits(), lastEventID: String = ""
  ) {
    let parser = EventStreamParser(limits: limits, lastEventID: lastEventID)
    do throws(EventStreamError) {
      for piece in pieces {
        parser.input.append(piece)
        while let event = try parser.next() {
          events.append(
            StreamEvent(
              type: event.type.text, data: event.data.text, id: event.lastEventID.text))
        }
      }
    } catch {
      self.error = error
    }
    self.lastEventID = parser.lastEventID
    reconnectionTime = parser.reconnectionTime
  }

  init(_ text: String) {
    self.init([Array(text.utf8)])
  }
}

struct EventStreamSample: Sendable, CustomStringConvertible {
  let name: String
  let bytes: [UInt8]
  let events: [StreamEvent]

  init(_ name: String, _ text: String, _ events: [StreamEvent]) {
    self.init(name, Array(text.utf8), events)
  }

  init(_ name: String, _ bytes: [UInt8], _ events: [StreamEvent]) {
    self.name = name
    self.bytes = bytes
    self.events = events
  }

  var description: String { name }

  /// The examples of the standard's section 9.2.6, in order, and one of section 9.2.1.
  static let standard = [
    EventStreamSample(
      "three events of the introduction",
      "data: This is the first message.\n\ndata: This is the second message, it\n"
        + "data: has two lines.\n\ndata: This is the third message.\n\n",
      [
        .init(data: "This is the first message."),
        .init(data: "This is the second message, it\nhas two lines."),
        .init(data: "This is the third message."),
      ]),
    EventStreamSample(
      "two types",
      "event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\nevent: add\ndata: 113411\n\n",
      [
        .init(type: "add", data: "73857293"), .init(type: "remove", data: "2153"),
        .init(type: "add", data: "113411"),
      ]),
    EventStreamSample(
      "a stock ticker", "data: YHOO\ndata: +2\ndata: 10\n\n", [.init(data: "YHOO\n+2\n10")]),
    EventStreamSample(
      "four blocks: a comment, an id, an id without value, an incomplete one",
      ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n",
      [.init(data: "first event", id: "1"), .init(data: "second event")]),
    EventStreamSample(
      "four blocks, the last complete",
      ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
      [
        .init(data: "first event", id: "1"), .init(data: "second event"),
        .init(data: " third event"),
      ]),
    EventStreamSample(
      "two events of empty lines, the last block incomplete", "data\n\ndata\ndata\n\ndata:",
      [.init(data: ""), .init(data: "\n")]),
    EventStreamSample(
      "a space or none", "data:test\n\ndata: test\n\n", [.init(data: "test"), .init(data: "test")]),
  ]

  /// The examples of the original README.
  static let readme = [
    EventStreamSample(
      "an event with a name", "id: event-id\nevent: event-name\ndata: event-data\n\n",
      [.init(type: "event-name", data: "event-data", id: "event-id")]),
    EventStreamSample(
      "an event without a name", "id: event-id\ndata: event-data\n\ndata: event-data\n\n",
      [.init(data: "event-data", id: "event-id"), .init(data: "event-data", id: "event-id")]),
    EventStreamSample(
      "three data lines",
      "id: event-id\ndata: event-data-1\ndata: event-data-2\ndata: event-data-3\n\n",
      [.init(data: "event-data-1\nevent-data-2\nevent-data-3", id: "event-id")]),
    EventStreamSample("a heartbeat", ":heartbeat\n\n", []),
  ]

  static let details = [
    EventStreamSample(
      "CR, LF and CRLF mixed", "data: a\rdata: b\r\ndata: c\n\r\ndata: d\r\rdata: e\n\r",
      [.init(data: "a\nb\nc"), .init(data: "d"), .init(data: "e")]),
    EventStreamSample(
      "an LF after a CRLF is a line of its own", "data: a\r\n\ndata: b\r\r\n\n",
      [.init(data: "a"), .init(data: "b")]),
    EventStreamSample("a byte order mark", "\u{FEFF}data: a\n\n", [.init(data: "a")]),
    EventStreamSample(
      "only the first mark goes", "\u{FEFF}\u{FEFF}data: a\n\ndata: b\n\n", [.init(data: "b")]),
    EventStreamSample(
      "a mark later on is text", "data: \u{FEFF}a\n\n", [.init(data: "\u{FEFF}a")]),
    EventStreamSample(
      "comments inside a block", "data: a\n: b\ndata: c\n:\n\n", [.init(data: "a\nc")]),
    EventStreamSample(
      "a block that begins with a comment", ":\ndata: a\n\n", [.init(data: "a")]),
    EventStreamSample(
      "one space goes, tabs stay", "data:  a\ndata:\tb\n\n", [.init(data: " a\n\tb")]),
    EventStreamSample("colons in the value", "data: a:b: c\n\n", [.init(data: "a:b: c")]),
    EventStreamSample(
      "unknown names, other letters, spaces in the name",
      "datax: a\nData: b\n data: c\ndat: d\ndata : e\n: data: f\n\n", []),
    EventStreamSample(
      "an id with NUL says nothing", "id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n",
      [.init(data: "a", id: "1"), .init(data: "b", id: "1")]),
    EventStreamSample(
      "an id counts without data, and stays", "id: 7\n\ndata: a\n\ndata: b\n\n",
      [.init(data: "a", id: "7"), .init(data: "b", id: "7")]),
    EventStreamSample(
      "an event without data says nothing", "event: x\n\ndata: a\n\n", [.init(data: "a")]),
    EventStreamSample(
      "the last type and id of a block count",
      "event: x\nid: 1\nevent: y\nid: 2\ndata: a\n\nevent: z\nevent:\ndata: b\n\n",
      [.init(type: "y", data: "a", id: "2"), .init(data: "b", id: "2")]),
    EventStreamSample("NUL in data is text", "data: a\0b\n\n", [.init(data: "a\0b")]),
    EventStreamSample("nothing", "", []),
    EventStreamSample("only line ends", "\n\r\n\r\r\n\n", []),
    EventStreamSample(
      "other languages", "data: é 中文 😀\nid: ü\n\n", [.init(data: "é 中文 😀", id: "ü")]),
    EventStreamSample(
      "bytes that are not UTF-8",
      Array("data: ".utf8) + [0x61, 0xFF, 0xE2, 0x82, 0x0A] + Array("id: ".utf8) + [0x80, 0x0A]
        + Array("event: ".utf8) + [0xF0, 0x9F, 0x98, 0x0A, 0x0A],
      [.init(type: "\u{FFFD}", data: "a\u{FFFD}\u{FFFD}", id: "\u{FFFD}")]),
    EventStreamSample(
      "a long line", "data: " + String(repeating: "0123456789", count: 9) + "\n\n",
      [.init(data: String(repeating: "0123456789", count: 9))]),
  ]

  static let all = standard + readme + details
}
