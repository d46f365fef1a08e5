import PusherCore
import TestSupport
import Testing

/// The data of the events in a body, as a test reads them.
struct RecordReading: Equatable {
  /// How a body ends, if it does.
  enum End: Sendable {
    case marked
    case unmarked
  }

  var data: [String] = []
  var error: EventStreamError?
  /// True if the end of the body cut an event off.
  var isCut = false

  init(
    _ pieces: [[UInt8]], _ format: BodyFormat, limits: EventStreamLimits = EventStreamLimits(),
    end: End? = nil
  ) {
    let parser = EventStreamParser(limits: limits)
    parser.begin(format)
    do throws(EventStreamError) {
      for piece in pieces {
        parser.input.append(piece)
        while let event = try parser.next() { data.append(event.data.text) }
      }
      if let end, parser.endBody(isMarked: end == .marked) {
        while let event = try parser.next() { data.append(event.data.text) }
      }
    } catch {
      self.error = error
    }
    isCut = parser.isInsideEvent
  }

  init(_ text: String, _ format: BodyFormat, end: End? = nil) {
    self.init([Array(text.utf8)], format, end: end)
  }
}

struct RecordSample: Sendable, CustomStringConvertible {
  let description: String
  let format: BodyFormat
  let bytes: [UInt8]
  let data: [String]
  var isCut = false

  init(
    _ name: String, _ format: BodyFormat, _ text: String, _ data: [String], isCut: Bool = false
  ) {
    (description, self.format, bytes) = (name, format, Array(text.utf8))
    (self.data, self.isCut) = (data, isCut)
  }

  init(_ name: String, _ format: BodyFormat, bytes: [UInt8], _ data: [String]) {
    (description, self.format, self.bytes, self.data) = (name, format, bytes, data)
  }

  /// Read without an end of the body.
  static let all =
    lines + sequences + [
      RecordSample("a document waits for its end", .document, "{}\n{}\n", [], isCut: true),
      RecordSample("blanks are no document yet", .document, "\n \r\n", []),
    ]

