package import PusherCore

/// For those who own the server in process; called on its loop's thread, between two rounds.
extension Server {
  /// Stages more faults; those that end connections without an event do so now.
  package func stage(_ faults: [StagedFault]) {
    context.faults.add(faults)
    stageGreetings(at: loop.now)
  }

  /// Lets the faults that end connections have those that are there.
  func stageGreetings(at now: Instant) {
    for session in clients { session.stageGreeting(at: now) }
  }

  /// Ends all sockets without a close frame.
  package func dropClients() {
    let now = loop.now
    for connection in reception.connections where connection.socket != nil {
      connection.cut("dropped", at: now)
    }
  }

  /// Closes all sockets with a code.
  package func closeClients(_ code: CloseCode, reason: String) {
    let now = loop.now
    for session in clients { session.close(code, reason: reason, at: now) }
  }

  /// The sockets of all apps.
  var clients: [ClientSession] {
    reception.connections.compactMap { $0.socket as? ClientSession }
  }

  /// Who is where in each app, in the order of the apps.
  package var hubs: [Hub] { applications.hubs }
}

// For those who own a hub that is its app's only node: the answers are there at once.
extension Hub {
  /// The names of the channels that somebody is subscribed to, sorted.
  package var occupiedChannels: [String] {
    guard case .answered(.channels(let names?)) = ask(.channels(prefix: ""), at: .beginning) else {
      return []
    }
    return names
  }

  /// How many sockets are subscribed to a channel.
  package func subscriptionCount(_ channel: String) -> Int {
    facts(of: channel, at: .beginning).subscriptions
  }

  /// The members of a presence channel.
  package func members(of channel: String) -> MemberList {
    facts(of: channel, at: .beginning).members
  }

  /// The last event of a cache channel, and how long it will still be kept; `nil` without a limit.
  package func cached(_ channel: String, at now: Instant) -> CachedFacts? {
    facts(of: channel, at: now).cached
  }

  private func facts(of channel: String, at now: Instant) -> ChannelFacts {
    guard case .answered(.facts(let facts?)) = ask(.facts([channel]), at: now) else {
      return ChannelFacts(name: channel)
    }
    return facts.first ?? ChannelFacts(name: channel)
  }
}

extension Instant {
  fileprivate static let beginning = Instant(nanoseconds: 0)
}
