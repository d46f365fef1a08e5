import PusherCore
import Testing

struct `Signing in this process` {
  private let signature = SubscriptionSignature(
    key: "278d425bdf160c739803", secret: "7ad3773142a6692b25b8")

  private func answer(
    _ channel: String?, _ signer: SecretSigner, socketID: String = "1234.1234"
  ) -> Authorization.Result? {
    var answer: Authorization.Result?
    signer.sign(AuthorizationRequest(channel: channel, socketID: socketID, generation: 1)) {
      answer = $0
    }
    return answer
  }

  @Test func `an encrypted channel gets the key that is derived for it`() throws {
    let masterKey = try EncryptionMasterKey(base64: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
    let signer = SecretSigner(signature: signature, masterKey: masterKey)
    let auth = try answer("private-encrypted-demo", signer)?.get()
    #expect(auth?.sharedSecret == "EYp9Iw61We0SSO8i4YNMUxqo4TeGPjdBtcgzC9ocVl0=")
    #expect(try answer("private-demo", signer)?.get().sharedSecret == nil)
    #expect(
      answer("private-encrypted-demo", SecretSigner(signature: signature))
        == .failure(.refused(status: nil, "no encryption key was given")))
  }

  @Test(arguments: [
    "12.3:x", "POST\n/apps/1/events\na=1.2", "1", "1.2.3", "1. 2", ".", "١.٢",
    "1234.1234:private-a",
  ])
  func `nothing is signed for a socket id that a server made up`(socketID: String) {
    let signer = SecretSigner(signature: signature, userData: #"{"id":"12345"}"#)
    for channel in ["private-a", nil] {
      guard case .failure(.unusable) = answer(channel, signer, socketID: socketID) else {
        Issue.record("\(socketID) was signed")
        continue
      }
    }
  }
}
