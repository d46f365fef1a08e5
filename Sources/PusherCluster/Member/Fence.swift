/// Ends the earlier connections of a link, so that none of their orders reaches Redis later.
///
/// Orders on a lost connection may still be on their way. If Redis is the same process, the fence
/// kills its earlier connections there. Another process never receives them.
package struct Fence {
  package enum Step: Sendable {
    case process
    case connection
    case kill
  }

  private enum State {
    case lowered
    /// Asks for the `run_id` of the process and the number of the connection.
    case asking(process: [UInt8]?)
    /// Kills the former connections.
    case ending(process: [UInt8], own: Int64, missing: Int, isFenced: Bool)
    case raised
  }

  private var state = State.lowered
  /// The `run_id` of the latest process.
  private var process: [UInt8]?
  private var connections: [Int64] = []
  /// True if the number of an earlier connection is unknown.
  private var hasUnknown = false
  package private(set) var link = 0

  package init() {}

  var isRaised: Bool { if case .raised = state { true } else { false } }

  package mutating func lower() {
    link += 1
    state = .lowered
  }

  package mutating func raise() -> [([[UInt8]], Step)] {
    lower()
    state = .asking(process: nil)
    return [
      (["INFO", "server"].map(\.redisBytes), .process),
      (["CLIENT", "ID"].map(\.redisBytes), .connection),
    ]
  }

  package enum Outcome {
    case nothing
    case orders([([[UInt8]], Step)])
    /// The fence is raised; `isFenced` is true if the former connections are known to be closed.
    case raised(isFenced: Bool)
  }

  package mutating func receive(
    _ result: RedisResult, for step: Step, ofLink number: Int
  ) -> Outcome {
    guard number == link else { return .nothing }
    switch (state, step) {
    case (.asking, .process):
      if case .success(let reply) = result {
        state = .asking(process: Self.process(in: reply.content ?? []))
      }
      return .nothing
    case (.asking(let met), .connection):
      guard case .success(let reply) = result else { return .nothing }
      return learned(met, reply)
    case (.ending(let met, let own, let missing, let isFenced), .kill):
      let isOver = if case .success(.integer) = result { isFenced } else { false }
      guard missing == 1 else {
        state = .ending(process: met, own: own, missing: missing - 1, isFenced: isOver)
        return .nothing
      }
      return end(isFenced: isOver, own: own, met: met)
    default: return .nothing
    }
  }

  private mutating func learned(_ met: [UInt8]?, _ reply: RedisReply) -> Outcome {
    guard let met, case .integer(let own) = reply else {
      // The user may lack the right to ask; then this connection also stays unknown the next time.
      return end(isFenced: connections.isEmpty && !hasUnknown, own: nil, met: met)
    }
    if let process, process != met { (connections, hasUnknown) = ([], false) }
    guard !connections.isEmpty else { return end(isFenced: !hasUnknown, own: own, met: met) }
    state = .ending(process: met, own: own, missing: connections.count, isFenced: !hasUnknown)
    return .orders(
      connections.map { (["CLIENT", "KILL", "ID", "\($0)"].map(\.redisBytes), .kill) })
  }

  private mutating func end(isFenced: Bool, own: Int64?, met: [UInt8]?) -> Outcome {
    state = .raised
    process = met
    connections = own.map { [$0] } ?? []
    hasUnknown = own == nil || !isFenced
    return .raised(isFenced: isFenced)
  }

  private static func process(in info: [UInt8]) -> [UInt8]? {
    let name = Array("run_id:".utf8)
    return info.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D })
      .first { $0.starts(with: name) }.map { Array($0.dropFirst(name.count)) }
  }
}
