import PusherConsole
import PusherCore
import PusherServer
import Testing

/// docs/console.md, "Signatures"; the vectors are those of Pusher's page "Authentication
/// signatures".
struct `The console: signatures, made and looked at` {
  private let console: ConsoleHarness
  private static let auth =
    "278d425bdf160c739803:58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4"

  init() throws { console = try ConsoleHarness() }

  // MARK: Signing

  @Test func `an authorisation comes with the text under the signature`() throws {
    let answer = try console.post(
      "sign", ["app": "3", "socket_id": "1234.1234", "channel": "private-foobar"])
    #expect(
      answer.json == ["string_to_sign": "1234.1234:private-foobar", "auth": .string(Self.auth)])
    let user = try console.post(
      "sign", ["app": "3", "socket_id": "1234.1234", "user_data": #"{"id":"12345"}"#])
    #expect(user.json?["string_to_sign"] == #"1234.1234::user::{"id":"12345"}"#)
    #expect(try console.post("sign", ["app": "3", "socket_id": "x", "channel": "a"]).status == 400)
  }

  // MARK: Checking

  private func findings(
    channel: String = "private-foobar", socketID: String = "1234.1234", auth: String = auth,
    data: String? = nil, key: String = ConsoleHarness.key, at other: ConsoleHarness? = nil
  ) throws -> [String] {
    var order: [JSONValue.Member] = [
      .init("key", .string(key)), .init("socket_id", .string(socketID)),
      .init("channel", .string(channel)), .init("auth", .string(auth)),
    ]
    if let data { order.append(.init("channel_data", .string(data))) }
    let answer = try (other ?? console).post("check", .object(order)).json
    let findings = answer?["findings"]?.elements?.compactMap(\.text) ?? []
    #expect(answer?["valid"] == .bool(findings.isEmpty))
    return findings
  }

  @Test func `a right one has no findings, with the key before it or not`() throws {
    #expect(try findings().isEmpty)
    #expect(try findings(auth: String(Self.auth.dropFirst(21))).isEmpty)
    #expect(try findings(auth: " \(Self.auth)\n").isEmpty, "pasted with blanks")
  }

  @Test func `the usual mistakes in a signature are named`() throws {
    let member = #"{"user_id":"1"}"#
    for (findings, part) in [
      (try findings(channel: "private-other"), "the signature does not match"),
      (try findings(channel: "presence-foobar", data: member), "the signature does not match"),
      (try findings(channel: "foobar"), "public channel"),
      (try findings(channel: "foobar"), "is for channel 'private-foobar'"),
      (try findings(auth: "abc:def"), "64 hexadecimal digits"),
      (try findings(socketID: "1234"), "two numbers joined by a dot"),
      (try findings(key: "other"), "no app of this server"),
      (try findings(auth: "wrong" + Self.auth), "begins with the key 'wrong278"),
      (try findings(auth: Self.auth.uppercased()), "lower case"),
    ] { #expect(findings.contains { $0.contains(part) }, "\(part): \(findings)") }
  }

  @Test func `channel_data that was left out, changed or misses its user is named`() throws {
    func auth(_ data: String?) -> String {
      SubscriptionSignature(key: ConsoleHarness.key, secret: "7ad3773142a6692b25b8").authorize(
        socketID: "1234.1234", channel: "presence-a", channelData: data
      ).auth
    }
    let data = #"{"user_id":"1","user_info":{"a":1}}"#
    let spaced = #"{"user_id": "1", "user_info": {"a": 1}}"#
    let changed = try findings(channel: "presence-a", auth: auth(data), data: spaced)
    #expect(changed.count == 1 && changed[0].contains("changed after it was signed"))
    for (signed, given, expected) in [
      (data, data, []),
      (nil, data, ["the signature leaves out channel_data; sign 'SOCKET_ID:CHANNEL:CHANNEL_DATA'"]),
      (nil, nil, ["a presence channel needs channel_data with a user_id"]),
      ("{}", "{}", ["channel_data has no user_id"]),
      ("x", "x", ["channel_data is not a JSON object"]),
    ] as [(String?, String?, [String])] {
      #expect(try findings(channel: "presence-a", auth: auth(signed), data: given) == expected)
    }
  }

  @Test func `the secret of another app is recognised`() throws {
    let console = try ConsoleHarness {
      $0.applications.append(Application(id: "4", key: "other", secret: "s2"))
    }
    let auth = SubscriptionSignature(key: ConsoleHarness.key, secret: "s2")
      .authorize(socketID: "1.2", channel: "private-a", channelData: nil).auth
    #expect(
      try findings(channel: "private-a", socketID: "1.2", auth: auth, at: console)
        == ["the signature was made with the secret of app '4'"])
  }
}
