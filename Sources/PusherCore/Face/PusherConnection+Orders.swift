internal import Synchronization

enum ClientOrder: Sendable {
  /// Start a new session, for this call of `connect()`.
  case connect(generation: Int)
  case disconnect
  /// Move to the place of the current options.
  case move
  case subscribe(PusherChannel)
  case unsubscribe(PusherChannel)
  case flush(PusherChannel)
  /// The caller's code answered the question with this number.
  case answered(question: Int, CallerAnswer)
  case signIn
  /// Report to the delegate that the channel cannot be subscribed.
  case refuse(PusherChannel, SubscriptionFailure)
  /// Release handlers that were unbound.
  case trim
  /// Resume reading, unless a reader is behind.
  case read
  case shutDown

  /// True if the order waits for a thread.
  fileprivate var outlivesIdleness: Bool {
    if case .refuse = self { true } else { false }
  }
}

extension PusherConnection {
  /// Enqueues an order for the client's thread.
  ///
  /// There is no thread before the first `connect()`. That call reads all wanted channels itself,
  /// so only reports for the delegate are kept for it.
  func post(_ order: ClientOrder) {
    let wakeUp = state.withLock { state -> WakeUp? in
      guard !state.isShutDown, state.thread.hasThread || order.outlivesIdleness else { return nil }
      return state.thread.post(order)
    }
    wakeUp?.signal()
  }

  func takeOrders() -> [ClientOrder] { state.withLock { $0.thread.take() } }

  /// Stops or resumes reading for one reader.
  func hold(reading isBehind: Bool) {
    if readingHold.change(isBehind) { post(.read) }
  }

  func trim() { post(.trim) }

  // MARK: Connecting

  /// Same as ``Pusher/connect()``; works from any state but `connecting` and `connected`.
  public func connect() {
    let needsThread = state.withLock { state -> Bool? in
      guard !state.isShutDown, ![.connecting, .connected].contains(state.connectionState)
      else { return nil }
      state.generation += 1
      // A client that is reconnecting only tries sooner: the last reason is still the reason.
      if state.connectionState != .reconnecting { state.failure = nil }
      liveGeneration.store(state.generation, ordering: .relaxed)
      Self.change(&state, to: .connecting)
      defer { state.thread.hasThread = true }
      return !state.thread.hasThread
    }
    guard let needsThread else { return }
    if needsThread { startThread() }
    post(.connect(generation: state.withLock { $0.generation }))
  }

  /// Same as ``Pusher/disconnect()``.
  public func disconnect() {
    endSequences()
    let isNeeded = state.withLock { state -> Bool in
      state.failure = nil
      if [.disconnected, .disconnecting].contains(state.connectionState) { return false }
      liveGeneration.store(0, ordering: .relaxed)
      Self.change(&state, to: .disconnecting)
      return true
    }
    if isNeeded { post(.disconnect) }
  }

  /// Ends the sequences of events, because the client will not reconnect on its own.
  private func endSequences() {
    bindings.endSequences()
    for channel in state.withLock({ $0.channels.elements }) { channel.bindings.endSequences() }
    userState.bindings.endSequences()
    trim()
  }

  private func startThread() {
    thread.join { [self] loop in
      state.withLock { $0.thread.wakeUp = loop.wakeUp }
      return ClientDriver(loop: loop, connection: self)
    } failed: { [self] in
      threadFailed($0)
    }
  }

  /// Leaves the thread, unless new orders arrived just now.
  func leave(_ driver: ClientDriver) {
    guard state.withLock({ $0.thread.leave() }) else { return }
    thread.leave(driver, driver.loop)
  }

  /// Reports the failure on this thread, since there is no callback thread.
  func threadFailed(_ reason: String) {
    let failure = PusherConfigurationError.system(reason)
    let generation = state.withLock { state in
      state.thread = ThreadOrders()
      return state.generation
    }
    change(to: .disconnected, generation: generation, because: failure)
    tell(.failed(failure, willRetry: false))
  }

  func shutDown() {
    let (channels, observers, wakeUp) = state.withLock { state in
      // Without a thread nobody takes the orders, which hold the channels and the connection.
      let wakeUp = state.thread.post(.shutDown)
      if !state.thread.hasThread { state.thread = ThreadOrders() }
      state.isShutDown = true
      liveGeneration.store(0, ordering: .relaxed)
      Self.change(&state, to: .disconnected)
      state.changes = []
      (state.socketId, state.failure) = (nil, nil)
      defer { (state.channels, state.observers) = (NameTable(), [:]) }
      return (state.channels, state.observers.values, wakeUp)
    }
    for observer in observers { observer.finish() }
    for channel in channels.elements { channel.end() }
    bindings.unbindAll()
    userState.end()
    endNotices()
    userDataFetcher = nil
    wakeUp?.signal()
  }

  // MARK: State

  static func change(_ state: inout Status, to new: ConnectionState) {
    guard state.connectionState != new else { return }
    state.changes.append(StateChange(old: state.connectionState, new: new))
    state.connectionState = new
    for observer in state.observers.values { observer.add(new) }
  }

  /// Changes the state after the attempt `generation`, unless a newer call has replaced it.
  @discardableResult func change(
    to new: ConnectionState, generation: Int, socketId: String? = nil,
    because failure: (any Error)? = nil
  ) -> Bool {
    // Before the state changes: a caller that sees the state may already request a new sequence.
    let endsSequences = state.withLock { state -> Bool in
      guard new == .disconnected, state.gaveUp(generation) else { return false }
      // A reader may ask for the cause as soon as its sequence ends.
      state.failure = failure
      return true
    }
    if endsSequences { endSequences() }
    let isCurrent = state.withLock { state in
      guard state.generation == generation, !state.isShutDown,
        new == .disconnected || state.connectionState != .disconnecting
      else { return false }
      state.socketId = socketId
      // While an attempt runs, the reason of the last one is still the reason.
      let isTrying = new == .connecting || new == .reconnecting
      state.failure = failure ?? (isTrying ? state.failure : nil)
      if new == .disconnected { liveGeneration.store(0, ordering: .relaxed) }
      Self.change(&state, to: new)
      return true
    }
    if isCurrent, new == .disconnected, let failure {
      for channel in wantedChannels.elements { channel.noteGaveUp(failure) }
    }
    deliverChanges()
    return isCurrent
  }

  /// Reports state changes to the delegate; only on the callback thread.
  func deliverChanges() {
    while true {
      let changes = state.withLock { state in
        defer { state.changes = [] }
        return state.changes
      }
      if changes.isEmpty { return }
      for change in changes { tell(.changed(from: change.old, to: change.new)) }
    }
  }
}
