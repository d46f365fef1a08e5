import Foundation
import PusherCore
import Testing

@Suite("Encrypted channels", .runsPrograms) struct EncryptedChannelTests {
  private static let channel = "private-encrypted-orders"
  private static let key = Base64.encode([UInt8](repeating: 7, count: 32))
  private static let otherKey = Base64.encode([UInt8](repeating: 8, count: 32))

  private static func keyFile(_ key: String) throws -> String {
    try TemporaryFolder.shared.file("master-key", holding: key + "\n")
  }

  @Test func `what trigger encrypts, subscribe prints, and the server sees neither`() throws {
    let server = try LocalServer(options: ["-v"])
    let file = try Self.keyFile(Self.key)
    let program = try server.subscribe(
      [Self.channel], "-L", "-n", "2", "--encryption-key-file", file)
    try server.trigger(
      Self.channel, "order", #"{"total": 1.10, "secret": "zyx"}"#, "--encryption-key-file", file
    ).expect()
    try server.trigger(Self.channel, "note", "plain words", "--encryption-key-file", file).expect()
    #expect(
      try program.lines(2) == [
        #"{"event":"order","channel":"private-encrypted-orders","data":{"total":1.10,"secret":"zyx"}}"#,
        #"{"event":"note","channel":"private-encrypted-orders","data":"plain words"}"#,
      ])
    try program.result().expect()
    let log = try server.stop().errorText
    #expect(log.contains("ciphertext") && !log.contains("zyx"))
  }

  @Test func `an event that the key does not open is told, and is a line with -L`() throws {
    let server = try LocalServer()
    let program = try server.subscribe(
      [Self.channel], "-L", "-n", "1", "--encryption-key-file", try Self.keyFile(Self.otherKey))
    let file = try Self.keyFile(Self.key)
    _ = try server.trigger(Self.channel, "order", "{}", "--encryption-key-file", file)
    let line = try JSONParser.parse(try program.lines(1)[0])
    #expect(line["event"] == .string("pusher-cli:decryption_failed"))
    #expect(line["channel"] == .string(Self.channel))
    #expect(line["data"]?["event"] == .string("order"))
    #expect(line["data"]?["reason"] == .string("the key does not match; a new key did not help"))
    #expect(line["data"]?["data"]?.text?.contains("ciphertext") == true)
    let error = try program.errorLine(containing: "order")
    #expect(error.contains("cannot decrypt order on private-encrypted-orders: "))
  }

  @Test func `an endpoint's shared secret is the key, and is asked for again`() throws {
    let old = try EncryptionMasterKey(base64: Self.otherKey).sharedSecret(channel: Self.channel)
    let new = try EncryptionMasterKey(base64: Self.key).sharedSecret(channel: Self.channel)
    let secrets = Record<String>()
    let server = try LocalServer(secret: "s")
    let signature = SubscriptionSignature(key: LocalServer.key, secret: "s")
    let endpoint = try ScriptedServer { connection in
      let question = try connection.question()
      let secret = secrets.values.isEmpty ? old : new
      secrets.add(secret)
      let auth = signature.authorize(
        socketID: question.form["socket_id"] ?? "", channel: question.form["channel_name"] ?? "")
      try connection.answer(200, body: #"{"auth":"\#(auth.auth)","shared_secret":"\#(secret)"}"#)
    }
    let program = try server.subscribe(
      [Self.channel], "-L", "-n", "1", "--auth-endpoint", "http://127.0.0.1:\(endpoint.port)/auth")
    _ = try server.trigger(
      Self.channel, "order", "[1]", "--encryption-key-file", try Self.keyFile(Self.key))
    #expect(
      try program.lines(1)
        == [#"{"event":"order","channel":"private-encrypted-orders","data":[1]}"#])
    #expect(secrets.values == [old, new])
  }

  @Test func `auth answers with the channel's key, and lines are encrypted one by one`() throws {
    let server = try LocalServer()
    let file = try Self.keyFile(Self.key)
    let environment = ["PUSHER_APP_KEY": "k", "PUSHER_APP_SECRET": "s"]
    let answer = try PusherCLI.run(
      "auth", Self.channel, "--socket-id", "1.2", "--encryption-key-file", file,
      environment: environment)
    let secret = try EncryptionMasterKey(base64: Self.key).sharedSecret(channel: Self.channel)
    #expect(try JSONParser.parse(answer.outputText)["shared_secret"] == .string(secret))

    let program = try server.subscribe(
      [Self.channel, "news"], "-L", "-n", "2", "--encryption-key-file", file)
    let lines = [Self.channel, "news"].map {
      #"{"event":"e","channel":"\#($0)","data":{"n":1.10}}"# + "\n"
    }.joined()
    try server.replay(lines, "--encryption-key-file", file).expect()
    #expect(
      try program.lines(2)
        == [Self.channel, "news"].map { #"{"event":"e","channel":"\#($0)","data":{"n":1.10}}"# })
    try server.replay(lines).expect(5, telling: "line 1: \(Self.channel) is encrypted: give")
  }
}
