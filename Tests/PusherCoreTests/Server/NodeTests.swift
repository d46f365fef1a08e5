import PusherCore
import TestSupport
import Testing

@testable import PusherServer

@Suite("Servers that meet in Redis are one server")
struct NodeTests {
  private let nodes = NodeHarness(3) { app in
    app.sendsSubscriptionCounts = true
    app.limits.presenceMembers = 3
    app.limits.eventsPerSecond = 4
  }

  private func event(_ name: String, _ channel: String, data: String = "{}") -> String {
    #"{"name":"\#(name)","channels":["\#(channel)"],"data":"\#(data)"}"#
  }

  // MARK: Events

  @Test func `an event of any node reaches the subscribers of all, but not the excluded socket`() {
    let clients = (0..<3).map { nodes.client(on: $0, "news") }
    _ = clients.map { $0.texts() }
    #expect(nodes.call(1, "POST", "/apps/3/events", event("e", "news")).status == 200)
    let excluding = #"{"name":"f","channel":"news","data":"{}","socket_id":"1.1"}"#
    #expect(nodes.call(2, "POST", "/apps/3/events", excluding).status == 200)
    let e = #"{"event":"e","channel":"news","data":"{}"}"#
    let f = #"{"event":"f","channel":"news","data":"{}"}"#
    #expect(clients.map { $0.texts() } == [[e], [e, f], [e, f]])
  }

