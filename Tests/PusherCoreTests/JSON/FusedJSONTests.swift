import TestSupport
import Testing

@testable import PusherCore

/// The fused JSON pass gives the same as the general way.
///
/// Guard pages surround input and output.
@Suite struct FusedJSONTests {
  /// Position of the JSON; the texts of the tests are the contents of a data string.
  enum Place: CaseIterable {
    case insideString
    case alone
  }

  private let input = GuardedBytes(room: 4096)
  private let output = GuardedBytes(room: 4096)
  /// The joins of earlier texts of the same test, inside strings and alone.
  private let escapedJoins = JoinMemory()
  private let joins = JoinMemory()

  /// Returns the output of the fused pass, or `nil` if it declines.
  ///
  /// The output has the room that ``FusedCursor`` requires, followed by a guard page. The view of a
  /// data string includes the outer quote, which must be its last byte.
  private func fused(_ view: ByteView, _ place: Place) -> [UInt8]? {
    let end = view.base + view.count
    let behind = end.pointee
    end.pointee = 0
    defer { end.pointee = behind }
    let first = output.end - view.count - 32
    var cursor = FusedCursor(input: view.base, output: first)
    switch place {
    case .insideString:
      guard cursor.copyEscapedValue(escapedJoins, kind: 0), cursor.input + 1 == UnsafePointer(end)
      else {
        return nil
      }
    case .alone:
      guard cursor.copyPlainValue(joins), cursor.input == UnsafePointer(end) else { return nil }
    }
    return Array(UnsafeBufferPointer(start: first, count: cursor.output - first))
  }

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

  /// Expects equal results of both ways at every position; returns true if the fused pass accepted
  /// the text.
  @discardableResult
  private func check(
    _ text: String, _ place: Place, alignments: Range<Int> = 0..<1,
    sourceLocation: SourceLocation = #_sourceLocation
  ) -> Bool {
    guard let body = place == .alone ? inner(text) : Array((text + "\"").utf8) else { return false }
    let expected = general(text)
    var taken = 0
    for distance in alignments {
      for view in [
        input.view(body, beforeEnd: distance), input.view(body, afterStart: distance),
      ] {
        let line = fused(view, place)
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

  @Test(arguments: Place.allCases)
  func `texts, digits and members of 0 to 300 bytes come out whole at every alignment`(
    place: Place
  ) {
    for size in 0...300 {
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

  @Test(arguments: Place.allCases)
  func `what the fast shapes leave to the rest comes out whole at every distance in the window`(
    place: Place
  ) {
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
            #"{\"\#(run)\":\#(value == " " ? "1 " : value),\"b\":[\#(value == " " ? " 1" : value),2]}"#,
            place))
        if isText { #expect(check(#"{\"\#(run)\#(piece)\":[1]}"#, place)) }
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
    for place in Place.allCases {
      for distance in 0..<70 {
        let run = String(repeating: "z", count: distance)
        #expect(!check(#"[\"\#(run)\",\#(wrong)]"#, place))
        #expect(!check(#"{\"\#(run)\":\#(wrong)}"#, place))
      }
      #expect(!check(wrong, place, alignments: 0..<32))
    }
  }

  @Test(arguments: Place.allCases)
  func `a text that ends at any byte is not read on behind its NUL`(place: Place) {
    let text = dense(300)
    let whole = place == .alone ? inner(text) ?? [] : Array((text + "\"").utf8)
    #expect(whole.count > 200)
    for count in 0..<whole.count {
      let cut = Array(whole[..<count])
      for distance in 0..<32 {
        #expect(fused(input.view(cut, beforeEnd: distance), place) == nil)
      }
    }
  }

  private static let repeating =
    #"{\"id\":1,\"side\":\"buy\",\"levels\":[{\"bid\":1.5,\"size\":2},{\"bid\":2.5,\"size\":3}],\"n\": [1, 2]}"#

  @Test(arguments: Place.allCases)
  func `a text that differs from an earlier one in one byte gives the general way's bytes, or none`(
    place: Place
  ) {
    let bytes = Array(Self.repeating.utf8)
    for index in bytes.indices {
      for byte in Array(#"\",]} 0"#.utf8) {
        #expect(check(Self.repeating, place))
        for near in [
          bytes[..<index] + [byte] + bytes[(index + 1)...],
          bytes[..<index] + [byte] + bytes[index...],
          bytes[..<index] + bytes[(index + 1)...],
        ] { check(String(decoding: near, as: UTF8.self), place) }
      }
    }
  }

  @Test(arguments: [
    #"[1,\"side\":2]"#, #"{\"id\":1{\"id\":2}}"#, #"{\"id\":1,2}"#, #"{\"id\":1},{\"bid\":2}"#,
    #"{\"n\": [1{\"bid\":1}]}"#, #"{\"n\": [1, ]}"#, #"{\"id\":1}],\"n\": 2}"#,
    #"{\"id\":\"x,\"side\":2}"#,
  ])
  func `what stood between other brackets is not taken between these`(wrong: String) {
    for place in Place.allCases {
      // Several texts, because each adds few joins.
      for _ in 0..<4 { #expect(check(Self.repeating, place)) }
      #expect(!check(wrong, place))
    }
  }

  @Test(arguments: Place.allCases)
  func `texts with more names than are remembered come out whole, each time`(place: Place) {
    for round in 0..<3 {
      for first in 0..<40 {
        let members = (0..<20).map { #"\"n\#(first * 20 + $0)\":[\#($0),{\"m\#($0)\":\#(round)}]"# }
        #expect(check("{\(members.joined(separator: ","))}", place))
      }
    }
  }

  @Test(arguments: [UInt64(81), 82], Place.allCases)
  func `generated and damaged values give the general way's bytes, or none`(
    seed: UInt64, place: Place
  ) {
    var random = SeededGenerator(seed: seed)
    var taken = 0
    for _ in 0..<700 {
      let style = JSONEncoding.all[random.below(JSONEncoding.all.count)]
      let value = RandomJSON.value(depth: random.below(5), &random)
      let quoted = JSONEncoding.minimal.quoted(style.text(value)).dropFirst().dropLast()
      guard quoted.utf8.count < 3000 else { continue }
      if check(String(quoted), place, alignments: 0..<4) { taken += 1 }
      var damaged = Array(quoted.utf8)
      guard !damaged.isEmpty else { continue }
      let index = random.below(damaged.count)
      if damaged[index] < 0x80 { damaged[index] = Array(#"\",:[]{}0e-. "#.utf8)[random.below(13)] }
      check(String(decoding: damaged, as: UTF8.self), place, alignments: 0..<4)
    }
    #expect(taken > 300)
  }
}
