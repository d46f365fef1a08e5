import PusherCore
import PusherServer
import TestSupport
import Testing

/// Answers of real Reverb and soketi servers that differed from this server; see docs/peers.md.
@Suite struct `Details in which Reverb and soketi differ` {
  private static func client(_ dialect: Dialect, of hub: Hub? = nil) -> HubClient {
    let hub = hub ?? Hub(application: .forTests(), limits: dialect.limits, dialect: dialect)
    let client = HubClient(hub, hub.connectionCount == 0 ? "1.1" : "1.2", dialect: dialect)
    _ = client.received()
    return client
  }

  // MARK: Messages

  @Test func `Reverb answers a binary message that is no JSON with 4200, and keeps the connection`()
  {
    let client = Self.client(.reverb)
    client.wire.send(binary: [0xFF, 0x00, 0xC3])
    client.deliverInput()
    #expect(
      client.texts() == [
        #"{"event":"pusher:error","data":"{\"code\":4200,\"message\":\"Invalid message format\"}"}"#
      ])
    #expect(client.answers(to: #"{"event":"pusher:ping"}"#) == [#"{"event":"pusher:pong"}"#])
  }

  @Test func `soketi ignores a binary message that is no JSON`() {
    let client = Self.client(.soketi)
    client.wire.send(binary: [0xFF, 0x00, 0xC3])
    client.deliverInput()
    #expect(client.received().isEmpty)
    #expect(
      client.answers(to: #"{"event":"pusher:ping"}"#) == [#"{"event":"pusher:pong","data":{}}"#])
  }

  @Test(arguments: [Dialect.reverb, .soketi])
  func `both read a binary message that is JSON like a text`(dialect: Dialect) {
    let client = Self.client(dialect)
    client.wire.send(binary: Array(#"{"event":"pusher:ping"}"#.utf8))
    client.deliverInput()
    #expect(client.texts().first?.contains("pusher:pong") == true)
  }

  @Test func `Pusher ends a connection at a binary message`() {
    let client = Self.client(.pusher)
    client.wire.send(binary: Array(#"{"event":"pusher:ping"}"#.utf8))
    client.deliverInput()
    #expect(client.received() == [.closed(1003, "binary messages are not supported")])
  }

  // MARK: Presence

  @Test func `Reverb calls channel_data that is no JSON an invalid message, 4200`() {
    let client = Self.client(.reverb)
    client.authorize("presence-a", channelData: "{nonsense")
    #expect(
      client.texts() == [
        #"{"event":"pusher:error","data":"{\"code\":4200,\"message\":\"Invalid message format\"}"}"#
      ])
    #expect(client.hub.userIDs("presence-a").isEmpty)
    client.authorize("presence-a", channelData: #"{"user_id":1}"#)
    #expect(client.hub.userIDs("presence-a") == ["1"])
  }

  @Test(arguments: [
    (Dialect.pusher, #"{\"1\":null,\"2\":{\"n\":1}}"#),
    (.reverb, #"{\"1\":null,\"2\":{\"n\":1}}"#), (.soketi, #"{\"2\":{\"n\":1}}"#),
  ])
  func `soketi leaves members without information out of the hash`(dialect: Dialect, hash: String) {
    let first = Self.client(dialect)
    first.authorize("presence-a", channelData: #"{"user_id":"1"}"#)
    let second = Self.client(dialect, of: first.hub)
    second.authorize("presence-a", channelData: #"{"user_id":"2","user_info":{"n":1}}"#)
    let answer = second.texts().last ?? ""
    #expect(answer.contains(#"\"ids\":[\"1\",\"2\"],\"hash\":\#(hash),\"count\":2}"#), "\(answer)")
  }

  // MARK: The HTTP API

  private static func call(_ applications: Applications, _ path: String, info: String = "")
    -> String
  {
    let signed = APIRequest(
      method: "GET", path: path, parameters: info.isEmpty ? [] : [.init("info", info)]
    ).signed(key: "278d425bdf160c739803", secret: "7ad3773142a6692b25b8", timestamp: 1)
    let head = HTTPRequestHead(method: "GET", target: signed.target, headers: signed.headers)
    return APIRouter(applications).answer(
      HTTPRequestReader.Request(head: head), seconds: 1, at: Instant(nanoseconds: 0)
    ).body
  }

  private static func applications(_ dialect: Dialect) -> Applications {
    Applications(
      [.forTests()], limits: dialect.limits, dialect: dialect, random: SeededGenerator(seed: 1))
  }

  @Test(arguments: [
    (Dialect.pusher, #"{"data":"{\"k\":1}","ttl":1800}"#),
    (.reverb, #"{"event":"e","data":"{\"k\":1}","channel":"cache-a"}"#),
  ])
  func `info=cache is the whole message with Reverb`(dialect: Dialect, cache: String) {
    let applications = Self.applications(dialect)
    HubClient(applications.hubs[0], "1.1", dialect: dialect).subscribe("cache-a")
    applications.hubs[0].publish(name: "e", channel: "cache-a", data: #"{"k":1}"#)
    #expect(
      Self.call(applications, "/apps/3/channels/cache-a", info: "cache")
        == #"{"occupied":true,"cache":\#(cache)}"#)
    #expect(
      Self.call(applications, "/apps/3/channels", info: "cache")
        == #"{"channels":{"cache-a":{"cache":\#(cache)}}}"#)
  }

  @Test func `soketi counts users of one channel, and not of those in a list`() {
    let applications = Self.applications(.soketi)
    HubClient(applications.hubs[0], "1.1", dialect: .soketi)
      .authorize("presence-a", channelData: #"{"user_id":"1"}"#)
    #expect(
      Self.call(applications, "/apps/3/channels")
        == #"{"channels":{"presence-a":{"subscription_count":1,"occupied":true}}}"#)
    #expect(
      Self.call(applications, "/apps/3/channels/presence-a")
        == #"{"subscription_count":1,"occupied":true,"user_count":1}"#)
  }

  // MARK: Refused connections

  @Test(arguments: ["/app/nobody?protocol=7", "/nowhere"])
  func `soketi gives no reason in the close frame of a refused connection`(target: String) throws {
    for (dialect, isSilent) in [(Dialect.pusher, false), (.soketi, true)] {
      let test = try ServerHarness { $0.dialect = dialect }
      let socket = try test.socket(target)
      #expect(test.run { socket.hasEnded })
      guard case .closed(let code, let reason)? = socket.received.last else {
        Issue.record("\(socket.received)")
        return
      }
      #expect(code.map { 4000..<5000 ~= Int($0) } == true)
      #expect(reason.isEmpty == isSilent, "\(dialect): \(reason)")
    }
  }
}
