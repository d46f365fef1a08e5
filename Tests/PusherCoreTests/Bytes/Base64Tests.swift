import Foundation
import PusherCore
import TestSupport
import Testing

struct Base64Tests {
  @Test(arguments: [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
    ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
  ])
  func `the vectors of section 10 hold in both directions`(text: String, encoded: String) {
    #expect(Base64.encode(Array(text.utf8)) == encoded)
    #expect(Base64.decode(encoded) == Array(text.utf8))
  }

  @Test func `every byte and every length goes out as Foundation writes it and comes back`() {
    let all = (0...255).map { UInt8($0) }
    for length in 0...256 {
      let bytes = Array(all.suffix(length))
      let encoded = Base64.encode(bytes)
      #expect(encoded == Data(bytes).base64EncodedString())
      #expect(Base64.decode(encoded) == bytes)
    }
  }

  @Test(arguments: [
    "Z", "Zg", "Zg=", "Zg===", "=", "==", "====", "=Zg=", "Z===", "Zm=v", "Zm9v=", "Zm9vYg==Zm9v",
    "Zm9-", "Zm_v", "Zm 9", "Zm9v\n", "Zm9\u{e9}", "Zg=a", "\0\0\0\0",
  ])
  func `a wrong character, length or padding is refused`(text: String) {
    #expect(Base64.decode(text) == nil)
  }

  @Test func `every byte outside the alphabet is refused at every place`() throws {
    let alphabet = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    for byte in UInt8.min...UInt8.max where !alphabet.contains(byte) {
      for place in 0..<12 where byte != UInt8(ascii: "=") || place < 10 {
        var text = Array("Zm9vYmFyZm9v".utf8)
        text[place] = byte
        withView(text) { view in
          let output = ByteBuffer()
          #expect(!Base64.decode(view, into: output) && output.isEmpty)
        }
      }
    }
  }

  @Test func `decoded bytes go behind those in the buffer, and fill a small one to its end`() {
    for length in 0...80 {
      let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7) }
      let output = ByteBuffer(capacity: 64)
      output.append(0x21)
      withView(Array(Base64.encode(bytes).utf8)) { #expect(Base64.decode($0, into: output)) }
      #expect(output.array == [0x21] + bytes)
    }
  }
}

/// RFC 4648 section 8, in lower case.
struct HexTests {
  @Test func `each byte becomes two lower-case digits`() {
    #expect(Hex.encode([]) == "" && Hex.encode([0x00, 0x0F, 0x10, 0xAB, 0xFF]) == "000f10abff")
  }

  @Test func `digits of both cases have a value, nothing else has`() {
    for byte in UInt8.min...UInt8.max {
      let character = Character(Unicode.Scalar(byte))
      let expected = character.isASCII ? character.hexDigitValue.map(UInt8.init) : nil
      #expect(Hex.value(of: byte) == expected)
    }
  }
}
