import PusherCore
import PusherServer
import Testing

@Suite("Protocol page, channels")
struct SubscriptionTests {
  private func error(_ client: HubClient) throws -> (
    code: JSONValue?, message: String, channel: String?
  ) {
    let message = try JSONParser.parse(try #require(client.texts().last))
    #expect(message["event"]?.text == "pusher:error")
    return (
      message["data"]?["code"], message["data"]?["message"]?.text ?? "", message["channel"]?.text
    )
  }

  @Test func `a public channel needs no signature, and an empty one is passed over`() {
    let client = HubClient(.forTests(), "1.1")
    _ = client.texts()
    client.subscribe("news")
    client.send(#"{"event":"pusher:subscribe","data":"{\"channel\":\"other\"}"}"#)
    #expect(
      client.texts() == [
        #"{"event":"pusher_internal:subscription_succeeded","channel":"news","data":"{}"}"#,
        #"{"event":"pusher_internal:subscription_succeeded","channel":"other","data":"{}"}"#,
      ])
    #expect(client.hub.occupiedChannels == ["news", "other"])
  }

  @Test func `the documented signature of a private channel is accepted`() {
    let answers = HubClient(.forTests(), "1234.1234").answers(
      to: #"{"event":"pusher:subscribe","data":{"channel":"private-foobar","auth":"#
        + #""278d425bdf160c739803:58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4"}}"#
    )
    #expect(
      answers == [
        #"{"event":"pusher_internal:subscription_succeeded","channel":"private-foobar","data":"{}"}"#
      ])
  }

  @Test func `a wrong signature names what had to be signed and the channel`() throws {
    let client = HubClient(.forTests(), "1234.1234")
    _ = client.texts()
    client.send(
      #"{"event":"pusher:subscribe","data":{"channel":"private-foobar","#
        + #""auth":"278d425bdf160c739803:58df"}}"#)
    let refusal = try error(client)
    #expect(refusal.code == .null)
    #expect(
      refusal.message
        == "Invalid signature: Expected HMAC SHA256 hex digest of 1234.1234:private-foobar, "
        + "but got 58df")
    #expect(refusal.channel == "private-foobar")
    #expect(client.hub.occupiedChannels == [])
  }

  @Test(arguments: ["", "other:58df", "278d425bdf160c739803"])
  func `a signature with another key or none is refused`(auth: String) throws {
    let client = HubClient(.forTests(), "1.1")
    client.send(
      #"{"event":"pusher:subscribe","data":{"channel":"private-x","auth":"\#(auth)"}}"#)
    #expect(try error(client).message.hasPrefix("Invalid key in subscription auth data: "))
  }

  @Test(arguments: ["", "a b", "#server-to-user-1", "ä", String(repeating: "c", count: 201)])
  func `a name that cannot be a channel's is refused`(name: String) throws {
    let client = HubClient(.forTests(), "1.1")
    client.subscribe(name)
    #expect(try error(client).channel == name)
    #expect(client.hub.occupiedChannels == [])
  }

  @Test func `a second subscription and an unsubscription without one are errors`() throws {
    let client = HubClient(.forTests(), "1.1")
    client.subscribe("news")
    client.subscribe("news")
    #expect(try error(client).message == "Existing subscription to channel news")
    client.send(#"{"event":"pusher:unsubscribe","data":{"channel":"other"}}"#)
    #expect(
      try error(client).message
        == "No current subscription to channel other, or subscription in progress")
    client.send(#"{"event":"pusher:unsubscribe","data":{"channel":"news"}}"#)
    #expect(client.texts() == [])
    #expect(client.hub.occupiedChannels == [])
    client.subscribe("news")
    #expect(client.texts().count == 1)
  }

  @Test func `a connection has a limited number of subscriptions`() throws {
    let client = HubClient(.forTests { $0.subscriptions = 2 }, "1.1")
    for name in ["a", "b", "c"] { client.subscribe(name) }
    #expect(try error(client).message == "a connection has at most 2 subscriptions")
    #expect(client.hub.occupiedChannels == ["a", "b"])
  }

  @Test func `an event goes to the channel's subscribers, once each, without the excluded socket`()
  {
    let hub = Hub.forTests()
    let clients = ["1.1", "1.2", "1.3"].map { HubClient(hub, $0) }
    clients[0].subscribe("news")
    clients[1].subscribe("news")
    for client in clients { _ = client.texts() }
    let data = #"{"a":"ä/\u0041"}"#
    #expect(hub.publish(name: "my-event", channel: "news", data: .string(data)) == 2)
    let expected =
      #"{"event":"my-event","channel":"news","data":"{\"a\":\"ä/\\u0041\"}"}"#
    #expect(clients.map { $0.texts() } == [[expected], [expected], []])
    #expect(hub.publish(name: "e", channel: "news", data: "", except: "1.1") == 1)
    #expect(clients.map { $0.texts().count } == [0, 1, 0])
    #expect(hub.publish(name: "e", channel: "empty", data: "") == 0)
  }

  @Test func `what happened is told without secrets`() {
    let client = HubClient(.forTests(), "1.1")
    client.authorize("private-a")
    client.subscribe("private-b")
    client.lose(reason: "reset")
    let log = client.hub.takeLog()
    #expect(
      log == [
        .connected(socketID: "1.1"),
        .subscribed(socketID: "1.1", channel: "private-a", userID: nil),
        .subscriptionRefused(
          socketID: "1.1", channel: "private-b",
          reason: "Invalid key in subscription auth data: ''"),
        .disconnected(socketID: "1.1", code: nil, reason: "reset"),
      ])
    #expect(!log.description.contains("7ad3773142a6692b25b8"))
    #expect(!"\(client.hub.application)".contains("7ad3773142a6692b25b8"))
  }

  @Test func `foreign text in a log line cannot drive a terminal`() {
    let event = ServerLogEvent.event(
      name: "e\u{1B}[2J", channel: "c", data: "a\nb\u{9B}c", recipients: 1)
    #expect(event.description == "event e?[2J on c to 1: a?b?c")
  }
}
