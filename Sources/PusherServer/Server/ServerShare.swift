internal import PusherCore

/// What the nodes of one process have in common: options, apps, certificate, staged faults.
///
/// Any thread may use it.
final class ServerShare: Sendable {
  /// A node, for orders to it.
  private struct Node: @unchecked Sendable {
    // Sendable because the server is used on its own thread alone, by work that is posted there.
    weak var server: Server?
    let wakeUp: WakeUp
  }

  let options: ServerOptions
  let group: NodeGroup
  /// The apps as they are now.
  let apps: Locked<ServedApps>
  let faults = FaultScript()
  /// What happens on all nodes, for those who look on.
  let feed = ConsoleFeed()
  let refusals = Locked(RefusalReport())
  private let nodes = Locked<[Node]>([])
  /// How many nodes besides the first have ended.
  private let ended = Locked(0)
  /// How many nodes know whether nodes of other processes can be reached.
  private let settled = Locked(0)
  private let tls: Locked<TLSContext?>

  /// - Throws: ``TransportError/tls(_:)`` for a certificate or key that cannot be used.
  init(_ options: ServerOptions, nodes count: Int) throws(TransportError) {
    self.options = options
    group = NodeGroup(count: count)
    apps = Locked(Self.served(options.applications, options, group, feed.watch))
    do throws(TLSError) {
      tls = Locked(try Self.incomingTLS(options))
    } catch {
      throw .tls(error)
    }
    faults.add(options.faults)
  }

  private static func served(
    _ applications: [Application], _ options: ServerOptions, _ group: NodeGroup, _ watch: Watch
  ) -> ServedApps {
    ServedApps(
      applications, limits: options.limits, service: options.service, dialect: options.dialect,
      group: group, watch: watch)
  }

  private static func incomingTLS(_ options: ServerOptions) throws(TLSError) -> TLSContext? {
    guard let certificate = options.certificateFile else { return nil }
    return try TLSContext.server(
      certificateFile: certificate, keyFile: options.keyFile ?? certificate)
  }

  /// For accepted connections; all nodes have the same, so that a client that comes back may resume on any.
  var certificate: TLSContext? { tls.withLock { $0 } }

  /// Reads the certificate and its key again, for new connections; those that are there go on.
  ///
  /// - Throws: ``TLSError`` when they cannot be used; then nothing has changed.
  func renewCertificate() throws(TLSError) {
    let renewed = try Self.incomingTLS(options)
    tls.withLock { $0 = renewed }
    onAll { $0.takeCertificate() }
  }

  /// What connects a node on this loop with those of other processes; `nil` where there are none.
  func link(
    loop: EventLoop, log: @escaping (ServerLogEvent) -> Void
  ) -> (any NodeLink)? {
    #if Redis
      options.redis.map {
        RedisCluster(
          $0, trust: options.webhooks.trust, webhookDelay: options.webhooks.delay, loop: loop,
          log: log)
      }
    #else
      nil
    #endif
  }

  /// Serves these apps from now on, on all nodes.
  func renew(_ applications: [Application]) {
    let served = Self.served(applications, options, group, feed.watch)
    apps.withLock { $0 = served }
    onAll { $0.take(served) }
  }

  // MARK: The nodes

  func add(_ server: Server) {
    let node = Node(server: server, wakeUp: server.loop.wakeUp)
    nodes.withLock { $0.append(node) }
  }

  /// A node besides the first has ended; the first one waits for the last of them.
  func noteEnd() {
    let isLast = ended.withLock { ended in
      ended += 1
      return ended == group.count - 1
    }
    if isLast { onAll { if $0.index == 0 { $0.othersHaveEnded() } } }
  }

  /// A node knows whether nodes of other processes can be reached; the first one is told when all do.
  func noteSettled() {
    let isLast = settled.withLock { settled in
      settled += 1
      return settled == group.count
    }
    if isLast { onAll { if $0.index == 0 { $0.othersHaveSettled() } } }
  }

  /// Has every node do something, on its own thread.
  func onAll(_ body: @escaping @Sendable (Server) -> Void) {
    for node in nodes.withLock({ $0 }) {
      node.wakeUp.post { _ in if let server = node.server { body(server) } }
    }
  }

  /// Asks every node something, and calls `answer` on the asking node's thread once all have answered.
  func askAll<Value: Sendable>(
    from loop: EventLoop, _ question: @escaping @Sendable (Server) -> Value,
    _ answer: @escaping ([Value]) -> Void
  ) {
    let asked = nodes.withLock { $0 }
    let answers = Locked<[Value]>([])
    let answer = OwnThread(answer)
    let wakeUp = loop.wakeUp
    for node in asked {
      node.wakeUp.post { _ in
        guard let server = node.server else { return }
        let value = question(server)
        let all = answers.withLock { answers in
          answers.append(value)
          return answers
        }
        if all.count == asked.count { wakeUp.post { _ in answer.body(all) } }
      }
    }
  }

  /// What is only called on the thread that made it.
  private struct OwnThread<Value>: @unchecked Sendable {
    // Sendable because others only carry it back.
    let body: ([Value]) -> Void

    init(_ body: @escaping ([Value]) -> Void) { self.body = body }
  }

  /// Lets the faults that end connections have those that are there.
  func stageGreetings() {
    onAll { $0.stageGreetings(at: $0.loop.now) }
  }
}
