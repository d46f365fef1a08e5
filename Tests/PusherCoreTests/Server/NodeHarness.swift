import PusherCluster
import PusherCore
import PusherServer
import SimulationModel
import TestSupport

final class NodeHarness {
  let servers: [SimulatedServer]
  private var redis = RedisModel()
  private(set) var clients: [HubClient] = []
  private var count = 0

  init(_ nodes: Int, _ change: (inout Application) -> Void = { _ in }) {
    var application = Application.forTests()
    change(&application)
    servers = (0..<nodes).map { SimulatedServer(random: SeededGenerator(seed: UInt64($0))) }
    let setup = AppSetup(
      application, limits: ServerLimits(), service: .pusher, dialect: .pusher)
    for server in servers {
      server.linkUp(&redis)
      server.applications.renew([setup], in: server)
    }
    settle()
  }

  var nodes: [Applications] { servers.map(\.applications) }

  func hub(_ node: Int) -> Hub { nodes[node].hubs[0] }

  /// A client on a node, after its greeting.
  func client(on node: Int, _ channels: String...) -> HubClient {
    count += 1
    let client = HubClient(hub(node), "1.\(count)")
    for channel in channels { client.subscribe(channel) }
    settle()
    _ = client.texts()
    return client
  }

  func settle() {
    while servers.reduce(false, { advance($1) || $0 }) {}
  }

  /// Delivers the pending messages between a server and Redis.
  ///
  /// Returns false if there were none.
  @discardableResult
  func advance(_ server: SimulatedServer) -> Bool {
    server.handOn()
    let milliseconds = server.now.nanoseconds / 1_000_000
    var hasMoved = false
    while server.sendCommand(&redis, at: milliseconds)
      || server.sendSubscription(&redis, at: milliseconds)
    { hasMoved = true }
    for (channel, payload) in redis.takePublished().map({ ($0.channel, $0.payload) }) {
      let receivers = redis.receivers(of: channel)
      for other in servers where receivers.contains(other.connections?.messages ?? 0) {
        other.publish(channel, payload)
      }
    }
    while server.takeMessage() || server.takeReply() { hasMoved = true }
    server.handOn()
    return hasMoved
  }

  func facts(_ node: Int, of channel: String) -> ChannelFacts? {
    let question = ClusterQuestion.facts([channel], withMembers: true)
    guard case .later(let number) = hub(node).ask(question, at: servers[node].now) else {
      return nil
    }
    settle()
    let answers = hub(node).takeAnswers()
    guard case .facts(let facts)? = answers.first(where: { $0.number == number })?.answer else {
      return nil
    }
    return facts.first
  }

  /// Each node renews its lease and checks the others.
  func beat() {
    for server in servers {
      server.now = server.now.advanced(by: RedisMember.beat)
      server.tick()
    }
    settle()
  }

  func call(_ node: Int, _ method: String, _ path: String, _ body: String? = nil) -> HTTPAnswer {
    let parts = path.split(separator: "?", maxSplits: 1).map(String.init)
    let parameters = (parts.count > 1 ? parts[1] : "").split(separator: "&").map { pair in
      let sides = pair.split(separator: "=").map(String.init)
      return APIRequest.Parameter(sides[0], sides[1])
    }
    let request = APIRequest(
      method: method, path: parts[0], parameters: parameters, body: body.map { Array($0.utf8) })
    let signed = request.signed(
      key: "278d425bdf160c739803", secret: "7ad3773142a6692b25b8", timestamp: 1)
    let head = HTTPRequestHead(method: method, target: signed.target, headers: signed.headers)
    var calls = CallTable<Void>()
    let progress = APIRouter(nodes[node]).begin(
      HTTPRequestReader.Request(head: head, body: signed.body ?? []), seconds: 1,
      at: Instant(nanoseconds: 0))
    var answer = calls.keep(progress, for: ())
    // Each node's request is answered in its own round.
    for _ in 0..<5 where answer == nil {
      settle()
      answer = calls.take(from: hub(node), at: Instant(nanoseconds: 0)).first?.1
    }
    settle()
    return answer ?? .refusal(500, "no answer")
  }
}

extension HubClient {
  func signIn(_ userData: String) {
    let auth = SubscriptionSignature(key: hub.application.key, secret: hub.application.secret)
      .signIn(socketID: session.socketID, userData: userData)
    send(
      ClientCommand(service: .pusher).signIn(
        Authorization(PusherUserAuth(auth: auth, userData: userData))))
  }
}
