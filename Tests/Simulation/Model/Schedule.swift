import PusherCore

package struct Schedule: Sendable, CustomStringConvertible {
  package enum Step: Sendable {
    /// Time passes, in milliseconds.
    case wait(Int)
    /// This number of messages arrives, in an order drawn from `draw`.
    case deliver(count: Int, draw: UInt64)
    case settle
    case connect(server: Int)
    /// A client of protocol V2 connects and subscribes to the first channel. If one has lost its
    /// connection, that one comes back and resumes.
    case connectV2(server: Int)
    /// A client subscribes; on a presence channel, as the user.
    case subscribe(client: Int, channel: Int, user: Int)
    case unsubscribe(client: Int, channel: Int)
    case signIn(client: Int, user: Int)
    case disconnect(client: Int)
    case publish(server: Int, channel: Int)
    /// A server's link breaks; the first `arriving` orders arrive at once, the rest later.
    case cut(server: Int, arriving: Int)
    case reconnect(server: Int)
    case arrive(count: Int)
    /// A server stops for a while, like a process without CPU time.
    case stop(server: Int)
    case go(server: Int)
    /// A server crashes, with its clients.
    case kill(server: Int)
    case start(server: Int)
    case resign(server: Int)
    case flush
    case replace
    /// Redis' clock jumps, in milliseconds.
    case skew(Int)
    /// All faults end, and the checks run.
    case calm
  }

  package var steps: [Step]

  package init(_ steps: [Step]) { self.steps = steps }

  package init(seed: UInt64) {
    var random = Draw(seed: seed)
    // Half of the schedules have no faults; their results must be exact.
    let hasFaults = random.below(2) == 1
    let length = 20 + random.below(60)
    steps = (0..<2).map { .connect(server: $0) }
    // In half of the schedules events have serials.
    let hasV2 = random.below(2) == 1
    if hasV2 { steps += [.settle, .connectV2(server: 0), .settle, .wait(400), .settle] }
    // Half of the schedules begin with clients that know each other.
    if random.below(2) == 1 { steps += Self.acquaintance(&random) }
    for _ in 0..<length {
      if hasV2, random.below(5) == 0 {
        steps.append(.connectV2(server: random.below(Simulation.serverCount)))
      }
      steps.append(Self.step(&random, hasFaults: hasFaults))
    }
    steps.append(.calm)
  }

  private static func acquaintance(_ random: inout Draw) -> [Step] {
    var steps: [Step] = (0..<4).map { .connect(server: $0 % Simulation.serverCount) }
    for client in 0..<6 {
      steps.append(.subscribe(client: client, channel: 2, user: random.below(3)))
    }
    return steps + [.settle]
  }

  private static func step(_ random: inout Draw, hasFaults: Bool) -> Step {
    let server = random.below(Simulation.serverCount)
    let client = random.below(8)
    let channel = random.below(Simulation.channels.count)
    let user = random.below(3)
    switch random.below(hasFaults ? 38 : 26) {
    case 0, 1: return .connect(server: server)
    case 2..<8: return .subscribe(client: client, channel: channel, user: user)
    case 8..<11: return .unsubscribe(client: client, channel: channel)
    case 11: return .signIn(client: client, user: user)
    case 12: return .disconnect(client: client)
    case 13..<16: return .publish(server: server, channel: channel)
    case 16..<24: return .deliver(count: 1 + random.below(12), draw: random.next())
    case 24: return random.below(3) == 0 ? .settle : .wait([1, 10, 200, 2100][random.below(4)])
    case 25: return .wait(random.below(3000))
    case 26, 27: return .cut(server: server, arriving: random.below(5))
    case 28, 29: return .reconnect(server: server)
    case 30: return .arrive(count: 1 + random.below(6))
    case 31: return random.below(2) == 0 ? .stop(server: server) : .go(server: server)
    case 32: return random.below(2) == 0 ? .kill(server: server) : .start(server: server)
    case 33: return [.flush, .replace, .resign(server: server)][random.below(3)]
    case 34: return .wait(3000 + random.below(6000))
    case 35, 36: return .settle
    default: return .skew(random.below(4000) - 2000)
    }
  }

  package var hasFaults: Bool {
    steps.contains {
      switch $0 {
      case .cut, .kill, .stop, .flush, .replace, .skew, .resign: true
      default: false
      }
    }
  }

  package var description: String { steps.map { "  \($0)" }.joined(separator: "\n") }

  /// Returns the shortest failing schedule that was found.
  package func shrunk() -> Schedule {
    var best = self
    var size = max(best.steps.count / 2, 1)
    while true {
      var place = 0
      var hasShrunk = false
      while place < best.steps.count {
        var shorter = best
        shorter.steps.removeSubrange(place..<min(place + size, best.steps.count))
        if Simulation.run(shorter) != nil {
          (best, hasShrunk) = (shorter, true)
        } else {
          place += size
        }
      }
      if size == 1, !hasShrunk { return best }
      size = max(size / 2, 1)
    }
  }
}

/// Random numbers from a seed (SplitMix64).
package struct Draw: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var bits = state
    bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
    return bits ^ (bits >> 31)
  }

  package mutating func below(_ limit: Int) -> Int { Int(truncatingIfNeeded: next() >> 33) % limit }
}
