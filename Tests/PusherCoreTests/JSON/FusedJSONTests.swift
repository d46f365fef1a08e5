import TestSupport
import Testing

@testable import PusherCore

/// A fused pass gives the same as the general way.
///
/// Guard pages surround input and output.
struct FusedRig {
  /// What the pass reads; text and the JSON inside a string end with the outer quote.
  enum Place: CaseIterable {
    case insideString
    case alone
    case text
  }

  let input = GuardedBytes(room: 4096)
  private let output = GuardedBytes(room: 4096)
  /// The joins of earlier texts of the same test, inside strings and alone.
  private let escapedJoins = JoinMemory()
  private let joins = JoinMemory()

  /// Returns the output of the fused pass over the whole view, or `nil` if it declines.
  ///
  /// The output has the room that ``FusedCursor`` requires, followed by a guard page.
  func fused(_ view: ByteView, _ place: Place) -> [UInt8]? {
    let end = view.base + view.count
    let behind = end.pointee
    end.pointee = 0
    defer { end.pointee = behind }
    let first = output.end - view.count - 32
    var cursor = FusedCursor(input: view.base, output: first)
    let isTaken =
      switch place {
      case .insideString: cursor.copyEscapedValue(escapedJoins, kind: 0)
      case .alone: cursor.copyPlainValue(joins)
      case .text: cursor.copyUnescapedText()
      }
    guard isTaken else { return nil }
    if place == .text { #expect(cursor.byte == 0x22) }
    guard cursor.input + (place == .alone ? 0 : 1) == UnsafePointer(end) else { return nil }
    return Array(UnsafeBufferPointer(start: first, count: cursor.output - first))
  }

  /// Expects the same at every position: this result, or none; returns true if the fused pass took
  /// the bytes.
  func check(
    _ body: [UInt8], _ place: Place, _ expected: [UInt8]?, alignments: Range<Int>,
    sourceLocation: SourceLocation
  ) -> Bool {
    var taken = 0
    var problem: String?
    for distance in alignments {
      for view in [
        input.view(body, beforeEnd: distance), input.view(body, afterStart: distance),
      ] {
        guard let line = fused(view, place) else { continue }
        taken += 1
        if line != expected { problem = String(decoding: line, as: UTF8.self) }
      }
    }
    if taken != 0, taken != 2 * alignments.count { problem = "the place decides" }
    if let problem {
      let text = String(decoding: body, as: UTF8.self)
      Issue.record("\(text) -> \(problem)", sourceLocation: sourceLocation)
    }
    return taken > 0
  }
}

struct FusedJSONTests {
  private let rig = FusedRig()
  private static let places = [FusedRig.Place.insideString, .alone]

  private func inner(_ text: String) -> [UInt8]? {
    withView(Array("\"\(text)\"".utf8)) { view in
      var cursor = JSONCursor(view)
      guard let token = try? cursor.skipString(), cursor.atEnd else { return nil }
      let inner = ByteBuffer()
      JSONString.decode(view[token], into: inner)
      return inner.array
    }
  }

  private func general(_ text: String) -> [UInt8]? {
    let line = ByteBuffer()
    guard let inner = inner(text) else { return nil }
    return withView(inner) { view in
      (try? JSONCompactor.copy(view, into: line)) == nil ? nil : line.array
    }
  }

  /// Checks the contents of a data string; returns true if the fused pass took them.
  @discardableResult
  private func check(
    _ text: String, _ place: FusedRig.Place, alignments: Range<Int> = 0..<1,
    sourceLocation: SourceLocation = #_sourceLocation
  ) -> Bool {
    guard let body = place == .alone ? inner(text) : Array((text + "\"").utf8) else { return false }
    return rig.check(
      body, place, general(text), alignments: alignments, sourceLocation: sourceLocation)
  }

  /// Returns a list of members of exactly `size` bytes.
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

