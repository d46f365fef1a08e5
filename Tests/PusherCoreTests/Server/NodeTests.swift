import PusherCluster
import PusherCore
import SimulationModel
import TestSupport
import Testing

@testable import PusherServer

struct `Servers that meet in Redis are one server` {
  private let nodes = NodeHarness(3) { app in
    app.sendsSubscriptionCounts = true
    app.limits.presenceMembers = 3
    app.limits.eventsPerSecond = 4
  }

  private func publish(_ node: Int, _ name: String, on channel: String, data: JSONValue = "{}") {
    nodes.hub(node).publish(name: name, channel: channel, data: data)
  }

  // MARK: Events

  @Test func `an event of any node reaches the subscribers of all, but not the excluded socket`() {
    let clients = nodes.clients(on: "news")
    let plain = #"{"name":"e","channels":["news"],"data":"{}"}"#
    #expect(nodes.post(1, "/apps/3/events", plain).status == 200)
    let excluding = #"{"name":"f","channel":"news","data":"{}","socket_id":"1.1"}"#
    #expect(nodes.post(2, "/apps/3/events", excluding).status == 200)
    let e = #"{"event":"e","channel":"news","data":"{}"}"#
    let f = #"{"event":"f","channel":"news","data":"{}"}"#
    #expect(clients.map { $0.texts() } == [[e], [e, f], [e, f]])
  }

  @Test func `a new subscriber gets what is sent after its subscription, not what waits`() {
    let first = nodes.client(on: 1, "news")
    publish(0, "before", on: "news")
    let late = nodes.hub(1).client("9.9")
    late.subscribe("news")
    nodes.settle()
    publish(0, "after", on: "news")
    nodes.settle()
    #expect(first.names().count { $0 == "before" } == 1)
    #expect(late.names().filter { !$0.hasPrefix("pusher") } == ["after"])
  }

  @Test func `an address answers for the channels that it asks for, until a join fails`() {
    let nodes = NodeHarness(2) {
      ($0.limits.channelsPerAddress, $0.limits.presenceMembers) = (2, 1)
    }
    // The other node has the only place.
    _ = nodes.client(on: 1, "presence-p", as: "1")
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
    client.join("presence-p", as: "2")
    #expect(isRefused("d"))
    nodes.settle()
    #expect(!isRefused("d"))
    nodes.settle()
    #expect(nodes.hub(0).shares.count(of: address) == 2)
  }

