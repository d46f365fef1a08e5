import PusherCore
import TestSupport
import Testing

struct `What an answer is read as, by its Content-Type` {
  @Test(
    arguments: [
      (
        [
          "application/x-ndjson", "application/ndjson", "application/jsonl",
          "application/jsonlines", "application/x-jsonlines", "application/x-json-stream",
          "application/stream+json",
        ], .lines
      ),
      // The last type of a list counts, since proxies join fields.
      (
        [
          "text/event-stream;charset=UTF-8", "text/event-stream, text/event-stream",
          "text/plain,text/event-stream;charset=utf-8", "text/event-stream; charset=utf-8, ",
        ], .eventStream
      ),
      (["application/json-seq", "application/geo+json-seq"], .textSequence),
      (
        [
          "", ";", "application/json", "text/html", "application/x-ndjson2", "x-ndjson",
          "application/x-ndjson, text/plain", "text/event-streams",
        ], nil
      ),
    ] as [([String], BodyFormat?)])
  func `a type names a format, whatever its parameters`(types: [String], format: BodyFormat?) {
    for type in types { #expect(BodyFormat(contentType: type) == format, "\(type)") }
    guard format == .lines else { return }
    for type in types.flatMap({ [$0.uppercased(), "\($0); charset=utf-8", " \($0) ;q=1"] }) {
      #expect(BodyFormat(contentType: type) == format, "\(type)")
    }
  }

  @Test func `JSON is application/json alone`() {
    #expect(BodyFormat.isJSON(contentType: "Application/JSON; charset=utf-8"))
    for type in ["application/jsonl", "application/problem+json", "text/json", ""] {
      #expect(!BodyFormat.isJSON(contentType: type), "\(type)")
    }
  }

  @Test func `the types that are accepted decide how another answer is read`() {
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

struct `A body without an event, in words` {
  private func sample(
    _ pieces: [String], type: String? = "text/html", format: BodyFormat = .eventStream
  ) -> BodySample {
    var sample = BodySample(contentType: type, format: format)
    for piece in pieces { withView(Array(piece.utf8)) { sample.note($0) } }
    return sample
  }

  private static let long = String(repeating: "x", count: 300)
  private static let json = #"{"error":"no"}"#

  @Test(
    arguments: [
      (
        ["<html>\n<bo", "dy>"], "text/html", "13 bytes of text/html, beginning with '<html> <body>'"
      ),
      (["x"], nil, "1 byte without a Content-Type, beginning with 'x'"),
      ([], "text/event-stream", "an empty body of text/event-stream"),
      (["\n\n"], "text/html", "2 bytes of text/html"),
      (["\u{FEFF}a"], "text/html", "4 bytes of text/html, beginning with 'a'"),
      ([json], "application/json", "14 bytes of application/json, beginning with '\(json)'"),
      // Long bodies and types are cut.
      ([long, long], "text/html", "600 bytes of text/html, beginning with '\(long.prefix(60))…'"),
      (["a"], long, "1 byte of \(long.prefix(100)), beginning with 'a'"),
      // Control characters reach no terminal.
      (
        ["a\u{1B}[31m\u{9B}b\r\n"], "text/\u{1B}c",
        "11 bytes of text/ c, beginning with 'a [31m b'"
      ),
    ] as [([String], String?, String)])
  func `size, type and beginning tell a body`(pieces: [String], type: String?, words: String) {
    #expect("\(sample(pieces, type: type))" == "the answer ended without an event: \(words)")
  }

  @Test(arguments: [
    ("data: 1", false), ("data", false), ("event:", false), ("id\n", false), ("retry\r", false),
    (": comment", false), ("\n\n", false), ("\r\n", false), ("", false), ("\u{FEFF}data:", false),
    ("<html>", true), ("{}", true), ("database", true), ("ids: 1", true), (" data: 1", true),
  ])
  func `a page is foreign where an event stream should be`(text: String, isForeign: Bool) {
    #expect(sample([text]).isForeign == isForeign && !sample([text], format: .lines).isForeign)
  }

  @Test func `foreign JSON is known, because there are options for it`() {
    #expect(sample(["{\"a\":1}"]).isForeignJSON && sample(["["]).isForeignJSON)
    #expect(!sample(["<"]).isForeignJSON && !sample([]).isForeignJSON)
    #expect(!sample(["{"], format: .document).isForeignJSON)
  }
}
