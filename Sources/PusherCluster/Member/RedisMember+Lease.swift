internal import PusherCore

extension RedisMember {
  static var leaseMilliseconds: Int64 { lease.wholeNanoseconds / 1_000_000 }

  func giveSign() {
    guard isRegistered else { return }
    call(
      "beat", [keys.lease(identity.id)],
      [
        "content": ownConnectionCount, "milliseconds": Self.leaseMilliseconds,
        "leaseEnd": identity.leaseEnd,
      ], for: .lease(.sign))
    lookForOthers()
  }

  func lookForOthers() { command("SMEMBERS", keys.nodes, for: .lease(.nodes)) }

  func leased(_ result: RedisResult, _ step: ClusterOrder.LeaseStep, since registration: Int) {
    switch step {
    case .sign:
      guard let end = number(result, of: "the lease", since: registration) else { return }
      if end > 0, isCurrent(registration) {
        identity.leaseEnd = end
        trouble.lastTold = nil
      }
      // Other nodes have reported this node's members as gone, or Redis was emptied.
      if end == 0 { noticeLoss(since: registration) }
    case .nodes:
      guard isCurrent(registration) else { return }
      guard case .success(.array(let values)) = result else {
        return check(result, to: "SMEMBERS", since: registration)
      }
      let others = values.compactMap(\.content).map { String(decoding: $0, as: UTF8.self) }
        .filter { $0 != identity.id }
      // Other nodes may have removed the entries of a former name.
      identity.formerIDs.removeAll { former in !others.contains { $0.isSame(as: former) } }
      look(at: others)
    case .leases(let nodes):
      guard case .success(.array(let leases)) = result, leases.count == nodes.count else {
        return check(result, to: "MGET", since: registration)
      }
      count(nodes, leases)
    }
  }

  private func look(at nodes: [String]) {
    guard !nodes.isEmpty else {
      others = OtherNodes()
      return
    }
    order(.command([Array("MGET".utf8)] + nodes.map(keys.lease)), .lease(.leases(nodes)))
  }

  private func count(_ nodes: [String], _ leases: [RedisReply]) {
    var found = OtherNodes()
    for (node, lease) in zip(nodes, leases) {
      if let content = lease.content {
        found.connections += Self.connections(content)
        found.count += 1
      } else {
        reap(node)
      }
    }
    others = found
  }

  /// Returns the number of sockets in a lease; 0 for content that no server writes.
  private static func connections(_ lease: [UInt8]) -> Int {
    let count = Int(String(decoding: lease, as: UTF8.self)) ?? 0
    return (0...connectionLimit).contains(count) ? count : 0
  }

  private static let connectionLimit = 1 << 24
}