  @Test func `a client's event goes to the others on all nodes`() {
    let clients = nodes.clients(on: "presence-p")
    clients[1].send(#"{"event":"client-a","channel":"presence-p","data":{"x":1}}"#)
    nodes.settle()
    let expected = #"{"event":"client-a","channel":"presence-p","data":{"x":1},"user_id":"u1"}"#
    #expect(clients.map { $0.texts() } == [[expected], [], [expected]])
  }

  @Test func `the last event of a cache channel is known on all nodes`() {
    publish(0, "e", on: "cache-a", data: "1")
    nodes.settle()
    let client = nodes.hub(2).client("9.9")
    client.subscribe("cache-a")
    nodes.settle()
    #expect(client.texts().contains(#"{"event":"e","channel":"cache-a","data":"1"}"#))
  }

  // MARK: Members and counts

  @Test func `the limit of members counts those of all nodes`() throws {
    _ = nodes.clients(on: "presence-p")
    let last = nodes.client(on: 0)
    last.join("presence-p", as: "u9")
    nodes.settle()
    #expect(try last.error().message.contains("at most 3 members"))
    last.join("presence-p", as: "u2")
    nodes.settle()
    #expect(last.names().first == "pusher_internal:subscription_succeeded")
    #expect(last.session.isOpen)
  }

  @Test func `subscription counts are those of all nodes`() {
    let first = nodes.client(on: 0, "news")
    let second = nodes.hub(1).client("9.9")
    second.subscribe("news")
    nodes.settle()
    let two =
      #"{"event":"pusher_internal:subscription_count","channel":"news","data":"{\"subscription_count\":2}"}"#
    #expect(first.texts() == [two])
    #expect(second.texts().last == two)
  }

  // MARK: Users

  /// A client on a node that has signed in, after its answer.
  private func signedIn(_ node: Int, _ userData: String, _ channels: String...) -> HubClient {
    let client = nodes.client(on: node)
    client.signIn(userData)
    for channel in channels { client.subscribe(channel) }
    nodes.settle()
    _ = client.texts()
    return client
  }

  @Test func `watchers on all nodes learn of a user's first and last connection`() {
    let watcher = signedIn(0, #"{"id":"w","watchlist":["a"]}"#)
    let (first, second) = (signedIn(1, #"{"id":"a"}"#), signedIn(2, #"{"id":"a"}"#))
    #expect(watcher.texts().count == 1)
    first.lose()
    nodes.settle()
    #expect(watcher.texts().isEmpty)
    second.lose()
    nodes.settle()
    #expect(watcher.texts().first?.contains("offline") == true)
  }

  @Test func `a user's connections on all nodes get its events, and are ended together`() {
    let clients =
      (0..<2).map { signedIn($0, #"{"id":"7"}"#, "#server-to-user-7") } + [nodes.client(on: 2)]
    let body = #"{"name":"e","data":"{}"}"#
    #expect(nodes.post(2, "/apps/3/users/7/events", body).status == 200)
    #expect(clients.map { $0.texts().count } == [1, 1, 0])
    #expect(nodes.post(2, "/apps/3/users/7/terminate_connections", "{}").status == 200)
    #expect(clients.map(\.session.isOpen) == [false, false, true])
  }

  @Test func `a node that has lost Redis does not claim to have ended a user's connections`() {
    let client = signedIn(0, #"{"id":"7"}"#)
    _ = nodes.servers[2].lose("connection lost")
    #expect(nodes.post(2, "/apps/3/users/7/terminate_connections", "{}").status == 503)
    #expect(client.session.isOpen)
  }

  // MARK: The HTTP API and webhooks

  @Test func `every node answers for all`() {
    _ = nodes.client(on: 0, "news")
    _ = nodes.client(on: 1, "news", "other", "presence-p")
    nodes.beat()
    for node in 0..<3 {
      #expect(
        nodes.get(node, "/apps/3/channels").body
          == #"{"channels":{"news":{},"other":{},"presence-p":{}}}"#)
      #expect(
        nodes.get(node, "/apps/3/channels/news?info=subscription_count").body
          == #"{"occupied":true,"subscription_count":2}"#)
      #expect(
        nodes.get(node, "/apps/3/channels/presence-p/users").body == #"{"users":[{"id":"7"}]}"#)
      #expect(nodes.hub(node).connectionCount == 2)
    }
  }

  @Test func `an app's events a second are those of all nodes`() {
    let event = #"{"name":"e","channels":["news"],"data":"{}"}"#
    let statuses = (0..<6).map { nodes.post($0 % 3, "/apps/3/events", event).status }
    #expect(statuses == [200, 200, 200, 200, 403, 403])
  }

  @Test func `webhooks are for the node that causes the change`() throws {
    let url = try HTTPURL(parsing: "http://127.0.0.1:1/")
    let nodes = NodeHarness(3) { $0.webhooks = [url] }
    let clients = [nodes.client(on: 1, "news"), nodes.client(on: 2, "news")]
    for client in clients { client.lose() }
    nodes.settle()
    let kinds = (0..<3).map { nodes.hub($0).takeNotices().map(\.kind) }
    #expect(kinds == [[], [.channelOccupied], [.channelVacated]])
  }
}

final class NodeHarness {
  let servers: [SimulatedServer]
  private var redis = RedisModel()
  private var count = 0

  init(_ nodes: Int, _ change: (inout Application) -> Void = { _ in }) {
    var application = Application.forTests()
    change(&application)
    servers = (0..<nodes).map { SimulatedServer(random: SeededGenerator(seed: UInt64($0))) }
    let setup = AppSetup(application, limits: ServerLimits(), service: .pusher, dialect: .pusher)
    for server in servers {
      server.linkUp(&redis)
      server.applications.renew([setup], in: server)
    }
    settle()
  }

  func hub(_ node: Int) -> Hub { servers[node].applications.hubs[0] }

  /// A client on a node, after its greeting and subscriptions.
  func client(on node: Int, _ channels: String..., as user: String = "7") -> HubClient {
    count += 1
    let client = HubClient(hub(node), "1.\(count)")
    for channel in channels { client.join(channel, as: user) }
    settle()
    _ = client.texts()
    return client
  }

  /// A client on each node, all on one channel; on a presence channel as `u0`, `u1` and so on.
  func clients(on channel: String) -> [HubClient] {
    let clients = servers.indices.map { client(on: $0, channel, as: "u\($0)") }
    for client in clients { _ = client.texts() }
    return clients
  }

  func settle() { while servers.reduce(false, { advance($1) || $0 }) {} }

  /// Delivers the pending messages between a server and Redis.
  ///
  /// Returns false if there were none.
  @discardableResult func advance(_ server: SimulatedServer) -> Bool {
    server.handOn()
    let milliseconds = server.now.nanoseconds / 1_000_000
    var hasMoved = false
    while server.sendCommand(&redis, at: milliseconds)
      || server.sendSubscription(&redis, at: milliseconds)
    { hasMoved = true }
    for message in redis.takePublished() {
      let receivers = redis.receivers(of: message.channel)
      for other in servers where receivers.contains(other.connections?.messages ?? 0) {
        other.publish(message.channel, message.payload)
      }
    }
    while server.takeMessage() || server.takeReply() { hasMoved = true }
    server.handOn()
    return hasMoved
  }

  /// Each node renews its lease and checks the others.
  func beat() {
    for server in servers {
      server.now = server.now.advanced(by: RedisMember.beat)
      server.tick()
    }
    settle()
  }

  func get(_ node: Int, _ path: String) -> HTTPAnswer { call(node, .signed("GET", path)) }

  func post(_ node: Int, _ path: String, _ body: String) -> HTTPAnswer {
    call(node, .signed("POST", path, body: body))
  }

  private func call(_ node: Int, _ request: HTTPRequestReader.Request) -> HTTPAnswer {
    let now = Instant(nanoseconds: 0)
    var calls = CallTable<Void>()
    let progress = APIRouter(servers[node].applications).begin(
      request, seconds: Applications.seconds, at: now)
    var answer = calls.keep(progress, for: ())
    // Each node's request is answered in its own round.
    for _ in 0..<5 where answer == nil {
      settle()
      answer = calls.take(from: hub(node), at: now).first?.1
    }
    settle()
    return answer ?? .refusal(500, "no answer")
  }
}
