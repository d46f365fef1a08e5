import Foundation
import PusherCore
import Testing

/// RFC 4648 section 4.
@Suite struct Base64Tests {
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
}
