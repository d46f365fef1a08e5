internal import PusherCore

/// What the nodes of one process share beside their apps.
///
/// Any thread may use it.
package final class NodeGroup: Sendable {
  private struct GroupRecord {
    /// What happened on other nodes, for the log of the first.
    var log: [ServerLogEvent] = []
    /// Bytes that wait for the clients of each node.
    var queuedBytes: [Int]
    /// Sockets of each node, where they are counted on each alone.
    var connections: [Int]
    /// What wakes each node.
    var wakeUps: [WakeUp?]
    /// The nodes that have ended.
    var ended: Set<Int> = []
    /// In the order of the server's apps.
    var apps: [(id: String, app: LocalApp)] = []
  }

  /// Bytes of an app that may wait for a node; others wait then before they bring more.
  package static let queueLimit = 16 << 20
  /// Bytes after which sockets take what they were handed; less than may wait for one of them.
  static let portion = 512 << 10
  /// Log entries that may wait for the first node; others wait then.
  package static let logLimit = 10_000

  /// How many nodes there are.
  package let count: Int
  private let state: Locked<GroupRecord>

  package init(count: Int) {
    self.count = count
    state = Locked(
      GroupRecord(
        queuedBytes: Array(repeating: 0, count: count),
        connections: Array(repeating: 0, count: count),
        wakeUps: Array(repeating: nil, count: count)))
  }

  private var apps: [LocalApp] { state.withLock { $0.apps.map(\.app) } }

  /// The apps for these setups, in their order: those of the same ids as before, and new ones.
  ///
  /// The others are served no more.
  func renew(_ setups: [AppSetup]) -> [LocalApp] {
    state.withLock { state in
      let former = state.apps
      state.apps = setups.map { setup in
        let id = setup.application.id
        if let same = former.first(where: { $0.id.isSame(as: id) }) { return same }
        let app = LocalApp(setup, nodes: count)
        for (node, wakeUp) in state.wakeUps.enumerated() {
          if let wakeUp { app.wake(node, with: wakeUp) }
        }
        for node in state.ended { app.end(node) }
        return (id, app)
      }
      return state.apps.map(\.app)
    }
  }

  /// A node lives from now on, and is woken with this.
  func begin(_ node: Int, _ wakeUp: WakeUp) {
    state.withLock { $0.wakeUps[node] = wakeUp }
    for app in apps { app.wake(node, with: wakeUp) }
  }

  /// A node has ended: nothing waits for it any more.
  func end(_ node: Int) {
    _ = state.withLock { $0.ended.insert(node) }
    for app in apps { app.end(node) }
    note(queuedBytes: 0, of: node)
    _ = connections(besides: node, own: 0)
  }

  // MARK: The log

  /// Hands what happened on another node to the first one's log.
  func log(_ events: [ServerLogEvent]) {
    let wakeUp = state.withLock { state -> WakeUp? in
      defer { state.log += events }
      return state.log.isEmpty ? state.wakeUps[0] : nil
    }
    wakeUp?.signal()
  }

  /// What happened on the other nodes since the last call.
  func takeLog() -> [ServerLogEvent] {
    guard count > 1 else { return [] }
    return state.withLock { state in
      guard !state.log.isEmpty else { return [] }
      defer { state.log = [] }
      return state.log
    }
  }

  /// Whether a node has to wait, because another one has not taken what it brought.
  func isFull(besides node: Int) -> Bool {
    guard count > 1 else { return false }
    let isLogFull = node > 0 && state.withLock { $0.log.count > Self.logLimit }
    return isLogFull || apps.contains { $0.isFull(besides: node) }
  }

  // MARK: Clients' queues

  func note(queuedBytes bytes: Int, of node: Int) {
    state.withLock { $0.queuedBytes[node] = bytes }
  }

  /// How many sockets the other nodes have, once this one has told how many it has.
  func connections(besides node: Int, own: Int) -> Int {
    guard count > 1 else { return 0 }
    return state.withLock { state in
      state.connections[node] = own
      return state.connections.reduce(0, +) - own
    }
  }

  /// Bytes that wait for the clients of all nodes.
  var queuedBytes: Int { state.withLock { $0.queuedBytes.reduce(0, +) } }
}