  @Test func `events of several nodes come in one order everywhere`() {
    let clients = (0..<3).map { nodes.client(on: $0, "news") }
    _ = clients.map { $0.texts() }
    for number in 0..<30 {
      nodes.hub(number % 3).publish(name: "e\(number)", channel: "news", data: "{}")
      nodes.advance(nodes.servers[number % 3])
    }
    nodes.settle()
    let expected = (0..<30).map { #"{"event":"e\#($0)","channel":"news","data":"{}"}"# }
    for client in clients { #expect(client.texts() == expected) }
  }

  @Test func `a new subscriber gets what is sent after its subscription, not what waits`() {
    let first = nodes.client(on: 1, "news")
    nodes.hub(0).publish(name: "before", channel: "news", data: "{}")
    let late = HubClient(nodes.hub(1), "9.9")
    late.subscribe("news")
    nodes.settle()
    nodes.hub(0).publish(name: "after", channel: "news", data: "{}")
    nodes.settle()
    #expect(first.texts().filter { $0.contains(#""event":"before""#) }.count == 1)
    let texts = late.texts()
    #expect(!texts.contains { $0.contains("before") })
    #expect(texts.filter { $0.contains(#""event":"after""#) }.count == 1)
  }

  @Test func `an address answers for the channels that it asks for, until a join fails`() {
    let nodes = NodeHarness(2) {
      ($0.limits.channelsPerAddress, $0.limits.presenceMembers) = (2, 1)
    }
    let member = nodes.client(on: 1)
    member.authorize("presence-p", channelData: #"{"user_id":"1"}"#)
    nodes.settle()
    let address = ClientAddress(SocketAddress(family: .ipv4, octets: [192, 0, 2, 1], port: 1))
    let client = HubClient(nodes.hub(0), "9.9", from: address)
    func isRefused(_ channel: String) -> Bool {
      client.answers(to: #"{"event":"pusher:subscribe","data":{"channel":"\#(channel)"}}"#)
        .contains { $0.contains("your address") }
    }
    #expect(!isRefused("a") && !isRefused("b") && isRefused("c"))
    client.unsubscribe("b")
    nodes.settle()
    #expect(!isRefused("c") && isRefused("d"))
    client.unsubscribe("c")
    nodes.settle()
    // The other node has the only place.
    client.authorize("presence-p", channelData: #"{"user_id":"2"}"#)
    #expect(isRefused("d"))
    nodes.settle()
    #expect(!isRefused("d"))
    nodes.settle()
    #expect(nodes.hub(0).shares.count(of: address) == 2)
  }

  @Test func `a client's event goes to the others on all nodes`() {
    let clients = (0..<3).map { node in
      let client = nodes.client(on: node)
      client.authorize("presence-p", channelData: #"{"user_id":"u\#(node)"}"#)
      return client
    }
    nodes.settle()
    _ = clients.map { $0.texts() }
    clients[1].send(#"{"event":"client-a","channel":"presence-p","data":{"x":1}}"#)
    nodes.settle()
    let expected = #"{"event":"client-a","channel":"presence-p","data":{"x":1},"user_id":"u1"}"#
    #expect(clients.map { $0.texts() } == [[expected], [], [expected]])
  }

  @Test func `the last event of a cache channel is known on all nodes`() {
    nodes.hub(0).publish(name: "e", channel: "cache-a", data: "1")
    nodes.settle()
    let client = HubClient(nodes.hub(2), "9.9")
    client.subscribe("cache-a")
    nodes.settle()
    #expect(client.texts().contains(#"{"event":"e","channel":"cache-a","data":"1"}"#))
  }

  // MARK: Members and counts

  @Test func `members of all nodes are one list, and each is told once`() {
    let first = nodes.client(on: 0)
    first.authorize("presence-p", channelData: #"{"user_id":"a","user_info":{"n":1}}"#)
    let second = nodes.client(on: 1)
    nodes.settle()
    _ = (first.texts(), second.texts())
    second.authorize("presence-p", channelData: #"{"user_id":"b"}"#)
    nodes.settle()
    #expect(second.texts().count == 1)
    #expect(nodes.facts(1, of: "presence-p")?.members.members.map(\.userID) == ["a", "b"])
    #expect(first.texts().count == 1)
    let third = nodes.client(on: 2)
    third.authorize("presence-p", channelData: #"{"user_id":"a"}"#)
    nodes.settle()
    #expect(first.texts().isEmpty && second.texts().isEmpty, "the user was there already")
    first.lose()
    nodes.settle()
    #expect(second.texts().isEmpty, "the user has another connection")
    third.lose()
    nodes.settle()
    #expect(
      second.texts() == [
        #"{"event":"pusher_internal:member_removed","channel":"presence-p","data":"{\"user_id\":\"a\"}"}"#
      ])
  }

  @Test func `the limit of members counts those of all nodes`() {
    for number in 0..<3 {
      nodes.client(on: number).authorize("presence-p", channelData: #"{"user_id":"u\#(number)"}"#)
    }
    let last = nodes.client(on: 0)
    last.authorize("presence-p", channelData: #"{"user_id":"u9"}"#)
    nodes.settle()
    #expect(last.texts().first?.contains("at most 3 members") == true)
    last.authorize("presence-p", channelData: #"{"user_id":"u2"}"#)
    nodes.settle()
    #expect(last.texts().first?.contains("subscription_succeeded") == true)
    #expect(last.session.isOpen)
  }

  @Test func `subscription counts are those of all nodes`() {
    let first = nodes.client(on: 0, "news")
    let second = HubClient(nodes.hub(1), "9.9")
    second.subscribe("news")
    nodes.settle()
    let two =
      #"{"event":"pusher_internal:subscription_count","channel":"news","data":"{\"subscription_count\":2}"}"#
    #expect(first.texts() == [two])
    #expect(second.texts().last == two)
  }

  // MARK: Users

  @Test func `watchers on all nodes learn of a user's first and last connection`() {
    let watcher = nodes.client(on: 0)
    watcher.signIn(#"{"id":"w","watchlist":["a"]}"#)
    nodes.settle()
    _ = watcher.texts()
    let first = nodes.client(on: 1)
    first.signIn(#"{"id":"a"}"#)
    let second = nodes.client(on: 2)
    second.signIn(#"{"id":"a"}"#)
    nodes.settle()
    #expect(watcher.texts().count == 1)
    first.lose()
    nodes.settle()
    #expect(watcher.texts().isEmpty)
    second.lose()
    nodes.settle()
    #expect(watcher.texts().first?.contains("offline") == true)
  }

  @Test func `a user's connections on all nodes get its events, and are ended together`() {
    let clients = (0..<3).map { nodes.client(on: $0) }
    for client in clients.prefix(2) {
      client.signIn(#"{"id":"7"}"#)
      client.subscribe("#server-to-user-7")
      nodes.settle()
      _ = client.texts()
    }
    let body = #"{"name":"e","data":"{}"}"#
    #expect(nodes.call(2, "POST", "/apps/3/users/7/events", body).status == 200)
    #expect(clients.map { $0.texts().count } == [1, 1, 0])
    #expect(nodes.call(2, "POST", "/apps/3/users/7/terminate_connections", "{}").status == 200)
    #expect(clients.map(\.session.isOpen) == [false, false, true])
  }

  @Test func `a node that has lost Redis does not claim to have ended a user's connections`() {
    let client = nodes.client(on: 0)
    client.signIn(#"{"id":"7"}"#)
    nodes.settle()
    _ = nodes.servers[2].lose("connection lost")
    #expect(nodes.call(2, "POST", "/apps/3/users/7/terminate_connections", "{}").status == 503)
    #expect(client.session.isOpen)
  }

  // MARK: The HTTP API and webhooks

  @Test func `every node answers for all`() {
    let here = nodes.client(on: 0, "news")
    let there = nodes.client(on: 1, "news", "other")
    there.authorize("presence-p", channelData: #"{"user_id":"u"}"#)
    nodes.settle()
    _ = (here.texts(), there.texts())
    nodes.beat()
    for node in 0..<3 {
      #expect(
        nodes.call(node, "GET", "/apps/3/channels").body
          == #"{"channels":{"news":{},"other":{},"presence-p":{}}}"#)
      #expect(
        nodes.call(node, "GET", "/apps/3/channels/news?info=subscription_count").body
          == #"{"occupied":true,"subscription_count":2}"#)
      #expect(
        nodes.call(node, "GET", "/apps/3/channels/presence-p/users").body
          == #"{"users":[{"id":"u"}]}"#)
      #expect(nodes.hub(node).connectionCount == 2)
    }
  }

  @Test func `an app's events a second are those of all nodes`() {
    let statuses = (0..<6).map {
      nodes.call($0 % 3, "POST", "/apps/3/events", event("e", "news")).status
    }
    #expect(statuses == [200, 200, 200, 200, 403, 403])
  }

  @Test func `webhooks are for the node that causes the change`() throws {
    let url = try HTTPURL(parsing: "http://127.0.0.1:1/")
    let nodes = NodeHarness(3) { $0.webhooks = [url] }
    let first = nodes.client(on: 1, "news")
    let second = nodes.client(on: 2, "news")
    first.lose()
    second.lose()
    nodes.settle()
    #expect(nodes.hub(0).takeNotices().isEmpty)
    #expect(nodes.hub(1).takeNotices().map(\.kind) == [.channelOccupied])
    #expect(nodes.hub(2).takeNotices().map(\.kind) == [.channelVacated])
  }
}
