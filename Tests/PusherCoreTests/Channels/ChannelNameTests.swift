import PusherCore
import Testing

@Suite struct ChannelNameTests {
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

  @Test func `a hash is legal at the front only`() {
    #expect(ChannelName.problem(in: "#server-to-user-1") == nil)
    #expect(ChannelName.problem(in: "a#b") != nil)
    #expect(ChannelName.problem(in: "##a") != nil)
  }

  @Test func `a name has 1 to 200 bytes`() {
    #expect(ChannelName.problem(in: "") == "a channel name cannot be empty")
    #expect(ChannelName.problem(in: String(repeating: "a", count: 164)) == nil)
    #expect(ChannelName.problem(in: String(repeating: "a", count: 200)) == nil)
    #expect(
      ChannelName.problem(in: String(repeating: "a", count: 201))
        == "a channel name has at most 200 characters; this one has 201")
  }

  @Test func `the problem names the character, also one that does not show`() {
    let rest = " is not allowed in a channel name (use A-Z a-z 0-9 _ - = @ , . ;)"
    #expect(ChannelName.problem(in: "a/b") == "'/'" + rest)
    #expect(ChannelName.problem(in: "a b") == "byte 0x20" + rest)
    #expect(ChannelName.problem(in: "a\n") == "byte 0x0a" + rest)
    #expect(ChannelName.problem(in: "é") == "byte 0xc3" + rest)
  }
}

@Suite struct ServiceTests {
  @Test func `a cluster names its hosts`() {
    #expect(PusherService.pusher.host(cluster: "eu") == "ws-eu.pusher.com")
    #expect(PusherService.pusher.apiHost(cluster: "ap1") == "api-ap1.pusher.com")
  }

  @Test func `what both prefixes begin with marks a service's own events`() {
    #expect(PusherService.pusher.commonPrefix == "pusher")
    var other = PusherService.pusher
    other.internalPrefix = "x:"
    #expect(other.commonPrefix == "")
  }

  @Test func `the socket's target carries protocol, client and version`() {
    #expect(
      PusherService.pusher.socketURL(
        isSecure: true, host: "h", port: nil, prefix: "/p", key: "k", clientName: "n",
        version: "1.0"
      ).target == "/p/app/k?protocol=7&client=n&version=1.0")
  }
}

@Suite struct ClientCommandTests {
  private let command = ClientCommand(service: .pusher)

  @Test func `a subscription carries the channel, and what was signed byte for byte`() {
    #expect(
      command.subscribe(channel: "c", auth: nil)
        == #"{"event":"pusher:subscribe","data":{"channel":"c"}}"#)
    #expect(
      command.subscribe(channel: "private-c", auth: Authorization(PusherAuth(auth: "KEY:HEX")))
        == #"{"event":"pusher:subscribe","data":{"channel":"private-c","auth":"KEY:HEX"}}"#)
    let data = "{ \"user_id\" : 7,\n\"n\":\"é\\u00e9/\" }"
    #expect(
      command.subscribe(
        channel: "presence-c",
        auth: Authorization(
          PusherAuth(auth: "KEY:HEX", channelData: data, sharedSecret: "never sent")))
        == #"{"event":"pusher:subscribe","data":{"channel":"presence-c","auth":"KEY:HEX","channel_data":"{ \"user_id\" : 7,\n\"n\":\"é\\u00e9/\" }"}}"#
    )
  }

  @Test func `the other commands are exactly these bytes`() {
    #expect(
      command.unsubscribe(channel: "a\"b")
        == #"{"event":"pusher:unsubscribe","data":{"channel":"a\"b"}}"#)
    #expect(command.ping == #"{"event":"pusher:ping","data":{}}"#)
    #expect(command.pong == #"{"event":"pusher:pong","data":{}}"#)
  }

  @Test func `another service's prefix is used`() {
    var service = PusherService.pusher
    service.eventPrefix = "eventflit:"
    #expect(ClientCommand(service: service).ping == #"{"event":"eventflit:ping","data":{}}"#)
  }
}
