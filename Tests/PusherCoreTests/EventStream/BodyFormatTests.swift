import PusherCore
import TestSupport
import Testing

@Suite("What an answer is read as, by its Content-Type")
struct BodyFormatTests {
  @Test(arguments: [
    "application/x-ndjson", "application/ndjson", "application/jsonl", "application/jsonlines",
    "application/x-jsonlines", "application/x-json-stream", "application/stream+json",
  ])
  func `types of JSON lines, whatever their letters and parameters`(type: String) {
    for spelling in [type, type.uppercased(), "\(type); charset=utf-8", " \(type) ;q=1"] {
      #expect(BodyFormat(contentType: spelling) == .lines, "\(spelling)")
    }
  }

  @Test func `an event stream and JSON text sequences`() {
    #expect(BodyFormat(contentType: "text/event-stream;charset=UTF-8") == .eventStream)
    #expect(BodyFormat(contentType: "application/json-seq") == .textSequence)
    #expect(BodyFormat(contentType: "application/geo+json-seq") == .textSequence)
  }

  @Test(arguments: [
    "text/event-stream, text/event-stream", "text/plain,text/event-stream;charset=utf-8",
    "text/event-stream; charset=utf-8, ",
  ])
  func `the last type of a list counts, since proxies join fields`(types: String) {
    #expect(BodyFormat(contentType: types) == .eventStream)
  }

  @Test(arguments: [
    "", ";", "application/json", "text/html", "application/x-ndjson2", "x-ndjson",
    "application/x-ndjson, text/plain", "text/event-streams",
  ])
  func `any other type names none`(type: String) {
    #expect(BodyFormat(contentType: type) == nil)
  }

  @Test func `JSON is application/json alone`() {
    #expect(BodyFormat.isJSON(contentType: "Application/JSON; charset=utf-8"))
    for type in ["application/jsonl", "application/problem+json", "text/json", ""] {
      #expect(!BodyFormat.isJSON(contentType: type), "\(type)")
    }
  }

  @Test func `what is accepted decides about the rest`() {
    let types = [
      "text/event-stream", "application/x-ndjson", "application/json-seq", "application/json",
      "text/html", nil,
    ]
    let rows: [(AcceptedAnswers, [BodyFormat?])] = [
      (.eventStream, [.eventStream, nil, nil, nil, nil, nil]),
      (.namedTypes, [.eventStream, .lines, .textSequence, nil, nil, nil]),
      (.namedTypesAndDocuments, [.eventStream, .lines, .textSequence, .document, nil, nil]),
      (.lines, [.lines, .lines, .textSequence, .lines, .lines, .lines]),
    ]
    for (accepted, formats) in rows {
      #expect(types.map { accepted.format(of: $0) } == formats, "\(accepted)")
    }
  }
}

@Suite("A body without an event, in words")
struct BodySampleTests {
  private func sample(
    _ pieces: [String], type: String? = "text/html", format: BodyFormat = .eventStream
  ) -> BodySample {
    var sample = BodySample(contentType: type, format: format)
    for piece in pieces { withView(Array(piece.utf8)) { sample.note($0) } }
    return sample
  }

  private func words(_ pieces: String..., type: String? = "text/html") -> String {
    let words = "\(sample(pieces, type: type))"
    let start = "the answer ended without an event: "
    #expect(words.hasPrefix(start))
    return String(words.dropFirst(start.count))
  }

  @Test func `size, type and beginning`() {
    #expect(
      words("<html>\n<bo", "dy>") == "13 bytes of text/html, beginning with '<html> <body>'")
    #expect(words("x", type: nil) == "1 byte without a Content-Type, beginning with 'x'")
    #expect(words(type: "text/event-stream") == "an empty body of text/event-stream")
    #expect(words("\n\n") == "2 bytes of text/html")
    #expect(words("\u{FEFF}a") == "4 bytes of text/html, beginning with 'a'")
  }

  @Test func `a long body is cut, and so is a long type`() {
    let long = String(repeating: "x", count: 300)
    let shown = String(repeating: "x", count: 60)
    #expect(words(long, long) == "600 bytes of text/html, beginning with '\(shown)…'")
    #expect(
      words("a", type: long)
        == "1 byte of \(String(repeating: "x", count: 100)), beginning with 'a'")
  }

  @Test func `control characters of the body and its type reach no terminal`() {
    #expect(
      words("a\u{1B}[31m\u{9B}b\r\n", type: "text/\u{1B}c")
        == "11 bytes of text/ c, beginning with 'a [31m b'")
  }

  @Test func `JSON is shown as it came`() {
    #expect(
      words(#"{"error":"no"}"#, type: "application/json")
        == #"14 bytes of application/json, beginning with '{"error":"no"}'"#)
  }

  @Test(arguments: [
    ("data: 1", false), ("data", false), ("event:", false), ("id\n", false), ("retry\r", false),
    (": comment", false), ("\n\n", false), ("\r\n", false), ("", false), ("\u{FEFF}data:", false),
    ("<html>", true), ("{}", true), ("database", true), ("ids: 1", true), (" data: 1", true),
  ])
  func `a page is foreign where an event stream should be`(text: String, isForeign: Bool) {
    #expect(sample([text]).isForeign == isForeign)
    #expect(!sample([text], format: .lines).isForeign)
  }

  @Test func `foreign JSON is known, because there are options for it`() {
    #expect(sample(["{\"a\":1}"]).isForeignJSON && sample(["["]).isForeignJSON)
    #expect(!sample(["<"]).isForeignJSON && !sample([]).isForeignJSON)
    #expect(!sample(["{"], format: .document).isForeignJSON)
  }
}
