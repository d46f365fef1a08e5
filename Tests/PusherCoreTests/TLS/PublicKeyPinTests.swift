import PusherCore
import Testing

/// RFC 7469 section 2.4, in curl's spelling and others.
struct PublicKeyPinTests {
  private let text = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

  @Test(arguments: [
    Digest.sha256([]),
    // A slash at the start of the Base64 is no part of the prefix.
    [UInt8](repeating: 0xFF, count: 32), [0xFC] + [UInt8](repeating: 0, count: 31),
  ])
  func `a pin is the same with and without its prefix`(digest: [UInt8]) {
    let encoded = Base64.encode(digest)
    #expect(encoded == text || encoded.hasPrefix("/"))
    for prefix in ["", "sha256/", "sha256//"] {
      #expect(PublicKeyPin(prefix + encoded)?.digest == digest)
    }
    #expect(PublicKeyPin(digest: digest)?.description == "sha256/" + encoded)
  }

  @Test(arguments: [
    "", "sha256//", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU", "sha1/47DEQpj8HBSa",
    "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU=",
    "sha256///47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSu",
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==",
  ])
  func `anything but 32 bytes of Base64 is no pin`(text: String) {
    #expect(PublicKeyPin(text) == nil)
  }

  @Test func `a connection to another key fails with the seen key, and stays failed`() throws {
    let other = try #require(PublicKeyPin(text))
    let pair = try TLSPair(TLSConfiguration(insecure: true, pins: [other]))
    var failure: TLSError?
    do throws(TLSError) { try pair.continueHandshake() } catch { failure = error }
    guard case .publicKey(let seen, subject: "CN=localhost")? = failure else {
      return unexpected(failure)
    }
    #expect(throws: TLSError.self) { try pair.client.handshake() }
    let authority = TestCertificates.shared.authority
    try TLSPair(TLSConfiguration(caFile: authority, pins: [other, seen])).continueHandshake()
  }
}
