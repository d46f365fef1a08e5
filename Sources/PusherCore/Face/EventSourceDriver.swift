/// Runs on an event source's thread: executes its tasks and reports their results.
final class EventSourceDriver: LoopMember {
  private let loop: EventLoop
  fileprivate let core: EventSourceCore
  private var feed: EventStreamFeed?
  private var generation = 0
  private lazy var drops = DropReporter(loop, core.drops) { [unowned self] in
    core.reportDropped($0)
  }
  private var isShuttingDown = false
  /// True after the thread asked all members to end; no stream may follow.
  private var isEnding = false

  init(loop: EventLoop, core: EventSourceCore) {
    self.loop = loop
    self.core = core
  }

  func beginRound() {
    drops.beginRound()
    carryOutTasks()
    if isShuttingDown || isEnding, feed == nil {
      drops.end()
      core.leave(self, loop)
    }
  }

  func end() {
    isEnding = true
    core.disconnect()
  }

  private func carryOutTasks() {
    while true {
      let tasks = core.takeTasks()
      if tasks.isEmpty { return }
      for task in tasks { carryOut(task) }
    }
  }

  private func carryOut(_ task: EventSourceCore.Task) {
    switch task {
    case .connect(let generation, let lastEventID):
      drop()
      if isEnding {
        core.completed(generation, status: nil, shouldReconnect: false, nil)
      } else {
        connect(generation, lastEventID)
      }
    case .disconnect:
      let status = feed?.lastStatus
      drop()
      core.completed(nil, status: status, shouldReconnect: false, nil)
    case .shutDown:
      drop()
      isShuttingDown = true
    case .read: feed?.isPaused = core.readingHold.isHeld
    }
  }

  private func drop() {
    feed?.delegate = nil
    feed?.disconnect()
    feed = nil
  }

  private func connect(_ generation: Int, _ lastEventID: String) {
    self.generation = generation
    do {
      let feed = try make(lastEventID)
      self.feed = feed
      feed.delegate = self
      feed.isPaused = core.readingHold.isHeld
      feed.connect()
    } catch {
      core.completed(generation, status: nil, shouldReconnect: false, .invalidRequest("\(error)"))
    }
  }

  private func make(_ lastEventID: String) throws -> EventStreamFeed {
    let settings = core.settings
    let url = try HTTPURL(parsing: core.url)
    guard url.scheme == .http || url.scheme == .https else {
      throw HTTPError.invalidURL("its scheme is neither http nor https")
    }
    let destination = Destination(
      url: url,
      headers: HTTPHeaders(core.headers.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }),
      routing: try settings.network.routing(), tls: settings.tls, trust: settings.network.trust)
    let request = EventStreamSettings(
      method: settings.method, body: settings.body, acceptsCompression: settings.acceptsCompression,
      limits: EventStreamLimits(
        line: settings.maximumEventSize + 64, event: settings.maximumEventSize))
    // Keeps the delay that an earlier stream asked for.
    let wait = core.state.withLock { $0.retryTime }
    let options = EventSourceOptions(
      reconnect: settings.reconnect, reconnectionTime: .milliseconds(wait),
      connectTimeout: settings.connectTimeout, silenceTimeout: settings.silenceTimeout)
    return try EventStreamFeed(
      loop: loop, destination: destination, settings: request, options: options,
      lastEventID: lastEventID, sink: DriverSink(self))
  }

  /// Passes events to the driver, which the feed must not retain.
  private final class DriverSink: EventSink {
    private unowned let driver: EventSourceDriver

    init(_ driver: EventSourceDriver) { self.driver = driver }

    func take(event: EventStreamEvent) -> SinkVerdict {
      driver.received(event)
      return driver.core.readingHold.isHeld ? .takenAndFull : .taken
    }
  }

  private func received(_ event: EventStreamEvent) {
    guard let feed else { return }
    let message = EventSourceMessage(
      id: event.lastEventID.isEmpty ? nil : event.lastEventID.text, event: event.type.text,
      data: event.data.text)
    core.received(message, retryTime: feed.reconnectionTime.inMilliseconds, generation)
    // A handler may have called `connect` or `disconnect`, which apply before the next event.
    carryOutTasks()
  }
}

extension EventSourceDriver: FeedDelegate {
  func feed(reports event: ConnectionEvent, at now: Instant) {
    switch event {
    case .opened: core.opened(generation)
    case .reconnectionTime(let time): core.noteRetryTime(time.inMilliseconds, generation)
    case .disconnected(let loss, _, .some, _):
      core.reconnecting(generation, after: loss.failure)
    case .ended(let end): ended(end, status: feed?.lastStatus)
    case .gap(let start, let end): core.missed(PusherGap(from: start, to: end, at: now), generation)
    case .upgraded, .redirected, .disconnected, .resumedElsewhere: break
    }
  }

  private func ended(_ end: ConnectionEnd, status: Int?) {
    switch end {
    case .asked: break
    case .finished: core.completed(generation, status: status, shouldReconnect: false, nil)
    case .lost(let loss, _), .retriesExhausted(let loss, _, _):
      core.completed(
        generation, status: status, shouldReconnect: !loss.endsEventSource, loss.failure)
    }
  }

  func feedSinkIsFull() {
    // The reader may have caught up already, and `read` may have come before this call.
    feed?.isPaused = core.readingHold.isHeld
  }

  func feed(exchanged text: @autoclosure () -> String, isSent: Bool) {}
  func feedClosed() {}
}

extension ConnectionLoss {
  /// The loss, unless the server ended the stream properly.
  fileprivate var failure: ConnectionLoss? { self == .ended ? nil : self }
}

extension Duration { fileprivate var inMilliseconds: Int { Int(wholeNanoseconds / 1_000_000) } }
