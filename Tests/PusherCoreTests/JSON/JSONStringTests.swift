import Foundation
import PusherCore
import TestSupport
import Testing

/// RFC 8259 section 7.
struct JSONStringTests {
  private func encode(_ text: String, forTerminal: Bool = false) -> String {
    let output = ByteBuffer()
    JSONString.encode(text, into: output, forTerminal: forTerminal)
    return output.view.text
  }

  private func decode(_ escaped: String) -> String {
    let input = buffer(escaped)
    return withExtendedLifetime(input) { JSONString.decode($0.view) }
  }

  @Test func `every character below U+0100 is escaped only when it must be`() {
    for value in UInt8.min...UInt8.max {
      let scalar = Unicode.Scalar(value)
      let hex = Hex.encode([value])
      let escaped =
        switch scalar {
        case "\"": #"\""#
        case "\\": #"\\"#
        case "\u{8}": #"\b"#
        case "\u{C}": #"\f"#
        case "\n": #"\n"#
        case "\r": #"\r"#
        case "\t": #"\t"#
        case "\0"..."\u{1F}": "\\u00\(hex)"
        default: String(Character(scalar))
        }
      #expect(encode("a\(Character(scalar))b") == "\"a\(escaped)b\"")
      let isControl = value >= 0x7F && value < 0xA0
      #expect(
        encode(String(Character(scalar)), forTerminal: true)
          == "\"\(isControl ? "\\u00\(hex)" : escaped)\"")
    }
  }

  @Test func `what was encoded decodes to itself, wherever the escapes stand`() {
    var random = SeededGenerator(seed: 3)
    for _ in 0..<1000 {
      let text = RandomJSON.text(maximumLength: 40, &random)
      for forTerminal in [false, true] {
        let encoded = encode(text, forTerminal: forTerminal)
        #expect(decode(String(encoded.dropFirst().dropLast())).utf8.elementsEqual(text.utf8))
        #expect(StrictJSON.problem(in: Array(encoded.utf8)) == nil)
        #expect(throws: Never.self) {
          try JSONSerialization.jsonObject(with: Data(encoded.utf8), options: .fragmentsAllowed)
        }
      }
    }
  }

  @Test func `a special at any place among plain bytes is found`() {
    for length in 0..<40 {
      for place in 0...length {
        for special in ["\"", "\\", "\n", "\u{1F}", "\0"] {
          let text =
            String(repeating: "é", count: place % 3) + String(repeating: "x", count: place)
            + special + String(repeating: "y", count: length - place)
          let encoded = encode(text)
          #expect(decode(String(encoded.dropFirst().dropLast())) == text)
        }
      }
    }
  }

  @Test(arguments: [
    ("", ""), (#"\/"#, "/"), (#"\u0041\u00e9\u4e2d"#, "Aé中"), (#"\uD83D\uDE00"#, "😀"),
    (#"\ud800"#, "\u{FFFD}"), (#"\udc00"#, "\u{FFFD}"), (#"\ud800\ud800"#, "\u{FFFD}\u{FFFD}"),
    (#"\ud800\u0041"#, "\u{FFFD}A"), (#"\udbff\udfff"#, "\u{10FFFF}"),
    (#"\ud800\udc00"#, "\u{10000}"), (#"\\u0041"#, #"\u0041"#), (#"\u005c\u0022"#, #"\""#),
    (#"\ud800\n"#, "\u{FFFD}\n"),
  ])
  func `escapes in a JSON string are resolved`(escaped: String, text: String) {
    #expect(decode(escaped) == text)
  }
}

struct JSONWriterTests {
  @Test func `a value is written on one line without white space, members in their order`() {
    let value = JSONValue.object([
      .init("b", .array([.null, .bool(true), .bool(false), .number("1.10"), .string("a\"\n")])),
      .init("a", .object([])), .init("c", .array([])), .init("k\\", .object([.init("", .null)])),
    ])
    #expect(
      JSONWriter.text(value)
        == #"{"b":[null,true,false,1.10,"a\"\n"],"a":{},"c":[],"k\\":{"":null}}"#)
  }

  @Test func `for a terminal names and strings have their controls escaped`() {
    let output = ByteBuffer()
    JSONWriter.write(
      .object([.init("\u{9B}", .array([.string("\u{7F}")]))]), into: output, forTerminal: true)
    #expect(output.view.text == #"{"\u009b":["\u007f"]}"#)
  }
}
