import PusherCore
import TestSupport
import Testing

@Suite struct JSONCompactorTests {
  private func compact(_ text: String, forTerminal: Bool = false) throws(JSONError) -> String {
    let output = buffer("before|")
    let input = buffer(text)
    do {
      try JSONCompactor.copy(input.view, into: output, forTerminal: forTerminal)
    } catch {
      #expect(output.view.text == "before|", "an error leaves the output as it was")
      throw error
    }
    let written = output.view.text
    #expect(written.hasPrefix("before|"))
    return String(written.dropFirst(7))
  }

  @Test(arguments: JSONSamples.valid)
  func `what the grammar allows is copied, and means the same`(text: String) throws {
    let compacted = try compact(text)
    #expect(try JSONParser.parse(compacted) == (try JSONParser.parse(text)))
    #expect(try compact(compacted) == compacted)
    #expect(StrictJSON.problem(in: Array(compacted.utf8)) == nil)
  }

  @Test(arguments: JSONSamples.invalid)
  func `what the grammar does not allow is refused, and the output is as it was`(text: String) {
    #expect(throws: JSONError.self) { try compact(text) }
  }

  @Test func `white space goes, but not inside strings`() throws {
    #expect(
      try compact(" {\t\"a b\" : [ 1 ,\r\n 2 ] , \"c\\n\" : \" x \" , \"d\" : { } }\n")
        == #"{"a b":[1,2],"c\n":" x ","d":{}}"#)
  }

  @Test func `numbers, order, repeated names and escapes stay byte for byte`() throws {
    let text =
      #"{"z":1.10,"a":-0,"a":1E+05,"\u0061":1e400,"s":"\/\u00e9\u00E9\b\f\"\\\ud83d\uDE00","n":9223372036854775808}"#
    #expect(try compact(text) == text)
  }

  @Test(arguments: [
    (#""\ud800""#, #""\ufffd""#),
    (#""\uDC00x""#, #""\ufffdx""#),
    (#""\ud800\u0041""#, #""\ufffd\u0041""#),
    (#""\ud800\ud83d\ude00""#, #""\ufffd\ud83d\ude00""#),
    (#""\ude00\ud83d""#, #""\ufffd\ufffd""#),
    (#""\ud800\\udc00""#, #""\ufffd\\udc00""#),
    (#""\ud800\n""#, #""\ufffd\n""#),
    (#"{"\ud800":"\ud800"}"#, #"{"\ufffd":"\ufffd"}"#),
  ])
  func `half a surrogate pair becomes an escaped U+FFFD`(text: String, expected: String) throws {
    #expect(try compact(text) == expected)
  }

  @Test(arguments: [false, true])
  func `250 levels are copied, 251 are refused`(objects: Bool) throws {
    for inner in ["", "1"] {
      let deep = JSONSamples.nested(250, objects: objects, around: inner)
      #expect(try compact(deep) == deep)
      #expect(throws: JSONError.tooDeep(limit: 250)) {
        try compact(JSONSamples.nested(251, objects: objects, around: inner))
      }
    }
  }

  @Test func `a depth limit of its own is kept`() throws {
    let output = ByteBuffer()
    let input = buffer("[[]]")
    try JSONCompactor.copy(input.view, into: output, depthLimit: 2)
    #expect(throws: JSONError.tooDeep(limit: 1)) {
      try JSONCompactor.copy(input.view, into: output, depthLimit: 1)
    }
    #expect(output.view.text == "[[]]")
  }

  @Test func `for a terminal DEL, C1 controls and line separators are escaped, other text is not`()
    throws
  {
    #expect(
      try compact("{\"a\u{7F}\":\"\u{80}\u{9B}2J\u{9F}\u{A0}é\u{2028}\"}", forTerminal: true)
        == "{\"a\\u007f\":\"\\u0080\\u009b2J\\u009f\u{A0}é\\u2028\"}")
    #expect(try compact("\"\u{7F}\u{9B}\"") == "\"\u{7F}\u{9B}\"")
  }

  @Test func `the output is as it was also when it had to grow before the error`() {
    let long = "[\"" + String(repeating: "x", count: 100_000) + "\",]"
    #expect(throws: JSONError.self) { try compact(long) }
  }

  @Test func `a string's body is copied between quotes, with half pairs mended`() {
    let output = ByteBuffer()
    let body = buffer(#"a\"\ud800\u{7F}"#.replacing(#"\u{7F}"#, with: "\u{7F}"))
    JSONCompactor.copyString(body.view, into: output)
    #expect(output.view.text == "\"a\\\"\\ufffd\u{7F}\"")
    output.removeAll()
    JSONCompactor.copyString(body.view, into: output, forTerminal: true)
    #expect(output.view.text == #""a\"\ufffd\u007f""#)
  }
}
