package import PusherCore

extension NodeGroup {
  /// Nodes for these apps.
  package convenience init(
    _ applications: [Application], limits: ServerLimits, service: PusherService, dialect: Dialect,
    count: Int
  ) {
    self.init(
      applications.map {
        AppSetup($0, limits: limits, service: service, dialect: dialect)
      }, count: count)
  }
}

/// The apps of a server, found by key for sockets and by id for API calls.
package final class Applications {
  /// One hub an app.
  package let hubs: [Hub]
  package let limits: ServerLimits
  /// "" or a path that begins with a slash, before `/app` and `/apps`.
  let pathPrefix: String
  let text: MessageText
  let dialect: Dialect
  private var hubsByKey = NameTable<Hub>()
  private var hubsByID = NameTable<Hub>()
  /// The places of the hubs among the nodes of this process, in their order.
  let nodes: [LocalNode]
  private var random: any RandomNumberGenerator

  /// Apps with distinct ids and keys; of two alike the first counts.
  ///
  /// - Parameters:
  ///   - random: Draws the socket ids.
  ///   - group: The nodes of the process, with the same apps; `nil` for a node that is alone.
  ///   - index: Which of them this one is.
  package convenience init(
    _ applications: [Application], limits: ServerLimits = ServerLimits(), pathPrefix: String = "",
    service: PusherService = .pusher, dialect: Dialect = .pusher,
    random: any RandomNumberGenerator, group: NodeGroup? = nil, node index: Int = 0
  ) {
    let setups = applications.map {
      AppSetup($0, limits: limits, service: service, dialect: dialect)
    }
    let apps = group?.apps ?? setups.map { $0.app() }
    let nodes = apps.map { LocalNode($0, index: index) }
    self.init(
      setups, places: nodes, nodes: nodes, limits: limits, pathPrefix: pathPrefix,
      dialect: dialect, text: MessageText(service: service, dialect: dialect), random: random)
  }

  /// Hubs with these places among their nodes.
  init(
    _ setups: [AppSetup], places: [any HubNode], nodes: [LocalNode] = [], limits: ServerLimits,
    pathPrefix: String, dialect: Dialect, text: MessageText, random: any RandomNumberGenerator
  ) {
    self.limits = limits
    self.pathPrefix = pathPrefix
    self.random = random
    self.dialect = dialect
    self.text = text
    self.nodes = nodes
    hubs = zip(setups, places).map { Hub($0, node: $1) }
    for hub in hubs.reversed() {
      hubsByKey[hub.application.key] = hub
      hubsByID[hub.application.id] = hub
    }
  }

  package func hub(key: String) -> Hub? { hubsByKey[key] }

  package func hub(id: String) -> Hub? { hubsByID[id] }

  /// Hands on what other nodes have brought for the hubs.
  package func deliverWaiting(at now: Instant) {
    for node in nodes { node.deliverWaiting(at: now) }
  }

  /// Has `flush` called between portions of what other nodes have brought.
  package func flushPortions(by flush: @escaping () -> Void) {
    for node in nodes { node.flush = flush }
  }

  /// How many sockets all apps have together, on all nodes of this process.
  package var connectionCount: Int { hubs.reduce(0) { $0 + $1.node.ownConnectionCount } }

  /// An id that no socket of any app has: two numbers of at most nine digits.
  package func newSocketID() -> String {
    while true {
      let bits = random.next()
      let id = "\((bits >> 32) % 999_999_999 + 1).\((bits & 0xFFFF_FFFF) % 999_999_999 + 1)"
      if !hubs.contains(where: { $0.hasSocket(id) }) { return id }
    }
  }
}
