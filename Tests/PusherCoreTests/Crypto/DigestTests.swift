import PusherCore
import Testing

@Suite struct DigestTests {
  private let empty: [UInt8] = []
  private let abc = Array("abc".utf8)

  @Test func `SHA-1 gives the values of RFC 3174 and the handshake key of RFC 6455`() {
    #expect(Hex.encode(Digest.sha1(abc)) == "a9993e364706816aba3e25717850c26c9cd0d89d")
    #expect(Hex.encode(Digest.sha1(empty)) == "da39a3ee5e6b4b0d3255bfef95601890afd80709")
    let key = "dGhlIHNhbXBsZSBub25jZQ==258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    #expect(Base64.encode(Digest.sha1(Array(key.utf8))) == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
  }

  @Test func `MD5 gives the values of RFC 1321 section A.5`() {
    #expect(Hex.encode(Digest.md5(empty)) == "d41d8cd98f00b204e9800998ecf8427e")
    #expect(Hex.encode(Digest.md5(abc)) == "900150983cd24fb0d6963f7d28e17f72")
  }

  @Test func `SHA-256 gives the values of FIPS 180-4`() {
    #expect(
      Hex.encode(Digest.sha256(abc))
        == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(
      Hex.encode(Digest.sha256(empty))
        == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
  }

  @Test func `HMAC-SHA256 gives the values of RFC 4231 section 4`() {
    #expect(
      Hex.encode(Digest.hmacSHA256(Array("Hi There".utf8), key: [UInt8](repeating: 11, count: 20)))
        == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7")
    #expect(
      Hex.encode(
        Digest.hmacSHA256(Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8)))
        == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    let long = "Test Using Larger Than Block-Size Key - Hash Key First"
    #expect(
      Hex.encode(
        Digest.hmacSHA256(Array(long.utf8), key: [UInt8](repeating: 0xAA, count: 131)))
        == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
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
    for number in UInt8.min...UInt8.max {
      #expect(Hex.encode(Digest.hmacSHA256(message, key: key)) == expected)
      #expect(Hex.encode(Digest.hmacSHA256(message, key: key + [number])) != expected)
    }
  }

  @Test func `signatures are equal only when every byte and the length are`() {
    #expect(Digest.equalInConstantTime([], []))
    #expect(Digest.equalInConstantTime(abc, abc))
    #expect(!Digest.equalInConstantTime(abc, Array("abd".utf8)))
    #expect(!Digest.equalInConstantTime(Array("xbc".utf8), abc))
    #expect(!Digest.equalInConstantTime(abc, Array("ab".utf8)))
    #expect(!Digest.equalInConstantTime(abc, []))
  }
}
