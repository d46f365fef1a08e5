/// State of an ``EventSource`` that all threads share, and the tasks for its own thread.
final class EventSourceCore: Sendable {
  typealias MessageHandler = @Sendable (_ id: String?, _ event: String?, _ data: String?) -> Void
  typealias CompleteHandler = @Sendable (Int?, Bool?, EventSourceError?) -> Void

  enum Task: Sendable {
    case connect(generation: Int, lastEventID: String)
    case disconnect
    /// Resume reading, unless a reader is behind.
    case read
    case shutDown
  }

  struct Status {
    var readyState = EventSourceState.closed
    var retryTime: Int
    var lastEventID: String?
    /// Reason of the last loss or failed attempt; `nil` if a stream or `disconnect` followed.
    var failure: EventSourceError?
    /// Number of `connect` calls; identifies results of an earlier call.
    var generation = 0
    var openHandlers: [@Sendable () -> Void] = []
    var completeHandlers: [CompleteHandler] = []
    var messageHandlers: [MessageHandler] = []
    var listeners = NameTable<[MessageHandler]>()
    var gapHandlers: [@Sendable (PusherGap) -> Void] = []
    var dropHandlers: [@Sendable (Int) -> Void] = []
    var streams: [ObjectIdentifier: EventQueue<EventSourceMessage>] = [:]
    fileprivate var thread = ThreadOrders<Task>()

    var isRead: Bool { !(streams.isEmpty && messageHandlers.isEmpty && listeners.isEmpty) }
  }

  let url: String
  let headers: [String: String]
  let settings: EventSourceSettings
  let state: Locked<Status>
  let readingHold = ReadingHold()
  let drops = DropCounter()
  private let thread: LoopThread

  init(url: String, headers: [String: String], settings: EventSourceSettings) {
    (self.url, self.headers, self.settings) = (url, headers, settings)
    thread = settings.runtime?.thread ?? LoopThread(name: "pusher-stream")
    let time = settings.reconnectionTime.wholeNanoseconds / 1_000_000
    state = Locked(Status(retryTime: Int(time)))
  }

  func connect(lastEventID: String?) {
    let (wakeUp, needsThread) = state.withLock { state -> (WakeUp?, Bool) in
      guard state.readyState == .closed else { return (nil, false) }
      state.readyState = .connecting
      state.generation += 1
      (state.lastEventID, state.failure) = (lastEventID, nil)
      defer { state.thread.hasThread = true }
      let task = Task.connect(generation: state.generation, lastEventID: lastEventID ?? "")
      return (state.thread.post(task), !state.thread.hasThread)
    }
    wakeUp?.signal()
    guard needsThread else { return }
    thread.join { [self] loop in
      state.withLock { $0.thread.wakeUp = loop.wakeUp }
      return EventSourceDriver(loop: loop, core: self)
    } failed: { [self] in
      threadFailed(.network($0))
    }
  }

  /// Reports that no thread could be made; another `connect` may succeed.
  func threadFailed(_ error: EventSourceError) {
    let generation = state.withLock { state in
      state.thread = ThreadOrders()
      return state.generation
    }
    completed(generation, status: nil, shouldReconnect: false, error)
  }

  func disconnect() {
    let wakeUp = state.withLock { state -> WakeUp? in
      guard state.readyState != .closed else { return nil }
      (state.readyState, state.failure) = (.closed, nil)
      state.generation += 1
      return state.thread.post(.disconnect)
    }
    wakeUp?.signal()
  }

  func shutDown() {
    let (streams, wakeUp) = state.withLock { state in
      state.generation += 1
      state.readyState = .closed
      defer { state.streams.removeAll() }
      return (
        Array(state.streams.values), state.thread.hasThread ? state.thread.post(.shutDown) : nil
      )
    }
    for stream in streams { stream.finish() }
    wakeUp?.signal()
  }

  func messages(
    _ buffering: PusherBuffering, reportsDrops: Bool
  ) -> StreamReader<EventSourceMessage> {
    let drops = reportsDrops ? drops : nil
    let queue = EventQueue<EventSourceMessage>(buffering) { [weak self] isBehind in
      guard let self, readingHold.change(isBehind) else { return }
      state.withLock { $0.thread.hasThread ? $0.thread.post(.read) : nil }?.signal()
    } whenDropped: {
      drops?.add()
    } whenCancelled: { [weak self] key, isTaskCancelled in
      self?.removeReader(key, isTaskCancelled: isTaskCancelled)
    }
    state.withLock { $0.streams[ObjectIdentifier(queue)] = queue }
    return StreamReader(queue)
  }

  /// A cancelled task closes the source unless something else reads it; a reader that leaves its
  /// loop may read again.
  private func removeReader(_ key: ObjectIdentifier, isTaskCancelled: Bool) {
    let isRead = state.withLock { state in
      state.streams.removeValue(forKey: key)
      return state.isRead
    }
    if isTaskCancelled, !isRead { disconnect() }
  }

  // MARK: From the source's thread

  func takeTasks() -> [Task] { state.withLock { $0.thread.take() } }

  /// Leaves the thread, unless new tasks arrived just now.
  func leave(_ driver: EventSourceDriver, _ loop: EventLoop) {
    guard state.withLock({ $0.thread.leave() }) else { return }
    thread.leave(driver, loop)
  }

  func opened(_ generation: Int) {
    let handlers = state.withLock { state -> [@Sendable () -> Void] in
      guard state.generation == generation else { return [] }
      (state.readyState, state.failure) = (.open, nil)
      return state.openHandlers
    }
    for handler in handlers { handler() }
  }

  func reconnecting(_ generation: Int, after failure: EventSourceError?) {
    state.withLock { state in
      guard state.generation == generation else { return }
      (state.readyState, state.failure) = (.connecting, failure)
    }
  }

  func noteRetryTime(_ time: Int, _ generation: Int) {
    state.withLock { if $0.generation == generation { $0.retryTime = time } }
  }

  func received(_ message: EventSourceMessage, retryTime: Int, _ generation: Int) {
    let (handlers, streams) = state.withLock {
      state -> ([MessageHandler], [EventQueue<EventSourceMessage>]) in
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

  func missed(_ gap: PusherGap, _ generation: Int) {
    let (handlers, streams) = state.withLock {
      state -> ([@Sendable (PusherGap) -> Void], [EventQueue<EventSourceMessage>]) in
      guard state.generation == generation else { return ([], []) }
      return (state.gapHandlers, Array(state.streams.values))
    }
    for handler in handlers { handler(gap) }
    for stream in streams { stream.add(gap) }
  }

  /// Reports events that slow readers did not get.
  func reportDropped(_ count: Int) {
    for handler in state.withLock({ $0.dropHandlers }) { handler(count) }
  }

  /// Reports that the source is closed; `generation` is `nil` after `disconnect`.
  func completed(
    _ generation: Int?, status: Int?, shouldReconnect: Bool, _ error: EventSourceError?
  ) {
    let (handlers, streams) = state.withLock {
      state -> ([CompleteHandler], [EventQueue<EventSourceMessage>]) in
      if let generation {
        guard state.generation == generation else { return ([], []) }
        (state.readyState, state.failure) = (.closed, error)
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
