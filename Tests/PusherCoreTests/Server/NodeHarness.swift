import PusherCore
import PusherServer
import TestSupport

/// Several nodes of one process with one app, without sockets and threads.
final class NodeHarness {
  let nodes: [Applications]
  private(set) var clients: [HubClient] = []
  private var count = 0
  private let group: NodeGroup

  init(_ nodes: Int, _ change: (inout Application) -> Void = { _ in }) {
    var application = Application.forTests()
    change(&application)
    group = NodeGroup(count: nodes)
    self.nodes = (0..<nodes).map { index in
      Applications(
        limits: ServerLimits(), pathPrefix: "", dialect: .pusher,
        text: MessageText(dialect: .pusher), random: SeededGenerator(seed: UInt64(index)))
    }
    renew([application])
  }

  /// Serves these apps on all nodes; answers the hubs that leave, on each node.
  @discardableResult
  func renew(_ applications: [Application]) -> [[Hub]] {
    let apps = ServedApps(
      applications, limits: ServerLimits(), service: .pusher, dialect: .pusher, group: group)
    return nodes.enumerated().map { index, node in node.renew(apps, node: index) }
  }

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

  /// Hands on what waits on every node.
  func settle() {
    for node in nodes { node.deliverWaiting(at: Instant(nanoseconds: 0)) }
  }

  /// A signed call of the HTTP API, on a node.
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
    let answer = APIRouter(nodes[node]).answer(
      HTTPRequestReader.Request(head: head, body: signed.body ?? []), seconds: 1,
      at: Instant(nanoseconds: 0))
    settle()
    return answer
  }
}

extension HubClient {
  /// Signs in with the app's signature.
  func signIn(_ userData: String) {
    let auth = SubscriptionSignature(key: hub.application.key, secret: hub.application.secret)
      .signIn(socketID: session.socketID, userData: userData)
    send(
      ClientCommand(service: .pusher).signIn(
        Authorization(PusherUserAuth(auth: auth, userData: userData))))
  }
}
