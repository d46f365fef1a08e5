/// Makes sure that nothing more comes to Redis from the connections that a link had before.
///
/// Orders on a lost connection may still be on their way. If Redis is the same process, the former connections are ended
/// there. Another process gets nothing that was meant for the former one.
package struct Fence {
  package enum Step: Sendable {
    case process
    case connection
    case kill
  }

  private enum State {
    case lowered
    /// It has asked which process it meets.
    case asking(process: [UInt8]?)
    /// Former connections are being ended.
    case ending(process: [UInt8], own: Int64, missing: Int, isFenced: Bool)
    case raised
  }

  private var state = State.lowered
  /// The process that was met last.
  private var process: [UInt8]?
  /// The link's connections to it, the present one among them.
  private var connections: [Int64] = []
  /// Whether there was a connection whose number is not known.
  private var hasUnknown = false
  /// Counts the links, so that answers to an earlier one are told apart.
  package private(set) var link = 0

  package init() {}

  var isRaised: Bool { if case .raised = state { true } else { false } }

  /// The link is lost.
  package mutating func lower() {
    link += 1
    state = .lowered
  }

  /// Returns the orders that raise the fence, once the link is up again.
  package mutating func raise() -> [([[UInt8]], Step)] {
    lower()
    state = .asking(process: nil)
    return [
      (["INFO", "server"].map(\.redisBytes), .process),
      (["CLIENT", "ID"].map(\.redisBytes), .connection),
    ]
  }

  /// What follows from an answer.
  package enum Outcome {
    case nothing
    case orders([([[UInt8]], Step)])
    /// The fence is raised; whether the former connections are known to be over.
    case raised(isFenced: Bool)
  }

  package mutating func receive(
    _ result: Result<RedisReply, RedisFailure>, for step: Step, ofLink number: Int
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
      // It may not be asked, so that nothing is known of the connection the next time either.
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

  /// The `run_id` of what `INFO server` tells.
  private static func process(in info: [UInt8]) -> [UInt8]? {
    let name = Array("run_id:".utf8)
    return info.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D })
      .first { $0.starts(with: name) }.map { Array($0.dropFirst(name.count)) }
  }
}
