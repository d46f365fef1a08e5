import PusherCore
import TestSupport
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

  /// The base64 contains slashes and a plus.
  ///
  /// Python writes blanks, and PHP escapes each slash.
  @Test func `a box opens however its JSON is written`() throws {
    let key = try ChannelKey(sharedSecret: Self.secret)
    let nonceBytes = [UInt8](repeating: 0xFF, count: 24)
    let plain = Array("{\"hello\":\"\(String(repeating: "world ", count: 40))\"}".utf8)
    let text = key.seal(plain, nonce: nonceBytes)
    let nonce = Base64.encode(nonceBytes)
    let ciphertext = try #require(try data(text)["ciphertext"]?.text)
    #expect(nonce.contains("/") && ciphertext.contains("/") && ciphertext.contains("+"))
    let texts = [
      text, #"{"ciphertext":"\#(ciphertext)","nonce":"\#(nonce)"}"#,
      #" { "nonce": "\#(nonce)", "ciphertext": "\#(ciphertext)" } "#,
      text.replacing("/", with: #"\/"#), text.replacing("+", with: #"\u002b"#),
    ]
    for text in texts {
      #expect(try key.open(data(text)) == plain)
      let output = ByteBuffer()
      withView(Array(text.utf8)) {
        #expect(key.open($0, into: output, using: OpeningRoom()), "\(text)")
      }
      #expect(output.array == plain)
    }
  }

  @Test func `a box that is damaged at any place opens neither way`() throws {
    let key = try ChannelKey(sharedSecret: Self.secret)
    let text = Array(#"{"nonce":"\#(Self.nonce)","ciphertext":"\#(Self.ciphertext)"}"#.utf8)
    var opened = 0
    for place in text.indices {
      for byte in [0x5C, 0x22, 0x41, 0x2F, 0x3D, 0x7D] as [UInt8] where text[place] != byte {
        var damaged = text
        damaged[place] = byte
        let output = ByteBuffer()
        let isOpened = withView(damaged) { key.open($0, into: output, using: OpeningRoom()) }
        let general = try? withView(damaged) { try key.open(JSONParser.parse($0)) }
        #expect(!isOpened || general == output.array, "\(place) \(byte)")
        #expect(isOpened || output.isEmpty)
        opened += isOpened ? 1 : 0
      }
    }
    #expect(opened == 0)
    for length in text.indices {
      withView(text) {
        #expect(!key.open($0[0..<length], into: ByteBuffer(), using: OpeningRoom()))
      }
    }
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
