/// What the threads of an ``EventSource`` share, and the orders from one to the other.
final class EventSourceCore: Sendable {
  typealias MessageHandler = @Sendable (_ id: String?, _ event: String?, _ data: String?) -> Void
  typealias CompleteHandler = @Sendable (Int?, Bool?, EventSourceError?) -> Void

  /// What the source's thread is to do.
  enum Task: Sendable {
    case connect(generation: Int, lastEventID: String)
    case disconnect
    case shutDown
  }

  struct Status {
    var readyState = EventSourceState.closed
    var retryTime: Int
    var lastEventID: String?
    /// Counts the calls of `connect`, so that what an earlier one led to can be told apart.
    var generation = 0
    var openHandlers: [@Sendable () -> Void] = []
    var completeHandlers: [CompleteHandler] = []
    var messageHandlers: [MessageHandler] = []
    var listeners = NameTable<[MessageHandler]>()
    var streams: [ObjectIdentifier: EventSourceMessages.Buffer] = [:]
    fileprivate var tasks: [Task] = []
    fileprivate var hasThread = false
    /// Set once the thread's loop runs.
    fileprivate var wakeUp: WakeUp?
  }

  let url: String
  let headers: [String: String]
  let settings: EventSourceSettings
  let state: Locked<Status>

  init(url: String, headers: [String: String], settings: EventSourceSettings) {
    self.url = url
    self.headers = headers
    self.settings = settings
    let time = settings.reconnectionTime.wholeNanoseconds / 1_000_000
    state = Locked(Status(retryTime: Int(time)))
  }

  func connect(lastEventID: String?) {
    let needsThread = state.withLock { state -> Bool in
      guard state.readyState == .closed else { return false }
      state.readyState = .connecting
      state.generation += 1
      state.lastEventID = lastEventID
      state.tasks.append(
        .connect(generation: state.generation, lastEventID: lastEventID ?? ""))
      let needsThread = !state.hasThread
      state.hasThread = true
      return needsThread
    }
    guard needsThread else { return wake() }
    if !DetachedThread.start({ [self] in EventSourceDriver.run(self) }) {
      threadFailed(.network("the system has no thread left"))
    }
  }

  /// There is no thread to ask for the stream; another `connect` may have more luck.
  func threadFailed(_ error: EventSourceError) {
    let generation = state.withLock { state in
      state.hasThread = false
      state.tasks.removeAll()
      return state.generation
    }
    completed(generation, status: nil, shouldReconnect: false, error)
  }

  func disconnect() {
    state.withLock { state in
      guard state.readyState != .closed else { return }
      state.readyState = .closed
      state.generation += 1
      state.tasks.append(.disconnect)
    }
    wake()
  }

  func shutDown() {
    let streams = state.withLock { state in
      state.generation += 1
      state.readyState = .closed
      if state.hasThread { state.tasks.append(.shutDown) }
      defer { state.streams.removeAll() }
      return Array(state.streams.values)
    }
    for stream in streams { stream.finish() }
    wake()
  }

  private func wake() {
    state.withLock { $0.wakeUp }?.signal()
  }

  // MARK: From the source's thread

  func threadBegan(_ wakeUp: WakeUp) {
    state.withLock { $0.wakeUp = wakeUp }
  }

  func takeTasks() -> [Task] {
    state.withLock { state in
      defer { state.tasks.removeAll() }
      return state.tasks
    }
  }

  func opened(_ generation: Int) {
    let handlers = state.withLock { state -> [@Sendable () -> Void] in
      guard state.generation == generation else { return [] }
      state.readyState = .open
      return state.openHandlers
    }
    for handler in handlers { handler() }
  }

  func reconnecting(_ generation: Int) {
    state.withLock { if $0.generation == generation { $0.readyState = .connecting } }
  }

  func noteRetryTime(_ time: Int, _ generation: Int) {
    state.withLock { if $0.generation == generation { $0.retryTime = time } }
  }

  /// Hands one event to everybody who wants it.
  func received(_ message: EventSourceMessage, retryTime: Int, _ generation: Int) {
    let (handlers, streams) = state.withLock {
      state -> ([MessageHandler], [EventSourceMessages.Buffer]) in
      guard state.generation == generation else { return ([], []) }
      state.lastEventID = message.id
      state.retryTime = retryTime
      var handlers = message.event == "message" ? state.messageHandlers : []
      if !state.listeners.isEmpty { handlers += state.listeners[message.event] ?? [] }
      return (handlers, state.streams.isEmpty ? [] : Array(state.streams.values))
    }
    for handler in handlers { handler(message.id, message.event, message.data) }
    for stream in streams { stream.add(message) }
  }

  /// The source is closed, by itself or by `disconnect`; `generation` is `nil` for the latter.
  func completed(
    _ generation: Int?, status: Int?, shouldReconnect: Bool, _ error: EventSourceError?
  ) {
    let (handlers, streams) = state.withLock {
      state -> ([CompleteHandler], [EventSourceMessages.Buffer]) in
      if let generation {
        guard state.generation == generation else { return ([], []) }
        state.readyState = .closed
      }
      defer { if state.readyState == .closed { state.streams.removeAll() } }
      return (
        state.completeHandlers, state.readyState == .closed ? Array(state.streams.values) : []
      )
    }
    for handler in handlers { handler(status, shouldReconnect, error) }
    for stream in streams { stream.finish() }
  }
}
