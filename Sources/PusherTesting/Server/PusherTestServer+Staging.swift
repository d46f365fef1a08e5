internal import PusherCore
internal import PusherServer

/// What goes wrong, and what is going on.
extension PusherTestServer {
  // MARK: Faults

  /// Lets something go wrong from now on; faults add up, and of several the first that is due happens.
  ///
  /// - Throws: ``PusherTestServerError/invalidFault(_:)``, and ``PusherTestServerError/stopped``.
  public func stage(_ faults: PusherTestFault...) async throws(PusherTestServerError) {
    var staged: [StagedFault] = []
    for fault in faults { staged.append(try fault.staged()) }
    let all = staged
    guard await ask({ $0.stage(all) }) != nil else { throw .stopped }
  }

  /// Takes all faults back; what has happened to a connection stays.
  public func clearFaults() async {
    await ask { $0.context.faults.removeAll() }
  }

  /// Ends the connections of all clients without a close frame, once, as when a network breaks.
  public func dropConnections() async {
    await ask { $0.dropClients() }
  }

  /// Closes the connections of all clients with a code, once.
  ///
  /// - Throws: ``PusherTestServerError/invalidFault(_:)`` for a code that may not stand in a close frame.
  public func closeConnections(
    code: Int = 4200, reason: String = "closed by the test"
  ) async throws(PusherTestServerError) {
    let wire = CloseCode(rawValue: UInt16(clamping: code))
    guard code <= 4999, wire.isValidOnWire else {
      throw .invalidFault("code \(code) may not stand in a close frame")
    }
    await ask { $0.closeClients(wire, reason: reason) }
  }

  // MARK: What is going on

  /// How many clients are connected.
  public var connectionCount: Int {
    get async { await ask { $0.connectionCount } ?? 0 }
  }

  /// The channels that have subscribers, sorted.
  public var channels: [String] {
    get async { await ask { $0.hubs[0].occupiedChannels } ?? [] }
  }

  /// How many clients are subscribed to a channel.
  public func subscriptionCount(of channel: String) async -> Int {
    await ask { $0.hubs[0].subscriptionCount(channel) } ?? 0
  }

  /// The ids of a presence channel's members, in the order in which they came.
  public func members(of channel: String) async -> [String] {
    await ask { $0.hubs[0].members(of: channel).members.map(\.userID) } ?? []
  }

  /// What happens on the server from now on, until the server's last reference is gone.
  ///
  /// Each call gives a sequence of its own, which keeps all that was not read yet.
  public var events: AsyncStream<PusherTestEvent> { desk.observe() }

  /// Returns when a channel has so many subscribers, or more.
  ///
  /// Only then a test's events are sure to reach the program under test.
  ///
  /// - Throws: `CancellationError` when the task is cancelled first; there is no other limit to the wait.
  public func subscribers(of channel: String, reach count: Int) async throws {
    var isThere = await subscriptionCount(of: channel) >= count
    guard !isThere else { return }
    // Asked again, for somebody may have come before the sequence was there.
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

  /// What `question` answers on the server's thread; `nil` when the server is stopped.
  @discardableResult
  private func ask<Answer: Sendable>(
    _ question: @escaping @Sendable (Server) -> Answer
  ) async -> Answer? {
    await withCheckedContinuation { continuation in
      desk.post { server in continuation.resume(returning: server.map(question)) }
    }
  }
}
