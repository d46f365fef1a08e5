import TestSupport
import Testing

@testable import PusherCore

/// The fused pass over a data string against the general way, with memory around both that nobody may touch.
@Suite struct EscapedJSONTests {
  private let input = GuardedBytes(room: 4096)
  private let output = GuardedBytes(room: 4096)

  /// What the fused pass makes of the body of a data string; `nil` when it declines.
  ///
  /// The output has the room that ``FusedCursor`` asks for, and then the guard.
  private func fused(_ view: ByteView) -> [UInt8]? {
    let end = view.base + view.count
    let behind = end.pointee
    end.pointee = 0
    defer { end.pointee = behind }
    let first = output.end - view.count - 32
    var cursor = FusedCursor(input: view.base, output: first)
    // The outer string's quote is part of the view; it must be the last byte.
    guard cursor.copyEscapedValue(), cursor.input + 1 == UnsafePointer(end) else { return nil }
    return Array(UnsafeBufferPointer(start: first, count: cursor.output - first))
  }

  /// What the general way makes of it; `nil` when it is no JSON.
  private func general(_ body: [UInt8]) -> [UInt8]? {
    let inner = ByteBuffer()
    let line = ByteBuffer()
    return withView([0x22] + body) { view in
      var cursor = JSONCursor(view)
      guard let token = try? cursor.skipString(), cursor.atEnd else { return nil }
      JSONString.decode(view[token], into: inner)
      guard (try? JSONCompactor.copy(inner.view, into: line)) != nil else { return nil }
      return line.array
    }
  }

  /// Expects the same of both ways wherever the body stands, and answers whether the fused pass took it.
  @discardableResult
  private func check(
    _ text: String, alignments: Range<Int> = 0..<1,
    sourceLocation: SourceLocation = #_sourceLocation
  ) -> Bool {
    let body = Array((text + "\"").utf8)
    let expected = general(body)
    var taken = 0
    for distance in alignments {
      for view in [
        input.view(body, beforeEnd: distance), input.view(body, afterStart: distance),
      ] {
        let line = fused(view)
        if line != nil { taken += 1 }
        guard line != nil, line != expected else { continue }
        Issue.record(
          "\(text) -> \(String(decoding: line ?? [], as: UTF8.self))",
          sourceLocation: sourceLocation)
      }
    }
    #expect(
      taken == 0 || taken == 2 * alignments.count, "\(text): the place decides",
      sourceLocation: sourceLocation)
    return taken > 0
  }

  /// A list of members that is `size` bytes long and no longer.
  private func dense(_ size: Int) -> String {
    var text = #"{\"a\":1"#
    var number = 0
    while true {
      number += 1
      let next = #",\"bid\#(number)\":\#(number * 7).\#(number),\"l\":[{},-\#(number),null]"#
      guard text.utf8.count + next.utf8.count + 1 <= size else { return text + "}" }
      text += next
    }
  }

  @Test func `texts, digits and members of 0 to 300 bytes come out whole at every alignment`() {
    for size in 0...300 {
      let run = String(repeating: "x", count: size)
      let digits = String(repeating: "7", count: size)
      // Each alignment comes up for each size within two sizes of the others.
      let alignments = size % 2 == 0 ? 0..<16 : 16..<32
      #expect(check(#"\"\#(run)\""#, alignments: alignments))
      #expect(check(#"{\"\#(run)\":\"\#(run)\"}"#, alignments: alignments))
      #expect(check(#"[1\#(digits),0.\#(digits)1]"#, alignments: alignments))
      #expect(check(dense(size), alignments: alignments))
    }
  }

  @Test
  func `what the fast shapes leave to the rest comes out whole at every distance in the window`() {
    for piece in [
      #"\\n"#, #"\\\""#, #"\\u00e9"#, #"\/"#, "é", "1e5", "-1.5E+3", "12345678901234567890", "true",
      "false", "null",
      " ", "[ ]", "{ }", #"{ \"a\" : 1 }"#,
    ] {
      for distance in 0..<70 {
        let run = String(repeating: "y", count: distance)
        let isText = piece.contains("\\") && !piece.contains("{") || piece == "é"
        let value = isText ? #"\"\#(run)\#(piece)\#(run)\""# : piece
        #expect(
          check(
            #"{\"\#(run)\":\#(value == " " ? "1 " : value),\"b\":[\#(value == " " ? " 1" : value),2]}"#
          ))
        if isText { #expect(check(#"{\"\#(run)\#(piece)\":[1]}"#)) }
      }
    }
  }

  @Test(arguments: [
    "01", "1.", "1.e5", ".5", "1e", "1e5e5", "1.5.5", "1e5.5", "--1", "-", "-a", "1-", "+1", "1a",
    "truee5", "tru", "nulll",
    #"\"a\"e5"#, "1 e5", "]e5", "[]e5", "[1}", "[1,]", "[,1]", "[1 2]", #"{\"a\"1}"#,
    #"{\"a\":1,}"#, #"{\"a\":1 \"b\":2}"#,
    #"{\"a\",1}"#, #"{a:1}"#, #"{\"a\":}"#, #"{\"a\":1"#, #"[\"a"#, #"[\"a\]"#, #"[\"a\\x\"]"#,
    "[\"]", "[\t1]", "{]", "[}", "",
  ])
  func `what is no JSON is taken at no place of a window`(wrong: String) {
    for distance in 0..<70 {
      let run = String(repeating: "z", count: distance)
      #expect(!check(#"[\"\#(run)\",\#(wrong)]"#))
      #expect(!check(#"{\"\#(run)\":\#(wrong)}"#))
    }
    #expect(!check(wrong, alignments: 0..<32))
  }

  @Test func `a body that ends at any byte is not read on behind its NUL`() {
    let whole = Array((dense(300) + "\"").utf8)
    for count in 0..<whole.count {
      let cut = Array(whole[..<count])
      for distance in 0..<32 {
        #expect(fused(input.view(cut, beforeEnd: distance)) == nil)
      }
    }
  }

  @Test(arguments: [UInt64(81), 82])
  func `generated and damaged values give the general way's bytes, or none`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var taken = 0
    for _ in 0..<700 {
      let style = JSONEncoding.all[random.below(JSONEncoding.all.count)]
      let value = RandomJSON.value(depth: random.below(5), &random)
      let quoted = JSONEncoding.minimal.quoted(style.text(value)).dropFirst().dropLast()
      guard quoted.utf8.count < 3000 else { continue }
      if check(String(quoted), alignments: 0..<4) { taken += 1 }
      var damaged = Array(quoted.utf8)
      guard !damaged.isEmpty else { continue }
      let place = random.below(damaged.count)
      if damaged[place] < 0x80 { damaged[place] = Array(#"\",:[]{}0e-. "#.utf8)[random.below(13)] }
      check(String(decoding: damaged, as: UTF8.self), alignments: 0..<4)
    }
    #expect(taken > 300)
  }
}
