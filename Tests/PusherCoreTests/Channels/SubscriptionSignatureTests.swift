import PusherCore
import Testing

/// The page "Generating the authentication string", with the key and secret of its examples.
struct SubscriptionSignatureTests {
  private let signature = SubscriptionSignature(
    key: "278d425bdf160c739803", secret: "7ad3773142a6692b25b8")

  private func authorize(_ channel: String, _ data: String? = nil) -> PusherAuth {
    signature.authorize(socketID: "1234.1234", channel: channel, channelData: data)
  }

  @Test func `a private channel is signed by socket and name`() {
    let signed =
      "278d425bdf160c739803:58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4"
    #expect(authorize("private-foobar") == PusherAuth(auth: signed))
  }

  @Test func `a presence channel is signed with its member's data, byte for byte`() {
    let data = #"{"user_id":10,"user_info":{"name":"Mr. Channels"}}"#
    let signed =
      "278d425bdf160c739803:31935e7d86dba64c2a90aed31fdc61869f9b22ba9d8863bba239c03ca481bc80"
    #expect(authorize("presence-foobar", data) == PusherAuth(auth: signed, channelData: data))
  }

  @Test func `a user signs in with the user's data between two double colons`() {
    let auth = signature.signIn(socketID: "1234.1234", userData: #"{"id":"12345"}"#)
    #expect(
      auth == "278d425bdf160c739803:"
        + "4708d583dada6a56435fb8bc611c77c359a31eebde13337c16ab43aa6de336ba")
  }

  @Test func `the case of the key is kept`() {
    let auth = SubscriptionSignature(key: "ABCdef", secret: "s")
      .authorize(socketID: "1.1", channel: "private-a")
    #expect(auth.auth.hasPrefix("ABCdef:"))
  }
}
