package import PusherCore

/// The apps of a server, found by key for sockets and by id for API calls.
package final class Applications {
  /// One hub an app.
  package private(set) var hubs: [Hub] = []
  /// Those of apps that are not served any more, until all sockets have left.
  private(set) var leaving: [Hub] = []
  package let limits: ServerLimits
  /// "" or a path that begins with a slash, before `/app` and `/apps`.
  let pathPrefix: String
  let text: MessageText
  let dialect: Dialect
  private var hubsByKey = NameTable<Hub>()
  private var hubsByID = NameTable<Hub>()
  /// The places of all hubs among the nodes of this process.
  private var nodes: [LocalNode] = []
  private var flush: () -> Void = {}
  /// How many sockets other nodes of this process have that its own do not know of, told how many there are here.
  var countOthers: (Int) -> Int = { _ in 0 }
  /// Calls back, now or later, once it is known whether the nodes of other processes can be reached; `nil` without such.
  package var whenSettled: ((@escaping (Instant) -> Void) -> Void)?
  /// Has a piece of work done in a later turn of the loop, and tells it the time.
  package typealias NextTurn = (@escaping (Instant) -> Void) -> Void
  /// `nil` without a loop.
  package var nextTurn: NextTurn?
  private var random: any RandomNumberGenerator

  /// Apps with distinct ids and keys, on the only node of each; of two alike the first counts.
  ///
  /// - Parameter random: Draws the socket ids.
  package convenience init(
    _ applications: [Application], limits: ServerLimits = ServerLimits(), pathPrefix: String = "",
    service: PusherService = .pusher, dialect: Dialect = .pusher,
    random: any RandomNumberGenerator
  ) {
    self.init(
      limits: limits, pathPrefix: pathPrefix, dialect: dialect,
      text: MessageText(service: service, dialect: dialect), random: random)
    let setups = applications.map {
      AppSetup($0, limits: limits, service: service, dialect: dialect)
    }
    renew(setups) { LocalNode(LocalApp($0)) }
  }

  /// No apps yet.
  package init(
    limits: ServerLimits, pathPrefix: String, dialect: Dialect, text: MessageText,
    random: any RandomNumberGenerator
  ) {
    self.limits = limits
    self.pathPrefix = pathPrefix
    self.random = random
    self.dialect = dialect
    self.text = text
  }

  /// Serves these apps from now on; answers the hubs of those that are gone.
  ///
  /// - Parameter place: The place of a new app's hub among its nodes. An app that is there already keeps its hub.
  @discardableResult
  func renew(_ setups: [AppSetup], place: (AppSetup) -> any HubNode) -> [Hub] {
    let former = hubs
    hubs = setups.map { setup in
      guard let hub = former.first(where: { $0.application.id.isSame(as: setup.application.id) })
      else { return Hub(setup, node: place(setup)) }
      hub.adopt(setup)
      return hub
    }
    let gone = former.filter { hub in !hubs.contains { $0 === hub } }
    leaving += gone
    (hubsByKey, hubsByID) = (NameTable(), NameTable())
    for hub in hubs.reversed() {
      hubsByKey[hub.application.key] = hub
      hubsByID[hub.application.id] = hub
    }
    findNodes()
    return gone
  }

  /// Forgets the hubs of apps that are gone and have no sockets any more; answers them.
  func forgetDeserted() -> [Hub] {
    let deserted = leaving.filter(\.isDeserted)
    guard !deserted.isEmpty else { return [] }
    leaving.removeAll { hub in deserted.contains { $0 === hub } }
    findNodes()
    return deserted
  }

  private func findNodes() {
    nodes = (hubs + leaving).compactMap { $0.node as? LocalNode }
    for node in nodes { node.flush = flush }
  }

  package func hub(key: String) -> Hub? { hubsByKey[key] }

  package func hub(id: String) -> Hub? { hubsByID[id] }

  /// Hands on what other nodes have brought for the hubs.
  package func deliverWaiting(at now: Instant) {
    for node in nodes { node.deliverWaiting(at: now) }
  }

  /// Has `flush` called between portions of what other nodes have brought.
  package func flushPortions(by flush: @escaping () -> Void) {
    self.flush = flush
    findNodes()
  }

  /// How many sockets all apps have together, on all nodes of this process.
  package var connectionCount: Int {
    let own = hubs.reduce(0) { $0 + $1.node.ownConnectionCount }
    return own + countOthers(own)
  }

  /// An id that no socket of any app has: two numbers of at most nine digits.
  package func newSocketID() -> String {
    while true {
      let bits = random.next()
      let id = "\((bits >> 32) % 999_999_999 + 1).\((bits & 0xFFFF_FFFF) % 999_999_999 + 1)"
      if !hubs.contains(where: { $0.hasSocket(id) }) { return id }
    }
  }
}
