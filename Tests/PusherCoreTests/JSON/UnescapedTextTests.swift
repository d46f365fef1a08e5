import TestSupport
import Testing

@testable import PusherCore

/// The unescaping copy gives the same as the general way.
///
/// Guard pages surround input and output.
@Suite struct UnescapedTextTests {
  private let input = GuardedBytes(room: 4096)
  private let output = GuardedBytes(room: 4096)

  /// Returns the text before the quote that ends the view, or `nil` if it is declined.
  ///
  /// The output has the room that ``FusedCursor`` requires, followed by a guard page.
  private func fused(_ view: ByteView) -> [UInt8]? {
    let end = view.base + view.count
    let behind = end.pointee
    end.pointee = 0
    defer { end.pointee = behind }
    let first = output.end - view.count - 32
    var cursor = FusedCursor(input: view.base, output: first)
    guard cursor.copyUnescapedText() else { return nil }
    #expect(cursor.byte == 0x22)
    guard cursor.input + 1 == UnsafePointer(end) else { return nil }
    return Array(UnsafeBufferPointer(start: first, count: cursor.output - first))
  }

  private func general(_ body: [UInt8]) -> [UInt8]? {
    withView([0x22] + body) { view in
      var cursor = JSONCursor(view)
      guard let token = try? cursor.skipString(), cursor.atEnd else { return nil }
      let text = view[token].text
      let rest = text.replacing("\\\\", with: "").replacing("\\\"", with: "")
      guard !rest.replacing("\\/", with: "").contains("\\") else { return nil }
      return Array(JSONString.decode(view[token]).utf8)
    }
  }

  private func check(
    _ text: String, alignments: Range<Int> = 0..<1,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let body = Array((text + "\"").utf8)
    let expected = general(body)
    for distance in alignments {
      for view in [
        input.view(body, beforeEnd: distance), input.view(body, afterStart: distance),
      ] {
        let found = fused(view)
        guard found != expected else { continue }
        Issue.record(
          "\(text) -> \(String(decoding: found ?? [], as: UTF8.self))",
          sourceLocation: sourceLocation)
      }
    }
  }

  @Test func `texts of 0 to 300 bytes come out whole at every alignment`() {
    for size in 0...300 {
      // Each alignment occurs for each size, within two neighbouring sizes.
      let alignments = size % 2 == 0 ? 0..<16 : 16..<32
      check(String(repeating: "x", count: size), alignments: alignments)
      check(String(repeating: "é", count: size / 2), alignments: alignments)
      check(String(repeating: #"\""#, count: size / 2), alignments: alignments)
      check(String(repeating: #"\\"#, count: size / 2), alignments: alignments)
      check(String(repeating: #"\"x"#, count: size / 3), alignments: alignments)
      check("y" + String(repeating: #"\/"#, count: size / 2), alignments: alignments)
    }
  }

  @Test func `an escape comes out whole wherever it stands in two blocks`() {
    for piece in [#"\""#, #"\\"#, #"\/"#, #"\\\""#, #"\"\\"#, #"\/\""#] {
      for distance in 0..<140 {
        let run = String(repeating: "a", count: distance)
        check(run + piece, alignments: 0..<4)
        check(run + piece + run)
        check(run + piece + #"\"b"#)
      }
    }
  }

  @Test func `other escapes, controls and texts that do not end are declined wherever they stand`()
  {
    for piece in [#"\n"#, #"\u00e9"#, #"\b"#, "\u{1}", "\n", #"\"#, "\0"] {
      for distance in 0..<140 {
        let run = String(repeating: "a", count: distance)
        let body = Array((run + piece + "b\"").utf8)
        #expect(fused(input.view(body, beforeEnd: distance % 32)) == nil, "\(run)\(piece)")
        let open = Array((run + piece).utf8)
        #expect(fused(input.view(open, beforeEnd: distance % 32)) == nil, "\(run)\(piece)")
      }
    }
  }

  @Test func `random texts come out as the general way reads them`() {
    var random = SeededGenerator(seed: 43)
    let pieces = [
      #"\""#, #"\\"#, #"\/"#, "a", "bcdefgh", "0123456789", "é", "中文", "😀", " ", #"\t"#,
    ]
    for _ in 0..<20_000 {
      var text = ""
      for _ in 0..<Int.random(in: 0...60, using: &random) {
        let isRare = Int.random(in: 0..<100, using: &random) == 0
        let last = isRare ? pieces.count : pieces.count - 1
        text += pieces[Int.random(in: 0..<last, using: &random)]
      }
      let distance = Int.random(in: 0..<32, using: &random)
      check(text, alignments: distance..<(distance + 1))
    }
  }
}
