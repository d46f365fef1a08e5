import PusherCore
import Testing

struct ChannelNameTests {
  @Test(arguments: [
    ("my-channel", ChannelKind.public), ("private", .public), ("privateX", .public), ("", .public),
    ("private-", .private), ("private-orders", .private), ("private-encrypted", .private),
    ("private-encrypted-", .encrypted), ("private-encrypted-x", .encrypted),
    ("private-encrypted-cache-x", .encrypted), ("private-cache-x", .private), ("cache-x", .public),
    ("presence-", .presence), ("presence-lobby", .presence), ("presence-cache-x", .presence),
    ("presence", .public), ("Private-x", .public), ("#server-to-user-1", .public),
  ])
  func `the prefix says what a channel is`(name: String, kind: ChannelKind) {
    #expect(ChannelKind(channelName: name) == kind)
    #expect(ChannelKind(channelName: name).needsAuthorization == (kind != .public))
  }

  @Test func `exactly the documented characters are legal`() {
    let legal = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-=@,.;".utf8)
    for byte in UInt8(0)..<0x80 {
      let name = "a" + String(Character(Unicode.Scalar(byte)))
      #expect((ChannelName.problem(in: name) == nil) == legal.contains(byte), "byte \(byte)")
    }
    #expect(ChannelName.problem(in: "aé") != nil)
    #expect(ChannelName.problem(in: "a😀") != nil)
  }

  private static let illegal = " is not allowed in a channel name (use A-Z a-z 0-9 _ - = @ , . ;)"

  @Test(
    arguments: [
      ("", "a channel name cannot be empty"),
      (String(repeating: "a", count: 164), nil), (String(repeating: "a", count: 200), nil),
      (
        String(repeating: "a", count: 201),
        "a channel name has at most 200 characters; this one has 201"
      ),
      ("#server-to-user-1", nil), ("a#b", "'#'" + illegal), ("##a", "'#'" + illegal),
      ("a/b", "'/'" + illegal), ("a b", "byte 0x20" + illegal), ("a\n", "byte 0x0a" + illegal),
      ("é", "byte 0xc3" + illegal),
    ] as [(String, String?)])
  func `a name has 1 to 200 bytes, a hash only in front, and a problem names the character`(
    name: String, problem: String?
  ) {
    #expect(ChannelName.problem(in: name) == problem)
  }
}

struct ClientCommandTests {
  private static let command = ClientCommand(service: .pusher)

  private static func subscribe(_ channel: String, _ auth: PusherAuth?) -> String {
    command.subscribe(channel: channel, auth: auth.map(Authorization.init))
  }

  @Test(arguments: [
    (subscribe("c", nil), #"{"event":"pusher:subscribe","data":{"channel":"c"}}"#),
    (
      subscribe("private-c", PusherAuth(auth: "KEY:HEX")),
      #"{"event":"pusher:subscribe","data":{"channel":"private-c","auth":"KEY:HEX"}}"#
    ),
    (
      subscribe(
        "presence-c",
        PusherAuth(
          auth: "KEY:HEX", channelData: "{ \"user_id\" : 7,\n\"n\":\"é\\u00e9/\" }",
          sharedSecret: "never sent")),
      #"{"event":"pusher:subscribe","data":{"channel":"presence-c","auth":"KEY:HEX","channel_data":"{ \"user_id\" : 7,\n\"n\":\"é\\u00e9/\" }"}}"#
    ),
    (
      command.unsubscribe(channel: "a\"b"),
      #"{"event":"pusher:unsubscribe","data":{"channel":"a\"b"}}"#
    ),
    (command.ping, #"{"event":"pusher:ping","data":{}}"#),
    (command.pong, #"{"event":"pusher:pong","data":{}}"#),
  ])
  func `each command is exactly these bytes, as signed`(command: String, bytes: String) {
    #expect(command == bytes)
  }
}
