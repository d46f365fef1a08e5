package import PusherCore

/// Functions for owners of an in-process server, called on its loop's thread between two rounds.
extension Server {
  /// Stages more faults; faults without an event count close connections at once.
  package func stage(_ faults: [StagedFault]) {
    context.faults.add(faults)
    stageGreetings(at: loop.now)
  }

  func stageGreetings(at now: Instant) { for session in clients { session.stageGreeting(at: now) } }

  package func dropClients() {
    let now = loop.now
    for connection in acceptor.connections where connection.socket != nil {
      connection.cut("dropped", at: now)
    }
  }

  package func closeClients(_ code: CloseCode, reason: String) {
    let now = loop.now
    for session in clients { session.close(code, reason: reason, at: now) }
  }

  var clients: [ClientSession] { acceptor.connections.compactMap { $0.socket as? ClientSession } }
  package var hubs: [Hub] { applications.hubs }
}

// Functions for owners of a single-node hub, which answers at once.
extension Hub {
  /// Occupied channels, sorted.
  package var occupiedChannels: [String] {
    guard case .answered(.channels(let names?)) = ask(.channels(prefix: ""), at: .beginning) else {
      return []
    }
    return names
  }

  package func subscriptionCount(_ channel: String) -> Int {
    facts(of: channel, at: .beginning).subscriptions
  }

  package func members(of channel: String) -> MemberList {
    facts(of: channel, at: .beginning).members
  }

  /// Last event of a cache channel, with its remaining lifetime.
  package func cached(_ channel: String, at now: Instant) -> CachedFacts? {
    facts(of: channel, at: now).cached
  }

  private func facts(of channel: String, at now: Instant) -> ChannelFacts {
    guard case .answered(.facts(let facts?)) = ask(.facts([channel], withMembers: true), at: now)
    else {
      return ChannelFacts(name: channel)
    }
    return facts.first ?? ChannelFacts(name: channel)
  }
}

extension Instant { fileprivate static let beginning = Instant(nanoseconds: 0) }
