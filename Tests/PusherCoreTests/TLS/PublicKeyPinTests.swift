import PusherCore
import Testing

/// RFC 7469 section 2.4, in curl's spelling and others.
@Suite struct PublicKeyPinTests {
  private let text = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

  @Test func `a pin is the same with and without its prefix`() throws {
    let pin = try #require(PublicKeyPin(text))
    #expect(PublicKeyPin("sha256/" + text) == pin)
    #expect(PublicKeyPin("sha256//" + text) == pin)
    #expect("\(pin)" == "sha256/" + text)
    #expect(pin.digest == Digest.sha256([]))
  }

  @Test func `a slash at the start of the Base64 is no part of the prefix`() throws {
    let digests = [[UInt8](repeating: 0xFF, count: 32), [0xFC] + [UInt8](repeating: 0, count: 31)]
    for digest in digests {
      let text = Base64.encode(digest)
      #expect(text.hasPrefix("/"))
      for prefix in ["", "sha256/", "sha256//"] {
        #expect(PublicKeyPin(prefix + text)?.digest == digest)
      }
    }
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

  @Test func `a connection to another key fails with the key that was seen, and stays failed`()
    throws
  {
    let files = TestCertificates.shared
    let other = try #require(PublicKeyPin(text))
    let pair = try TLSPair(TLSConfiguration(insecure: true, pins: [other]))
    var failure: TLSError?
    do throws(TLSError) { try pair.continueHandshake() } catch { failure = error }
    guard case .publicKey(let seen, subject: "CN=localhost")? = failure else {
      Issue.record("\(String(describing: failure))")
      return
    }
    #expect(throws: TLSError.self) { try pair.client.handshake() }
    let pinned = TLSConfiguration(caFile: files.authority, pins: [other, seen])
    try TLSPair(pinned).continueHandshake()
  }
}
