import PusherCore
import Testing

@Suite("Keys of encrypted channels: the page on end-to-end encryption")
struct ChannelEncryptionTests {
  private static let masterKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
  private static let secret = "EYp9Iw61We0SSO8i4YNMUxqo4TeGPjdBtcgzC9ocVl0="
  private static let ciphertext = "dDUITubPmLKMfyqhvbzAKGrQhFTfUqunEAva4vnZAzD8"
  private static let nonce = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"

  private func data(_ text: String) throws -> JSONValue { try JSONParser.parse(text) }

  @Test func `the shared secret is derived from channel and master key`() throws {
    let key = try EncryptionMasterKey(base64: Self.masterKey)
    #expect(key.sharedSecret(channel: "private-encrypted-demo") == Self.secret)
    #expect(key.sharedSecret(channel: "private-encrypted-dem") != Self.secret)
  }

  @Test func `the verified vector opens, and is made again`() throws {
    let key = try ChannelKey(sharedSecret: Self.secret)
    let text = #"{"nonce":"\#(Self.nonce)","ciphertext":"\#(Self.ciphertext)"}"#
    #expect(try key.open(data(text)) == Array(#"{"hello":"world"}"#.utf8))
    let nonce = try #require(Base64.decode(Self.nonce))
    #expect(key.seal(Array(#"{"hello":"world"}"#.utf8), nonce: nonce) == text)
  }

  @Test(arguments: [
    ("null", "the data is not a JSON object"),
    (#""text""#, "the data is not a JSON object"),
    ("[]", "the data is not a JSON object"),
    ("{}", #"the data has no "nonce" string"#),
    (#"{"nonce":1}"#, #"the data has no "nonce" string"#),
    (#"{"nonce":"AAAA"}"#, #"the data has no "ciphertext" string"#),
    (#"{"nonce":"A","ciphertext":""}"#, "the nonce is not base64"),
    (#"{"nonce":"AAAA","ciphertext":""}"#, "the nonce has 3 bytes instead of 24"),
    (#"{"nonce":"\#(nonce)","ciphertext":"!"}"#, "the ciphertext is not base64"),
    (#"{"nonce":"\#(nonce)","ciphertext":"AAAA"}"#, "the ciphertext is shorter than its tag"),
  ])
  func `data that no key could open is told from a wrong key`(text: String, reason: String) throws {
    let key = try ChannelKey(sharedSecret: Self.secret)
    #expect(throws: DecryptionError.malformed(reason)) { try key.open(data(text)) }
  }

  @Test func `a wrong key is a wrong key`() throws {
    let key = try ChannelKey(sharedSecret: Self.masterKey)
    let text = #"{"nonce":"\#(Self.nonce)","ciphertext":"\#(Self.ciphertext)"}"#
    #expect(throws: DecryptionError.wrongKey) { try key.open(data(text)) }
  }

  @Test(arguments: [
    ("", EncryptionKeyError.wrongLength(0, expected: 32)),
    ("AAAA", .wrongLength(3, expected: 32)),
    ("not base64", .notBase64),
    (secret + "AAAA", .notBase64),
  ])
  func `a key is the base64 of 32 bytes`(text: String, error: EncryptionKeyError) {
    #expect(throws: error) { try EncryptionMasterKey(base64: text) }
    #expect(throws: error) { try ChannelKey(sharedSecret: text) }
  }

  @Test func `no description shows a key`() throws {
    let key = try EncryptionMasterKey(base64: Self.masterKey)
    #expect("\(key) \(String(reflecting: key))" == "<key> <key>")
  }

  @Test func `an event for an encrypted channel is encrypted for it, others are left alone`() throws
  {
    let masterKey = try EncryptionMasterKey(base64: Self.masterKey)
    let nonce = try #require(Base64.decode(Self.nonce))
    let plain = TriggerRequest(
      name: "e", channels: ["private-encrypted-demo"], data: #"{"hello":"world"}"#)
    let sealed = try plain.encrypted(with: masterKey, nonce: nonce)
    #expect(sealed.data == #"{"nonce":"\#(Self.nonce)","ciphertext":"\#(Self.ciphertext)"}"#)
    let other = TriggerRequest(name: "e", channels: ["private-demo"], data: "1")
    #expect(try other.encrypted(with: masterKey, nonce: nonce) == other)
    let two = TriggerRequest(name: "e", channels: ["private-encrypted-a", "b"], data: "1")
    #expect(throws: TriggerError.encryptedAmongOthers) {
      try two.encrypted(with: masterKey, nonce: nonce)
    }
  }
}
