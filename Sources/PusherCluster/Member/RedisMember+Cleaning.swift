internal import PusherCore
internal import PusherServer

/// Removals of dead nodes' entries, each in several steps.
struct Cleanings {
  /// Maximum number of channels at a time, so that others' calls get their turn.
  private static let limit = 16

  private struct Cleaning {
    let node: String
    /// Channels that may have entries: at first those that Redis may not list.
    var channels: Fifo<String>
    /// Number of channels whose entries are being removed.
    var running = 0
    var missing = 0
    var isRefused = false
  }

  private var lastNumber = 0
  private var cleanings: [Int: Cleaning] = [:]

  mutating func begin(_ node: String, _ names: [String]) -> Int {
    lastNumber += 1
    var channels = Fifo<String>()
    for name in names { channels.append(name) }
    cleanings[lastNumber] = Cleaning(node: node, channels: channels)
    return lastNumber
  }

  func node(of number: Int) -> String? { cleanings[number]?.node }
  mutating func add(_ channel: String, to number: Int) {
    cleanings[number]?.channels.append(channel)
  }

  /// Returns the next channel; `nil` while the removal goes on in enough channels.
  mutating func nextChannel(_ number: Int) -> String? {
    guard let running = cleanings[number]?.running, running < Self.limit,
      let name = cleanings[number]?.channels.popFirst()
    else { return nil }
    cleanings[number]?.running += 1
    return name
  }

  mutating func noteChannel(_ number: Int) { cleanings[number]?.running -= 1 }

  mutating func addStep(_ number: Int) { cleanings[number]?.missing += 1 }

  /// Counts an answer, and returns the node after the last one if every step succeeded.
  mutating func noteAnswer(_ number: Int, isTaken: Bool) -> String? {
    guard var cleaning = cleanings[number] else { return nil }
    cleaning.missing -= 1
    cleaning.isRefused = cleaning.isRefused || !isTaken
    cleanings[number] = cleaning.missing == 0 ? nil : cleaning
    return cleaning.missing == 0 && !cleaning.isRefused ? cleaning.node : nil
  }
}

extension RedisMember {
  /// Removes the entries of a dead node; a lock mostly keeps other nodes from the same work.
  func reap(_ node: String) {
    command(
      "SET", keys.reaping(node), identity.id, "NX", "PX",
      Int(Self.beat.components.seconds * 1000), for: .reap(node: node))
  }

  /// Returns the answer; logs an error instead, so that the entries are removed later.
  func taken(_ result: RedisResult) -> RedisReply? {
    guard case .success(let reply) = result else { return nil }
    guard case .error = reply else { return reply }
    log(RedisRefusal.words("the cleanup after a server", error: words(of: reply)))
    return nil
  }

  /// Counts out all entries of a node, or of this node under a former name, even if the lease still
  /// runs.
  ///
  /// A step changes nothing if another node did it before. The node's name goes last, so that
  /// another node starts again after an interruption or a refusal.
  ///
  /// - Parameter names: Further channels that may have entries, besides the channels that Redis
  ///   lists.
  func cleanUp(after node: String, on names: [String] = []) {
    let number = cleanings.begin(node, names)
    // This key comes first: a returning node learns from it that its members were reported as gone.
    command(
      "SET", keys.gone(node), identity.id, "PX", Self.memory.wholeNanoseconds / 1_000_000,
      for: .cleaning(number, .mark))
  }

  func cleaned(_ number: Int, _ step: ClusterOrder.CleaningStep, _ result: RedisResult) {
    let isTaken = taken(result).map { go(number, step, $0) } ?? false
    if let node = cleanings.noteAnswer(number, isTaken: isTaken) { forget(node) }
  }

  /// Handles the answer to a step, and returns whether the step succeeded.
  private func go(_ number: Int, _ step: ClusterOrder.CleaningStep, _ reply: RedisReply) -> Bool {
    guard let node = cleanings.node(of: number) else { return false }
    switch step {
    case .step: return true
    case .mark:
      command("DEL", keys.lease(node), for: .cleaning(number, .step))
      command("SMEMBERS", keys.channels(of: node), for: .cleaning(number, .channels))
      command("HGETALL", keys.users(of: node), for: .cleaning(number, .users))
      return true
    case .channels, .users, .channel:
      guard case .array(let values) = reply else { return false }
      take(values, number, step, of: node)
      return true
    }
  }

  private func take(
    _ values: [RedisReply], _ number: Int, _ step: ClusterOrder.CleaningStep, of node: String
  ) {
    let texts = values.map { $0.content.map { String(decoding: $0, as: UTF8.self) } }
    switch step {
    case .channels:
      for name in texts.compactMap(\.self) { cleanings.add(name, to: number) }
      reapNext(node, number)
    case .users:
      for index in stride(from: 0, to: texts.count - 1, by: 2) {
        // Nodes write only numbers.
        guard let userID = texts[index], let connections = texts[index + 1].flatMap(Int32.init)
        else { continue }
        signOut(
          userID, connections: Int(connections), of: node, leaseEnd: "",
          for: .cleaning(number, .step))
      }
    case .channel(let name):
      for index in stride(from: 2, to: texts.count - 1, by: 2) {
        guard let userID = texts[index] else { continue }
        noteDeparture(.init(.memberRemoved, name, userID: userID), RedisChange(values[index + 1]))
      }
      if let vacated = values.first {
        noteDeparture(.init(.channelVacated, name), RedisChange(vacated))
      }
      if texts.count > 1, let cursor = texts[1], !cursor.isEmpty {
        return reap(node, on: name, number, from: cursor)
      }
      cleanings.noteChannel(number)
      reapNext(node, number)
    case .mark, .step: break
    }
  }

  private func reapNext(_ node: String, _ number: Int) {
    while let name = cleanings.nextChannel(number) { reap(node, on: name, number, from: "0") }
  }

  private func reap(_ node: String, on name: String, _ number: Int, from cursor: String) {
    let (before, after) = countText(name)
    call(
      "reap", keys.channel(name),
      [
        "node": node, "bus": keys.bus(name), "channel": name, "before": before, "after": after,
        "delay": delayText, "cursor": cursor,
      ], for: .cleaning(number, .channel(name)))
  }

  private func forget(_ node: String) {
    send("DEL", keys.channels(of: node), keys.users(of: node))
    send("SREM", keys.enrolled, node)
    send("SREM", keys.nodes, node)
    identity.formerIDs.removeAll { $0.isSame(as: node) }
  }
}
