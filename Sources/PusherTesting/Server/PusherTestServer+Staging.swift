internal import PusherCore
internal import PusherServer

/// Faults, and the state of the server.
extension PusherTestServer {
  // MARK: Faults

  /// Stages faults in addition to earlier ones; the first due fault wins.
  ///
  /// - Throws: ``PusherTestServerError/invalidFault(_:)``, and ``PusherTestServerError/stopped``.
  public func stage(_ faults: PusherTestFault...) async throws(PusherTestServerError) {
    var staged: [StagedFault] = []
    for fault in faults { staged.append(try fault.staged()) }
    let all = staged
    guard await ask({ $0.stage(all) }) != nil else { throw .stopped }
  }

  /// Removes all faults; earlier effects on connections stay.
  public func clearFaults() async { await ask { $0.context.faults.removeAll() } }

  /// Ends the connections of all clients once, without a close frame, as a broken network does.
  public func dropConnections() async { await ask { $0.dropClients() } }

  /// Closes the connections of all clients once, with a code.
  ///
  /// - Throws: ``PusherTestServerError/invalidFault(_:)`` for a code that close frames cannot have.
  public func closeConnections(
    code: Int = 4200, reason: String = "closed by the test"
  ) async throws(PusherTestServerError) {
    let wire = try CloseCode(ofTest: code)
    await ask { $0.closeClients(wire, reason: reason) }
  }

  // MARK: State

  /// Number of connected clients.
  public var connectionCount: Int { get async { await ask { $0.connectionCount } ?? 0 } }

  /// Occupied channels, sorted.
  public var channels: [String] { get async { await ask { $0.hubs[0].occupiedChannels } ?? [] } }

  /// Number of clients that are subscribed to a channel.
  public func subscriptionCount(of channel: String) async -> Int {
    await ask { $0.hubs[0].subscriptionCount(channel) } ?? 0
  }

  /// User IDs of a presence channel's members, in the order in which they joined.
  public func members(of channel: String) async -> [String] {
    await ask { $0.hubs[0].members(of: channel).members.map(\.userID) } ?? []
  }

  /// Events of the server from now on, until the server's last reference is gone.
  ///
  /// Each call returns its own sequence, which keeps all unread events.
  public var events: AsyncStream<PusherTestEvent> { desk.observe() }

  /// Returns when a channel has at least this number of subscribers.
  ///
  /// An earlier event of a test may miss the program under test.
  ///
  /// - Throws: `CancellationError` if the task is cancelled first; the wait has no other limit.
  public func subscribers(of channel: String, reach count: Int) async throws {
    var isThere = await subscriptionCount(of: channel) >= count
    guard !isThere else { return }
    // Checked again, because a subscriber may have come before the sequence existed.
    let changes = events
    isThere = await subscriptionCount(of: channel) >= count
    guard !isThere else { return }
    for await change in changes {
      if case .subscribed(_, channel, _) = change {
        if await subscriptionCount(of: channel) >= count { return }
      }
    }
    throw CancellationError()
  }

  /// Returns `nil` if the server is stopped.
  @discardableResult private func ask<Answer: Sendable>(
    _ question: @escaping @Sendable (Server) -> Answer
  ) async -> Answer? {
    await withCheckedContinuation { continuation in
      desk.post { server in continuation.resume(returning: server.map(question)) }
    }
  }
}
