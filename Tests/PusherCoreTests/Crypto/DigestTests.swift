import PusherCore
import Testing

struct DigestTests {
  private let abc = Array("abc".utf8)

  private static func hmac(_ message: String, _ key: [UInt8]) -> [UInt8] {
    Digest.hmacSHA256(Array(message.utf8), key: key)
  }

  @Test(arguments: [
    // RFC 3174.
    (Digest.sha1(Array("abc".utf8)), "a9993e364706816aba3e25717850c26c9cd0d89d"),
    (Digest.sha1([]), "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
    // RFC 1321 section A.5.
    (Digest.md5([]), "d41d8cd98f00b204e9800998ecf8427e"),
    (Digest.md5(Array("abc".utf8)), "900150983cd24fb0d6963f7d28e17f72"),
    // FIPS 180-4.
    (
      Digest.sha256(Array("abc".utf8)),
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    ),
    (Digest.sha256([]), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    // RFC 4231 section 4.
    (
      hmac("Hi There", [UInt8](repeating: 11, count: 20)),
      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
    ),
    (
      hmac("what do ya want for nothing?", Array("Jefe".utf8)),
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    ),
    (
      hmac(
        "Test Using Larger Than Block-Size Key - Hash Key First",
        [UInt8](repeating: 0xAA, count: 131)),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
    ),
  ])
  func `digests and HMACs have the values of their standards`(digest: [UInt8], hex: String) {
    #expect(Hex.encode(digest) == hex)
  }

  @Test func `SHA-1 gives the handshake key of RFC 6455`() {
    let key = "dGhlIHNhbXBsZSBub25jZQ==258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    #expect(Base64.encode(Digest.sha1(Array(key.utf8))) == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
  }

  @Test func `an empty key and an empty message are allowed, in any order of calls`() {
    let expected = "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"
    #expect(Hex.encode(Digest.hmacSHA256([], key: [])) == expected)
    _ = Digest.hmacSHA256(abc, key: abc)
    #expect(Hex.encode(Digest.hmacSHA256([], key: [])) == expected)
  }

  @Test func `a key gives its signature again after many other keys`() {
    let (message, key) = (Array("what do ya want for nothing?".utf8), Array("Jefe".utf8))
    let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    // A zero at the end makes no other key (RFC 2104).
    for number in 1...UInt8.max {
      #expect(Hex.encode(Digest.hmacSHA256(message, key: key)) == expected)
      #expect(Hex.encode(Digest.hmacSHA256(message, key: key + [number])) != expected)
    }
  }

  @Test func `signatures are equal only when every byte and the length are`() {
    #expect(Digest.equalInConstantTime([], []) && Digest.equalInConstantTime(abc, abc))
    for other in ["abd", "xbc", "ab", ""].map({ Array($0.utf8) }) {
      #expect(!Digest.equalInConstantTime(abc, other) && !Digest.equalInConstantTime(other, abc))
    }
  }
}
