import PusherCore
import TestSupport
import Testing

struct `Keys of encrypted channels: the page on end-to-end encryption` {
  private static let masterKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
  private static let secret = "EYp9Iw61We0SSO8i4YNMUxqo4TeGPjdBtcgzC9ocVl0="
  private static let ciphertext = "dDUITubPmLKMfyqhvbzAKGrQhFTfUqunEAva4vnZAzD8"
  private static let nonce = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"

  private static let box = #"{"nonce":"\#(nonce)","ciphertext":"\#(ciphertext)"}"#
  private let plain = Array(#"{"hello":"world"}"#.utf8)
  private let key: ChannelKey
  private let masterKey: EncryptionMasterKey

  init() throws {
    key = try ChannelKey(sharedSecret: Self.secret)
    masterKey = try EncryptionMasterKey(base64: Self.masterKey)
  }

  private func data(_ text: String) throws -> JSONValue { try JSONParser.parse(text) }

  private func isOpened(_ view: ByteView, into output: ByteBuffer = ByteBuffer()) -> Bool {
    key.open(view, into: output, using: OpeningRoom())
  }

  @Test func `the shared secret is derived from channel and master key`() {
    #expect(masterKey.sharedSecret(channel: "private-encrypted-demo") == Self.secret)
    #expect(masterKey.sharedSecret(channel: "private-encrypted-dem") != Self.secret)
    #expect("\(masterKey) \(String(reflecting: masterKey))" == "<key> <key>")
  }

  @Test func `the verified vector opens, and is made again`() throws {
    #expect(try key.open(data(Self.box)) == plain)
    #expect(key.seal(plain, nonce: try #require(Base64.decode(Self.nonce))) == Self.box)
  }

  /// The base64 contains slashes and a plus.
  ///
  /// Python writes blanks, and PHP escapes each slash.
  @Test func `a box opens however its JSON is written`() throws {
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
      withView(Array(text.utf8)) { #expect(isOpened($0, into: output), "\(text)") }
      #expect(output.array == plain)
    }
  }

  @Test func `boxes of one connection open one after the other, each with its own nonce`() {
    let room = OpeningRoom()
    for number in 1...3 as ClosedRange<UInt8> {
      let plain = [UInt8](repeating: number, count: 40)
      let box = key.seal(plain, nonce: [UInt8](repeating: number, count: 24))
      let output = ByteBuffer()
      for text in [box, box.replacing("/", with: #"\/"#)] {
        output.removeAll()
        withView(Array(text.utf8)) { #expect(key.open($0, into: output, using: room), "\(text)") }
        #expect(output.array == plain)
      }
    }
  }

  @Test func `a box that is damaged at any place opens neither way`() {
    let text = Array(Self.box.utf8)
    for place in text.indices {
      for byte in [0x5C, 0x22, 0x41, 0x2F, 0x3D, 0x7D] as [UInt8] where text[place] != byte {
        var damaged = text
        damaged[place] = byte
        let output = ByteBuffer()
        let opened = withView(damaged) { isOpened($0, into: output) }
        let general = try? withView(damaged) { try key.open(JSONParser.parse($0)) }
        #expect(!opened && general == nil && output.isEmpty, "\(place) \(byte)")
      }
    }
    for length in text.indices { withView(text) { #expect(!isOpened($0[0..<length])) } }
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
    #expect(throws: DecryptionError.malformed(reason)) { try key.open(data(text)) }
    let other = try ChannelKey(sharedSecret: Self.masterKey)
    #expect(throws: DecryptionError.wrongKey) { try other.open(data(Self.box)) }
  }

  @Test(arguments: [
    ("", EncryptionKeyError.wrongLength(0, expected: 32)),
    ("AAAA", .wrongLength(3, expected: 32)),
    ("not base64", .notBase64),
    (secret + "AAAA", .notBase64),
  ])
  func `an encryption key is the base64 of 32 bytes`(text: String, error: EncryptionKeyError) {
    #expect(throws: error) { try EncryptionMasterKey(base64: text) }
    #expect(throws: error) { try ChannelKey(sharedSecret: text) }
  }

  @Test func `an event is encrypted for an encrypted channel only`() throws {
    let nonce = try #require(Base64.decode(Self.nonce))
    func sealed(_ data: String, _ channels: String...) throws -> String {
      try TriggerRequest(name: "e", channels: channels, data: data)
        .encrypted(with: masterKey, nonce: nonce).data
    }
    #expect(try sealed(#"{"hello":"world"}"#, "private-encrypted-demo") == Self.box)
    #expect(try sealed("1", "private-demo") == "1")
    #expect(throws: TriggerError.encryptedAmongOthers) {
      try sealed("1", "private-encrypted-a", "b")
    }
  }
}
