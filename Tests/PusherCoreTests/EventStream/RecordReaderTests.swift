import PusherCore
import TestSupport
import Testing

extension EventStreamSample {
  /// Read without an end of the body.
  static let records: [EventStreamSample] =
    lines + sequences + [
      .init("a document waits for its end", .document, "{}\n{}\n", [], isCut: true),
      .init("blanks are no document yet", .document, "\n \r\n", []),
    ]

  private static let lines: [EventStreamSample] = [
    .init("nothing", .lines, "", []),
    .init("three lines", .lines, "{\"a\":1}\n[2]\n3\n", [#"{"a":1}"#, "[2]", "3"]),
    .init("LF and CRLF", .lines, "1\r\n2\n3\r\n", ["1", "2", "3"]),
    .init("a lone CR ends nothing", .lines, "{\"a\":\r1}\n", ["{\"a\":\r1}"]),
    .init("blank lines", .lines, "\n\r\n \t\n1\n\n\n2\n", ["1", "2"]),
    .init("white space around", .lines, "  {} \t\n\t[] \r\n", ["{}", "[]"]),
    .init("text", .lines, "hello world\n{\"a\":\n", ["hello world", #"{"a":"#]),
    .init("an incomplete line", .lines, "1\n{\"a\"", ["1"], isCut: true),
    .init("a byte order mark", .lines, "\u{FEFF}1\n\u{FEFF}2\n", ["1", "\u{FEFF}2"]),
    .init("separators, as of jq --seq", .lines, "\u{1E}1\n\u{1E}\u{1E}2\n", ["1", "2"]),
    .init("a separator inside a line", .lines, "1\u{1E}2\n", ["1\u{1E}2"]),
    .init("newlines of Unicode", .lines, "\"a\u{2028}b\u{85}\"\n", ["\"a\u{2028}b\u{85}\""]),
    .init("other languages", .lines, "\"é 中文 😀\"\n", ["\"é 中文 😀\""]),
    .init(
      "bytes that are not UTF-8", .lines,
      bytes: [0x61, 0xFF, 0xE2, 0x82, 0x0A, 0x22, 0x80, 0x22, 0x0A, 0x31, 0x0A],
      ["a\u{FFFD}\u{FFFD}", "\"\u{FFFD}\"", "1"]),
  ]

  /// RFC 7464.
  private static let sequences: [EventStreamSample] = [
    .init("two texts", .textSequence, "\u{1E}{\"a\":1}\n\u{1E}[2]\n", [#"{"a":1}"#, "[2]"]),
    .init(
      "a text over lines", .textSequence, "\u{1E}{\n \"a\": [\n1\n]}\n", ["{\n \"a\": [\n1\n]}"]),
    .init(
      "brackets and quotes in strings", .textSequence, "\u{1E}{\"]\\\"}\":\n\"{\\\\\"}\n",
      ["{\"]\\\"}\":\n\"{\\\\\"}"]),
    .init("numbers and words", .textSequence, "\u{1E}1\n\u{1E}true\n", ["1", "true"]),
    .init("separators in a row", .textSequence, "\u{1E}\u{1E}\u{1E}1\n", ["1"]),
    .init("no separators", .textSequence, "1\n{}\n", ["1", "{}"]),
    .init("a text cut before the next", .textSequence, "\u{1E}{\"a\":\u{1E}2\n", [#"{"a":"#, "2"]),
    .init("a string with a line end", .textSequence, "\u{1E}[\"a\n\u{1E}2\n", ["[\"a", "2"]),
    .init("too many brackets", .textSequence, "\u{1E}]]\n[1]\n", ["]]", "[1]"]),
    .init("an incomplete text", .textSequence, "\u{1E}1\n\u{1E}[\n", ["1"], isCut: true),
    .init("a separator is no text", .textSequence, "\u{1E}1\n\u{1E}", ["1"]),
  ]
}

struct `Bodies that are no event stream` {
  @Test(arguments: EventStreamSample.records)
  func `a record is an event as soon as it ends`(_ sample: EventStreamSample) {
    sample.check()
  }

  @Test(arguments: EventStreamSample.records)
  func `the events are the same at every split point`(_ sample: EventStreamSample) {
    StreamReading.expectSameAtEverySplit(sample.bytes, sample.format, end: .marked)
  }

  @Test func `an event has the usual name, and the ID that the request named`() throws {
    let parser = EventStreamParser(lastEventID: "7")
    parser.begin(.lines)
    parser.input.append("{}\n")
    let event = try #require(try parser.next())
    #expect(event.type.text == "message" && event.lastEventID.text == "7")
  }

  @Test func `each body begins anew, whatever the one before it was`() throws {
    let parser = EventStreamParser()
    parser.begin(.textSequence)
    parser.input.append("\u{1E}[[\"half")
    #expect(try parser.next() == nil)
    parser.begin(.lines)
    parser.input.append("\u{FEFF}[\n")
    #expect(try parser.next()?.data.text == "[")
    parser.reset()
    parser.input.append("\u{FEFF}data: a\n\n")
    #expect(try parser.next()?.data.text == "a")
    #expect(!parser.endBody(isMarked: true))
  }
}

struct `Bodies that are no event stream: their end` {
  @Test(arguments: [
    (#"{"a":1}"#, true, true), ("[1]", true, true), (#""a""#, true, true),
    // More digits, or more of a word, may be missing.
    ("12", true, false), ("true", true, false), ("hello", true, false),
    // Cut.
    (#"{"a":"#, false, false), ("[1", false, false), (#""a"#, false, false),
    ("{} {}", false, false),
  ])
  func `the last line counts without its end if it is certain to be whole`(
    line: String, isMarked: Bool, isUnmarked: Bool
  ) {
    for format in [BodyFormat.lines, .textSequence] {
      for end in [BodyEnd.marked, .unmarked] {
        let counts = end == .marked ? isMarked : isUnmarked
        let reading = StreamReading("0\n" + line, format, end: end)
        #expect(reading.data == (counts ? ["0", line] : ["0"]), "\(format) \(end)")
        #expect(reading.isCut == !counts)
      }
    }
  }

  @Test func `a document is one event at its end, with its line ends`() {
    let text = "{\n  \"a\": 1\n}"
    for end in [BodyEnd.marked, .unmarked] {
      #expect(StreamReading("\u{FEFF} \(text)\r\n", .document, end: end).data == [text])
    }
    #expect(StreamReading("hello\nworld\n", .document, end: .marked).data == ["hello\nworld"])
    #expect(StreamReading("{\"a\":", .document, end: .marked).isCut)
  }

  @Test func `blanks at the end of a body are no record`() {
    for format in [BodyFormat.lines, .textSequence, .document] {
      let reading = StreamReading(" \r\n \t", format, end: .marked)
      #expect(reading.data.isEmpty && !reading.isCut, "\(format)")
    }
  }

  @Test func `a body of records ends once`() throws {
    let parser = EventStreamParser()
    parser.begin(.lines)
    parser.input.append("1")
    #expect(try parser.next() == nil)
    #expect(parser.endBody(isMarked: true))
    #expect(try parser.next()?.data.text == "1")
    #expect(try parser.next() == nil)
    #expect(!parser.endBody(isMarked: true) && !parser.isInsideEvent)
  }

  @Test func `hostile nesting at the end is no JSON, and harmless`() {
    let text = String(repeating: "[", count: 100_000)
    #expect(StreamReading(text, .document, end: .marked).isCut)
  }
}

struct `Bodies that are no event stream: limits` {
  private let limits = EventStreamLimits(line: 20, event: 10)

  private func read(_ text: String, _ format: BodyFormat) -> StreamReading {
    .wholeAndBytewise(Array(text.utf8), format, limits: limits, end: .marked)
  }

  @Test(arguments: [BodyFormat.lines, .textSequence], ["\n", "\r\n", ""])
  func `a record may be as large as the limit`(format: BodyFormat, end: String) {
    let reading = read("1234567890\n\u{1E}1234567890" + end, format)
    #expect(reading.data == ["1234567890", "1234567890"] && reading.error == nil)
  }

  @Test(arguments: [BodyFormat.lines, .textSequence], ["\n", "\r\n", ""])
  func `a larger one ends the run, and records before it count`(format: BodyFormat, end: String) {
    let reading = read("1\n12345678901" + end, format)
    #expect(reading.data == ["1"] && reading.error == .eventTooLarge(limit: 10))
  }

  @Test func `white space counts, so that a line of blanks takes no memory`() {
    let blanks = String(repeating: " ", count: 11)
    #expect(read("1\(blanks)\n", .lines).error == .eventTooLarge(limit: 10))
  }

  @Test func `a document has the same limit, before its end`() {
    #expect(read("1234567890", .document).data == ["1234567890"])
    #expect(read("123456789012", .document).error == .eventTooLarge(limit: 10))
  }

  @Test func `mended data counts as it is kept`() {
    let bytes = [UInt8](repeating: 0xFF, count: 4) + [0x0A]
    #expect(StreamReading([bytes], .lines, limits: limits).error == .eventTooLarge(limit: 10))
    #expect(StreamReading([Array(bytes.dropFirst())], .lines, limits: limits).data.count == 1)
  }

  @Test func `the largest limits of a body do not overflow`() {
    let limits = EventStreamLimits(line: .max, event: .max)
    let bytes = Array("1\n2".utf8)
    #expect(StreamReading([bytes], .lines, limits: limits, end: .marked).data == ["1", "2"])
  }

  @Test func `endless blank lines take no memory`() throws {
    try StreamReading.expectNoMemory(forLinesOf: " ", .lines)
  }
}