  @Test(arguments: places)
  func `values of 0 to 160 bytes come out whole at every alignment`(place: FusedRig.Place) {
    for size in 0...160 {
      let run = String(repeating: "x", count: size)
      let digits = String(repeating: "7", count: size)
      // Each alignment occurs for each size, within two neighbouring sizes.
      let alignments = size % 2 == 0 ? 0..<16 : 16..<32
      #expect(check(#"\"\#(run)\""#, place, alignments: alignments))
      #expect(check(#"{\"\#(run)\":\"\#(run)\"}"#, place, alignments: alignments))
      #expect(check(#"[1\#(digits),0.\#(digits)1]"#, place, alignments: alignments))
      #expect(check(dense(size), place, alignments: alignments))
    }
  }

  @Test(arguments: places)
  func `other values come out whole at every distance`(place: FusedRig.Place) {
    for piece in [
      #"\\n"#, #"\\\""#, #"\\u00e9"#, #"\/"#, "é", "1e5", "-1.5E+3", "12345678901234567890",
      "true", "false", "null", " ", "[ ]", "{ }", #"{ \"a\" : 1 }"#,
    ] {
      for distance in 0..<70 {
        let run = String(repeating: "y", count: distance)
        let isText = piece.contains("\\") && !piece.contains("{") || piece == "é"
        let value = isText ? #"\"\#(run)\#(piece)\#(run)\""# : piece
        let (first, second) = value == " " ? ("1 ", " 1") : (value, value)
        #expect(check(#"{\"\#(run)\":\#(first),\"b\":[\#(second),2]}"#, place))
        if isText { #expect(check(#"{\"\#(run)\#(piece)\":[1]}"#, place)) }
      }
    }
  }

  @Test(arguments: [
    "01", "1.", "1.e5", ".5", "1e", "1e5e5", "1.5.5", "1e5.5", "--1", "-", "-a", "1-", "+1", "1a",
    "truee5", "tru", "nulll", #"\"a\"e5"#, "1 e5", "]e5", "[]e5", "[1}", "[1,]", "[,1]", "[1 2]",
    #"{\"a\"1}"#, #"{\"a\":1,}"#, #"{\"a\":1 \"b\":2}"#, #"{\"a\",1}"#, #"{a:1}"#, #"{\"a\":}"#,
    #"{\"a\":1"#, #"[\"a"#, #"[\"a\]"#, #"[\"a\\x\"]"#, "[\"]", "[\t1]", "{]", "[}", "",
  ])
  func `what is no JSON is taken at no distance`(wrong: String) {
    for place in Self.places {
      for distance in 0..<70 {
        let run = String(repeating: "z", count: distance)
        #expect(!check(#"[\"\#(run)\",\#(wrong)]"#, place))
        #expect(!check(#"{\"\#(run)\":\#(wrong)}"#, place))
      }
      #expect(!check(wrong, place, alignments: 0..<32))
    }
  }

  @Test(arguments: places)
  func `a text that ends at any byte is not read on behind its NUL`(place: FusedRig.Place) {
    let text = dense(300)
    let whole = place == .alone ? inner(text) ?? [] : Array((text + "\"").utf8)
    #expect(whole.count > 200)
    for count in 0..<whole.count {
      let cut = Array(whole[..<count])
      for distance in 0..<32 {
        #expect(rig.fused(rig.input.view(cut, beforeEnd: distance), place) == nil)
      }
    }
  }

  private static let repeating =
    #"{\"id\":1,\"side\":\"buy\",\"levels\":[{\"bid\":1.5,\"size\":2},{\"bid\":2.5,\"size\":3}],\"n\": [1, 2]}"#

  @Test(arguments: places)
  func `a text one byte off an earlier one gives the general bytes or none`(place: FusedRig.Place) {
    let bytes = Array(Self.repeating.utf8)
    for index in bytes.indices {
      for byte in Array(#"\",]} 0"#.utf8) {
        #expect(check(Self.repeating, place))
        for near: [UInt8] in [
          [byte] + bytes[(index + 1)...], [byte] + bytes[index...], Array(bytes[(index + 1)...]),
        ] {
          check(String(decoding: bytes[..<index] + near, as: UTF8.self), place)
        }
      }
    }
  }

  @Test(arguments: [
    #"[1,\"side\":2]"#, #"{\"id\":1{\"id\":2}}"#, #"{\"id\":1,2}"#, #"{\"id\":1},{\"bid\":2}"#,
    #"{\"n\": [1{\"bid\":1}]}"#, #"{\"n\": [1, ]}"#, #"{\"id\":1}],\"n\": 2}"#,
    #"{\"id\":\"x,\"side\":2}"#,
  ])
  func `text that stood between other brackets is not taken between these`(wrong: String) {
    for place in Self.places {
      // Several texts, because each adds few joins.
      for _ in 0..<4 { #expect(check(Self.repeating, place)) }
      #expect(!check(wrong, place))
    }
  }

  @Test(arguments: places)
  func `texts with more names than are remembered come out whole`(place: FusedRig.Place) {
    for round in 0..<3 {
      for first in 0..<40 {
        let members = (0..<20).map { #"\"n\#(first * 20 + $0)\":[\#($0),{\"m\#($0)\":\#(round)}]"# }
        #expect(check("{\(members.joined(separator: ","))}", place))
      }
    }
  }

  @Test(arguments: [UInt64(81), 82], places)
  func `random values give the general way's bytes`(seed: UInt64, place: FusedRig.Place) {
    var random = SeededGenerator(seed: seed)
    var taken = 0
    for _ in 0..<700 {
      let style = random.pick(JSONEncoding.all)
      let value = RandomJSON.value(depth: random.below(5), &random)
      let quoted = JSONEncoding.minimal.quoted(style.text(value)).dropFirst().dropLast()
      guard quoted.utf8.count < 3000 else { continue }
      if check(String(quoted), place, alignments: 0..<4) { taken += 1 }
      var damaged = Array(quoted.utf8)
      guard !damaged.isEmpty else { continue }
      let index = random.below(damaged.count)
      if damaged[index] < 0x80 { damaged[index] = random.pick(Array(#"\",:[]{}0e-. "#.utf8)) }
      check(String(decoding: damaged, as: UTF8.self), place, alignments: 0..<4)
    }
    #expect(taken > 300)
  }
}

struct UnescapedTextTests {
  private let rig = FusedRig()

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
    let isTaken = rig.check(
      body, .text, expected, alignments: alignments, sourceLocation: sourceLocation)
    guard isTaken != (expected != nil) else { return }
    Issue.record("\(text) is taken: \(isTaken)", sourceLocation: sourceLocation)
  }

  @Test func `texts of 0 to 160 bytes come out whole at every alignment`() {
    for size in 0...160 {
      // Each alignment occurs for each size, within two neighbouring sizes.
      let alignments = size % 2 == 0 ? 0..<16 : 16..<32
      for piece in ["x", "é", #"\""#, #"\\"#, #"\"x"#] {
        let run = String(repeating: piece, count: size / piece.utf8.count)
        check(run, alignments: alignments)
      }
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

  @Test func `other escapes, controls and texts without an end are declined at any place`() {
    for piece in [#"\n"#, #"\u00e9"#, #"\b"#, "\u{1}", "\n", #"\"#, "\0"] {
      for distance in 0..<140 {
        let run = String(repeating: "a", count: distance) + piece
        for text in [run + "b\"", run] {
          let view = rig.input.view(Array(text.utf8), beforeEnd: distance % 32)
          #expect(rig.fused(view, .text) == nil, "\(text)")
        }
      }
    }
  }

  @Test func `random texts come out as the general way reads them`() {
    var random = SeededGenerator(seed: 43)
    let pieces = [#"\""#, #"\\"#, #"\/"#, "a", "bcdefgh", "0123456789", "é", "中文", "😀", " "]
    for _ in 0..<10_000 {
      let text = (0..<random.below(61)).map { _ in
        random.below(1000) == 0 ? #"\t"# : random.pick(pieces)
      }
      let distance = random.below(32)
      check(text.joined(), alignments: distance..<(distance + 1))
    }
  }
}