  private static let lines = [
    RecordSample("nothing", .lines, "", []),
    RecordSample("three lines", .lines, "{\"a\":1}\n[2]\n3\n", [#"{"a":1}"#, "[2]", "3"]),
    RecordSample("LF and CRLF", .lines, "1\r\n2\n3\r\n", ["1", "2", "3"]),
    RecordSample("a lone CR ends nothing", .lines, "{\"a\":\r1}\n", ["{\"a\":\r1}"]),
    RecordSample("blank lines", .lines, "\n\r\n \t\n1\n\n\n2\n", ["1", "2"]),
    RecordSample("white space around", .lines, "  {} \t\n\t[] \r\n", ["{}", "[]"]),
    RecordSample("text", .lines, "hello world\n{\"a\":\n", ["hello world", #"{"a":"#]),
    RecordSample("an incomplete line", .lines, "1\n{\"a\"", ["1"], isCut: true),
    RecordSample("a byte order mark", .lines, "\u{FEFF}1\n\u{FEFF}2\n", ["1", "\u{FEFF}2"]),
    RecordSample("separators, as of jq --seq", .lines, "\u{1E}1\n\u{1E}\u{1E}2\n", ["1", "2"]),
    RecordSample("a separator inside a line", .lines, "1\u{1E}2\n", ["1\u{1E}2"]),
    RecordSample(
      "other newlines of Unicode", .lines, "\"a\u{2028}b\u{85}\"\n",
      ["\"a\u{2028}b\u{85}\""]),
    RecordSample("other languages", .lines, "\"é 中文 😀\"\n", ["\"é 中文 😀\""]),
    RecordSample(
      "bytes that are not UTF-8", .lines,
      bytes: [0x61, 0xFF, 0xE2, 0x82, 0x0A, 0x22, 0x80, 0x22, 0x0A, 0x31, 0x0A],
      ["a\u{FFFD}\u{FFFD}", "\"\u{FFFD}\"", "1"]),
  ]

  /// RFC 7464.
  private static let sequences = [
    RecordSample(
      "two texts", .textSequence, "\u{1E}{\"a\":1}\n\u{1E}[2]\n", [#"{"a":1}"#, "[2]"]),
    RecordSample(
      "a text over lines", .textSequence, "\u{1E}{\n \"a\": [\n1\n]}\n", ["{\n \"a\": [\n1\n]}"]),
    RecordSample(
      "brackets and quotes in strings", .textSequence, "\u{1E}{\"]\\\"}\":\n\"{\\\\\"}\n",
      ["{\"]\\\"}\":\n\"{\\\\\"}"]),
    RecordSample("numbers and words", .textSequence, "\u{1E}1\n\u{1E}true\n", ["1", "true"]),
    RecordSample("separators in a row", .textSequence, "\u{1E}\u{1E}\u{1E}1\n", ["1"]),
    RecordSample("no separators", .textSequence, "1\n{}\n", ["1", "{}"]),
    RecordSample(
      "a text that was cut before the next", .textSequence, "\u{1E}{\"a\":\u{1E}2\n",
      [#"{"a":"#, "2"]),
    RecordSample(
      "a string with a line end", .textSequence, "\u{1E}[\"a\n\u{1E}2\n", ["[\"a", "2"]),
    RecordSample("too many brackets", .textSequence, "\u{1E}]]\n[1]\n", ["]]", "[1]"]),
    RecordSample("an incomplete text", .textSequence, "\u{1E}1\n\u{1E}[\n", ["1"], isCut: true),
    RecordSample("a separator is no text", .textSequence, "\u{1E}1\n\u{1E}", ["1"]),
  ]
}

@Suite("Bodies that are no event stream")
struct RecordReaderTests {
  @Test(arguments: RecordSample.all)
  func `a record is an event as soon as it ends`(_ sample: RecordSample) {
    let reading = RecordReading([sample.bytes], sample.format)
    #expect(reading.data == sample.data)
    #expect(reading.error == nil)
    #expect(reading.isCut == sample.isCut)
  }

  @Test(arguments: RecordSample.all)
  func `the events are the same at every split point`(_ sample: RecordSample) {
    let bytes = sample.bytes
    let whole = RecordReading([bytes], sample.format, end: .marked)
    for first in 0...bytes.count {
      for second in first...bytes.count {
        let pieces = [
          Array(bytes[..<first]), Array(bytes[first..<second]), Array(bytes[second...]),
        ]
        let reading = RecordReading(pieces, sample.format, end: .marked)
        guard reading != whole else { continue }
        Issue.record("\(sample) cut at \(first) and \(second): \(reading.data)")
        return
      }
    }
    #expect(RecordReading(bytes.map { [$0] }, sample.format, end: .marked) == whole)
  }

  @Test func `an event has the usual name, and the ID that the request named`() throws {
    let parser = EventStreamParser(lastEventID: "7")
    parser.begin(.lines)
    parser.input.append("{}\n")
    let event = try #require(try parser.next())
    #expect(event.type.text == "message")
    #expect(event.lastEventID.text == "7")
  }

  @Test func `a line is not copied`() throws {
    let parser = EventStreamParser()
    parser.begin(.lines)
    parser.input.append(" {}\n")
    let input = parser.input.view
    let event = try #require(try parser.next())
    #expect(unsafe event.data.base == input.base + 1)
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

  @Test(arguments: 0..<8 as Range<UInt64>)
  func `lines come out as they went in, however they are cut`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let pool = Array("ab {}[]\"\\:,0é😀".unicodeScalars)
    for _ in 0..<60 {
      let lines = (0..<Int.random(in: 0...9, using: &random)).map { _ in
        var text = "x".unicodeScalars
        for _ in 0..<Int.random(in: 0...40, using: &random) {
          text.append(pool[Int.random(in: 0..<pool.count, using: &random)])
        }
        return String(text) + "x"
      }
      let ends = ["\n", "\r\n", "\n\n"]
      let bytes = lines.flatMap { line in
        Array((line + ends[Int.random(in: 0..<ends.count, using: &random)]).utf8)
      }
      var pieces: [[UInt8]] = []
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = Int.random(in: 1...(Bool.random(using: &random) ? 3 : 90), using: &random)
        pieces.append(Array(rest.prefix(count)))
        rest = rest.dropFirst(count)
      }
      #expect(RecordReading(pieces, .lines).data == lines, "seed \(seed)")
    }
  }
}

@Suite("Bodies that are no event stream: their end")
struct RecordEndTests {
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
      for end in [RecordReading.End.marked, .unmarked] {
        let counts = end == .marked ? isMarked : isUnmarked
        let reading = RecordReading("0\n" + line, format, end: end)
        #expect(reading.data == (counts ? ["0", line] : ["0"]), "\(format) \(end)")
        #expect(reading.isCut == !counts)
      }
    }
  }

  @Test func `a document is one event at its end, with its line ends`() {
    let text = "{\n  \"a\": 1\n}"
    for end in [RecordReading.End.marked, .unmarked] {
      #expect(RecordReading("\u{FEFF} \(text)\r\n", .document, end: end).data == [text])
    }
    #expect(RecordReading("hello\nworld\n", .document, end: .marked).data == ["hello\nworld"])
    #expect(RecordReading("{\"a\":", .document, end: .marked).isCut)
  }

  @Test func `blanks at the end are nothing`() {
    for format in [BodyFormat.lines, .textSequence, .document] {
      let reading = RecordReading(" \r\n \t", format, end: .marked)
      #expect(reading.data.isEmpty && !reading.isCut, "\(format)")
    }
  }

  @Test func `a body ends once`() throws {
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
    #expect(RecordReading(text, .document, end: .marked).isCut)
  }
}

@Suite("Bodies that are no event stream: limits")
struct RecordLimitTests {
  private let limits = EventStreamLimits(line: 20, event: 10)

  private func read(_ text: String, _ format: BodyFormat) -> [RecordReading] {
    let bytes = Array(text.utf8)
    return [
      RecordReading([bytes], format, limits: limits, end: .marked),
      RecordReading(bytes.map { [$0] }, format, limits: limits, end: .marked),
    ]
  }

  @Test(arguments: [BodyFormat.lines, .textSequence])
  func `a record may be as large as the limit`(format: BodyFormat) {
    for end in ["\n", "\r\n", ""] {
      for reading in read("1234567890\n\u{1E}1234567890" + end, format) {
        #expect(reading.data == ["1234567890", "1234567890"], "\(end)")
        #expect(reading.error == nil)
      }
    }
  }

  @Test(arguments: [BodyFormat.lines, .textSequence])
  func `a larger one ends the run, complete or not, and records before it count`(
    format: BodyFormat
  ) {
    for end in ["\n", "\r\n", ""] {
      for reading in read("1\n12345678901" + end, format) {
        #expect(reading.data == ["1"], "\(end)")
        #expect(reading.error == .eventTooLarge(limit: 10), "\(end)")
      }
    }
  }

  @Test func `white space counts, so that a line of blanks takes no memory`() {
    for reading in read("1" + String(repeating: " ", count: 11) + "\n", .lines) {
      #expect(reading.error == .eventTooLarge(limit: 10))
    }
  }

  @Test func `a document has the same limit, before its end`() {
    for reading in read("1234567890", .document) { #expect(reading.data == ["1234567890"]) }
    for reading in read("123456789012", .document) {
      #expect(reading.error == .eventTooLarge(limit: 10))
    }
  }

  @Test func `mended data counts as it is kept`() {
    let bytes = [UInt8](repeating: 0xFF, count: 4) + [0x0A]
    #expect(
      RecordReading([bytes], .lines, limits: limits).error == .eventTooLarge(limit: 10))
    #expect(RecordReading([Array(bytes.dropFirst())], .lines, limits: limits).data.count == 1)
  }

  @Test func `no limit overflows`() {
    let limits = EventStreamLimits(line: .max, event: .max)
    let bytes = Array("1\n2".utf8)
    #expect(RecordReading([bytes], .lines, limits: limits, end: .marked).data == ["1", "2"])
  }

  @Test func `endless blank lines take no memory`() throws {
    let parser = EventStreamParser()
    parser.begin(.lines)
    let block = [UInt8](repeating: 0x20, count: 99) + [0x0A]
    for _ in 0..<10_000 {
      parser.input.append(block)
      #expect(try parser.next() == nil)
    }
    #expect(parser.input.isEmpty)
    #expect(parser.input.capacity <= 65_536)
  }
}
