import PusherCore
import PusherServer
import Testing

@Suite("Events page, client events")
struct ClientEventTests {
  private func pair(_ hub: Hub, _ channel: String) -> [HubClient] {
    let clients = ["1.1", "1.2"].map { HubClient(hub, $0) }
    for (index, client) in clients.enumerated() {
      let isPresence = channel.hasPrefix("presence-")
      client.authorize(channel, channelData: isPresence ? #"{"user_id":"\#(index)"}"# : nil)
    }
    for client in clients { _ = client.texts() }
    return clients
  }

  private func refusal(_ client: HubClient) throws -> (code: Int?, message: String?) {
    let message = try JSONParser.parse(try #require(client.texts().last))
    #expect(message["event"]?.text == "pusher:error")
    return (message["data"]?["code"]?.integer, message["data"]?["message"]?.text)
  }

  @Test func `a client event goes to the others as it was sent, and not back`() {
    let clients = pair(.forTests(), "private-room")
    clients[0].send(
      #"{"event":"client-typing","channel":"private-room","data":{"n":1.10,"s":"ä"}}"#)
    clients[0].send(#"{"event":"client-typing","channel":"private-room","data":"{\"n\":1}"}"#)
    clients[0].send(#"{"event":"client-typing","channel":"private-room"}"#)
    #expect(clients[0].texts() == [])
    #expect(
      clients[1].texts() == [
        #"{"event":"client-typing","channel":"private-room","data":{"n":1.10,"s":"ä"}}"#,
        #"{"event":"client-typing","channel":"private-room","data":"{\"n\":1}"}"#,
        #"{"event":"client-typing","channel":"private-room"}"#,
      ])
  }

  @Test func `on presence channels it says who sent it, whatever the sender claims`() {
    let clients = pair(.forTests(), "presence-room")
    clients[1].send(
      #"{"event":"client-x","channel":"presence-room","data":{},"user_id":"somebody"}"#)
    #expect(
      clients[0].texts() == [
        #"{"event":"client-x","channel":"presence-room","data":{},"user_id":"1"}"#
      ])
  }

  @Test func `only subscribers of private and presence channels may send them`() throws {
    let hub = Hub.forTests()
    let client = HubClient(hub, "1.1")
    client.subscribe("news")
    client.authorize("private-encrypted-a")
    for channel in ["news", "private-encrypted-a"] {
      client.send(#"{"event":"client-x","channel":"\#(channel)","data":{}}"#)
      #expect(
        try refusal(client).message
          == "Client event rejected - only supported on private and presence channels")
    }
    client.send(#"{"event":"client-x","channel":"private-room","data":{}}"#)
    #expect(
      try refusal(client).message
        == "Client event rejected - this connection is not subscribed to private-room")
  }

  @Test func `an app can switch them off`() throws {
    let clients = pair(.forTests(allowsClientEvents: false), "private-room")
    clients[0].send(#"{"event":"client-x","channel":"private-room","data":{}}"#)
    #expect(
      try refusal(clients[0]).message
        == "Client event rejected - client events are switched off for this app")
    #expect(clients[1].texts() == [])
  }

  @Test func `ten pass in a second and the eleventh is refused with 4301`() throws {
    let clients = pair(.forTests(), "private-room")
    let event = #"{"event":"client-x","channel":"private-room","data":{}}"#
    for _ in 0..<11 { clients[0].send(event) }
    #expect(clients[1].texts().count == 10)
    #expect(try refusal(clients[0]).code == 4301)
    clients[0].now = clients[0].now.advanced(by: .milliseconds(999))
    clients[0].send(event)
    #expect(try refusal(clients[0]).code == 4301)
    clients[0].now = clients[0].now.advanced(by: .milliseconds(1))
    clients[0].send(event)
    #expect(clients[1].texts().count == 1)
    // Each connection has its own limit.
    clients[1].send(event)
    #expect(clients[0].texts().count == 1)
  }

  @Test(arguments: [10_240, 10_241])
  func `its data is limited like that of other events`(length: Int) throws {
    let clients = pair(.forTests(), "private-room")
    let data = String(repeating: "x", count: length)
    clients[0].send(#"{"event":"client-x","channel":"private-room","data":"\#(data)"}"#)
    #expect(clients[1].texts().count == (length == 10_240 ? 1 : 0))
    guard length > 10_240 else { return }
    #expect(
      try refusal(clients[0]).message
        == "Client event rejected - the data has 10241 bytes; the maximum is 10240")
  }
}
