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
  private var clients: [ClientSession] {
    reception.connections.compactMap { $0.socket as? ClientSession }
  }

  /// Who is where in each app, in the order of the apps.
  package var hubs: [Hub] { applications.hubs }
}
