import PusherCore
import Testing

@Suite("Signing in this process")
struct SecretSignerTests {
  private let signature = SubscriptionSignature(
    key: "278d425bdf160c739803", secret: "7ad3773142a6692b25b8")

  private func answer(
    _ channel: String, socketID: String = "1234.1234", masterKey: EncryptionMasterKey? = nil
  ) -> Authorization.Result? {
    var answer: Authorization.Result?
    SecretSigner(signature: signature, masterKey: masterKey).sign(
      AuthorizationRequest(channel: channel, socketID: socketID, generation: 1)
    ) { answer = $0 }
    return answer
  }

  @Test func `an encrypted channel gets the key that is derived for it`() throws {
    let masterKey = try EncryptionMasterKey(
      base64: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
    let auth = try answer("private-encrypted-demo", masterKey: masterKey)?.get()
    #expect(auth?.sharedSecret == "EYp9Iw61We0SSO8i4YNMUxqo4TeGPjdBtcgzC9ocVl0=")
    #expect(try answer("private-demo", masterKey: masterKey)?.get().sharedSecret == nil)
    #expect(
      answer("private-encrypted-demo")
        == .failure(.refused(status: nil, "no encryption key was given")))
  }

  @Test func `a user is signed as documented, for a socket id that is one`() throws {
    let userData = #"{"id":"12345"}"#
    let signer = SecretSigner(signature: signature, userData: userData)
    var answers: [Authorization.Result] = []
    for socketID in ["1234.1234", "1234.1234:private-a"] {
      signer.sign(AuthorizationRequest(channel: nil, socketID: socketID, generation: 1)) {
        answers.append($0)
      }
    }
    #expect(
      try answers[0].get()
        == Authorization(
          PusherUserAuth(
            auth: "278d425bdf160c739803:"
              + "4708d583dada6a56435fb8bc611c77c359a31eebde13337c16ab43aa6de336ba",
            userData: userData)))
    guard case .failure(.unusable) = answers[1] else {
      Issue.record("signed what the server made up")
      return
    }
  }
}
