internal import Synchronization

/// An order from any thread to the client's own.
enum ClientOrder: Sendable {
  /// Connect anew, for this call of `connect()`.
  case connect(generation: Int)
  case disconnect
  /// Go to where the options lead now.
  case move
  case subscribe(PusherChannel)
  case unsubscribe(PusherChannel)
  /// Send the client events that wait.
  case flush(PusherChannel)
  /// The user's own code has answered the question with this number.
  case answered(question: Int, CallerAnswer)
  /// Tell the server who the user is.
  case signIn
  /// The channel cannot be subscribed; only the delegate has to be told.
  case refuse(PusherChannel, SubscriptionFailure)
  /// Let go of handlers that were unbound.
  case trim
  /// Read the socket again, unless a reader is behind.
  case read
  case shutDown

  /// Whether it must wait for a thread, because it would be lost otherwise.
  fileprivate var outlivesIdleness: Bool {
    if case .refuse = self { true } else { false }
  }
}

extension PusherConnection {
  /// Lets the client's thread carry out `order`, in the order of calls.
  ///
  /// Before the first `connect()` there is no thread. That call looks at all wanted channels itself, so only reports
  /// for the delegate wait for it.
  func post(_ order: ClientOrder) {
    let wakeUp = state.withLock { state -> WakeUp? in
      guard !state.isShutDown, state.thread.hasThread || order.outlivesIdleness else {
        return nil
      }
      return state.thread.post(order)
    }
    wakeUp?.signal()
  }

  /// Takes what was posted.
  func takeOrders() -> [ClientOrder] { state.withLock { $0.thread.take() } }

  /// Leaves the socket unread, or no longer for this reader.
  func hold(reading isBehind: Bool) {
    if readingHold.change(isBehind) { post(.read) }
  }

  /// Lets the thread release unbound handlers that it may still hold.
  func trim() {
    post(.trim)
  }

  // MARK: Connecting

  /// Connects from any state but `connecting` and `connected`; while waiting to reconnect, at once.
  func connect() {
    let needsThread = state.withLock { state -> Bool? in
      switch state.connectionState {
      case .connecting, .connected: return nil
      case .disconnected, .disconnecting, .reconnecting: break
      }
      guard !state.isShutDown else { return nil }
      state.generation += 1
      state.failure = nil
      liveGeneration.store(state.generation, ordering: .relaxed)
      Self.change(&state, to: .connecting)
      defer { state.thread.hasThread = true }
      return !state.thread.hasThread
    }
    guard let needsThread else { return }
    if needsThread { startThread() }
    post(.connect(generation: state.withLock { $0.generation }))
  }

  /// Ends from any state.
  func disconnect() {
    endSequences()
    let isNeeded = state.withLock { state -> Bool in
      switch state.connectionState {
      case .disconnected, .disconnecting: return false
      case .connecting, .connected, .reconnecting: break
      }
      liveGeneration.store(0, ordering: .relaxed)
      Self.change(&state, to: .disconnecting)
      return true
    }
    if isNeeded { post(.disconnect) }
  }

  /// Ends the sequences of events, because the client will not connect again by itself.
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

  /// The driver is done; unless orders came just now, it leaves the thread.
  func leave(_ driver: ClientDriver) {
    guard state.withLock({ $0.thread.leave() }) else { return }
    thread.leave(driver, driver.loop)
  }

  /// There is no callback thread, so the delegate is called on this one.
  func threadFailed(_ reason: String) {
    endSequences()
    state.withLock { state in
      state.thread = ThreadOrders()
      liveGeneration.store(0, ordering: .relaxed)
      state.failure = PusherConfigurationError.system(reason)
      Self.change(&state, to: .disconnected)
    }
    deliverChanges()
    tell(.failed(PusherConfigurationError.system(reason), willRetry: false))
  }

  /// Ends everything; nothing works afterwards.
  func shutDown() {
    let (channels, observers, wakeUp) = state.withLock { state in
      // Without a thread the orders would never be taken, and they hold the channels, which hold the connection.
      let wakeUp = state.thread.post(.shutDown)
      if !state.thread.hasThread { state.thread = ThreadOrders() }
      state.isShutDown = true
      liveGeneration.store(0, ordering: .relaxed)
      Self.change(&state, to: .disconnected)
      state.changes = []
      state.socketId = nil
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
  ///
  /// - Parameter failure: Why there will be no connection.
  @discardableResult
  func change(
    to new: ConnectionState, generation: Int, socketId: String? = nil,
    because failure: (any Error)? = nil
  ) -> Bool {
    // Before the state shows it: a caller that sees the state may already ask for a new sequence.
    if new == .disconnected, state.withLock({ $0.gaveUp(generation) }) { endSequences() }
    let isCurrent = state.withLock { state in
      guard state.generation == generation, !state.isShutDown,
        new == .disconnected || state.connectionState != .disconnecting
      else { return false }
      state.socketId = socketId
      state.failure = failure
      if new == .disconnected { liveGeneration.store(0, ordering: .relaxed) }
      Self.change(&state, to: new)
      return true
    }
    deliverChanges()
    return isCurrent
  }

  /// Tells the delegate how the state has changed; only on the callback thread.
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
