/// A client of server-sent events (HTML Living Standard section 9.2).
///
/// ```swift
/// let source = EventSource(url: "https://example.com/stream")
/// source.addEventListener("price") { id, event, data in handle(data) }
/// source.connect()
/// ```
///
/// The source has its own thread, or shares a ``PusherRuntime``. The thread does the network work
/// and calls all handlers, one at a time and in order, without a lock. A blocked handler delays
/// this source but loses nothing. All members can be used from any thread.
///
/// After its end or loss the stream is requested again, from the last event with an ID, as
/// ``EventSourceSettings/reconnect`` says. With ``ReconnectPolicy/Mode/never`` you decide in
/// ``onComplete(_:)``. The connection closes with the last reference to the source. The source
/// keeps its handlers, which must capture it weakly, `[weak source] in`.
///
/// A `for await` over ``messages(buffering:)`` or ``feed(buffering:)`` waits while the source
/// reconnects. It ends without an error: by ``disconnect()``, with the last reference to the
/// source, with a 204, with a loss that no attempt follows (``failure`` has the reason), and with
/// its task.
/// A `break` leaves the loop alone, and the source stays connected.
public final class EventSource: Sendable {
  private let core: EventSourceCore

  /// Creates a source that is not connected.
  ///
  /// An invalid `url` fails when connecting. Credentials and Host in `headers` do not follow a
  /// redirect to another server. `Last-Event-ID` sets the start, as in `connect(lastEventId:)`; IDs
  /// of events replace it.
  public init(
    url: String, headers: [String: String] = [:],
    settings: EventSourceSettings = EventSourceSettings()
  ) { core = EventSourceCore(url: url, headers: headers, settings: settings) }

  deinit { core.shutDown() }

  /// URL of the stream.
  public var url: String { core.url }
  /// Header fields of every request, without those of
  /// ``EventSourceSettings/headersForEachConnection``.
  public var headers: [String: String] { core.headers }
  /// Delay before a new attempt, in milliseconds: the stream's last value, initially 3000.
  public var retryTime: Int { core.state.withLock { $0.retryTime } }
  /// ID of the last event; `nil` if no event since `connect` had one.
  public var lastEventId: String? { core.state.withLock { $0.lastEventID } }
  /// Reason of the last loss or failed attempt.
  ///
  /// `nil` while a stream is open, after `connect` and ``disconnect()``, and after a stream that
  /// the server ended properly. So it tells why a sequence of ``messages(buffering:)`` or
  /// ``feed(buffering:)`` has ended.
  public var failure: EventSourceError? { core.state.withLock { $0.failure } }
  /// State of the source.
  public var readyState: EventSourceState { core.state.withLock { $0.readyState } }

  /// Requests the stream, after the event `lastEventId` if given; does nothing unless closed.
  public func connect(lastEventId: String? = nil) { core.connect(lastEventID: lastEventId) }

  /// Closes the stream from any state; no attempt or event follows.
  public func disconnect() { core.disconnect() }

  /// Types of events with listeners, sorted.
  public func events() -> [String] { core.state.withLock { $0.listeners.names.sorted() } }

  /// Calls `handler` when a stream begins, also after each reconnect.
  public func onOpen(_ handler: @escaping @Sendable () -> Void) {
    core.state.withLock { $0.openHandlers.append(handler) }
  }

  /// Calls `handler` when the source is closed and does not reconnect.
  ///
  /// The arguments are the status of the last response, whether the standard allows another
  /// request, and the error. There is no error after ``disconnect()`` and after a 204.
  public func onComplete(
    _ handler:
      @escaping @Sendable (_ status: Int?, _ shouldReconnect: Bool?, _ error: EventSourceError?) ->
      Void
  ) { core.state.withLock { $0.completeHandlers.append(handler) } }

  /// Calls `handler` for each event of the type `message`, which is the default type.
  public func onMessage(
    _ handler: @escaping @Sendable (_ id: String?, _ event: String?, _ data: String?) -> Void
  ) { core.state.withLock { $0.messageHandlers.append(handler) } }

  /// Calls `handler` for each event of this type; a type may have several handlers.
  public func addEventListener(
    _ event: String,
    handler: @escaping @Sendable (_ id: String?, _ event: String?, _ data: String?) -> Void
  ) { core.state.withLock { $0.listeners[event, default: []].append(handler) } }

  /// Calls `handler` for each comment, such as a heartbeat, with the text after its colon.
  ///
  /// One space after the colon is dropped. A comment is no event: sequences do not have it.
  public func onComment(_ handler: @escaping @Sendable (_ comment: String) -> Void) {
    core.state.withLock { $0.commentHandlers.append(handler) }
  }

  /// Removes the handlers of this type, but not those of ``onMessage(_:)``.
  public func removeEventListener(_ event: String) {
    core.state.withLock { $0.listeners[event] = nil }
  }

  /// All events as a sequence, until the source is closed; ``failure`` then has the reason.
  ///
  /// Call this before `connect`. Cancelling the task that reads closes the source, unless another
  /// sequence, a listener or ``onMessage(_:)`` gets its events. By default a slow reader loses
  /// events. The sequence skips the places where events are missing: ``onDropped(_:)`` and
  /// ``onGap(_:)`` report them, and ``feed(buffering:)`` marks them.
  public func messages(buffering: PusherBuffering = .newest(1024)) -> EventSourceMessages {
    EventSourceMessages(core.messages(buffering, reportsDrops: true))
  }

  /// All events as a sequence that also marks losses and gaps; see ``PusherFeedElement``.
  public func feed(buffering: PusherBuffering = .newest(1024)) -> EventSourceFeed {
    EventSourceFeed(core.messages(buffering, reportsDrops: false))
  }

  /// Calls `handler` after the stream was requested again, before further events.
  ///
  /// A server that keeps its events sends those of the gap. Others do not, and they are missing.
  public func onGap(_ handler: @escaping @Sendable (_ gap: PusherGap) -> Void) {
    core.state.withLock { $0.gapHandlers.append(handler) }
  }

  /// Calls `handler` with the number of events that slow readers of ``messages(buffering:)`` did
  /// not get since the last call.
  ///
  /// The first call comes immediately, further ones at most once a second.
  public func onDropped(_ handler: @escaping @Sendable (_ count: Int) -> Void) {
    core.state.withLock { $0.dropHandlers.append(handler) }
  }
}

/// State of an event source, with the numbers of the standard.
public enum EventSourceState: Int, Sendable, CaseIterable {
  /// The stream is requested, or will be after a delay.
  case connecting = 0
  /// Events may arrive.
  case open = 1
  /// There is no stream; only `connect` requests one.
  case closed = 2
}

/// Event of an ``EventSource``.
public struct EventSourceMessage: Sendable, Equatable {
  /// Last event ID, set by this event or an earlier one; `nil` if there is none.
  public let id: String?
  /// Event type; `message` if the event names none.
  public let event: String
  /// Data lines, joined by line feeds.
  public let data: String
}

/// Request and time limits of an ``EventSource``.
public struct EventSourceSettings: Sendable {
  /// HTTP method.
  public var method = "GET"
  /// Body of the request.
  public var body: [UInt8] = []
  /// Supplies further header fields for each attempt, such as a fresh token.
  ///
  /// They replace fields of the same name. A thrown error fails the attempt as an unreachable
  /// server does: ``reconnect`` decides whether another one follows, and ``EventSource/failure``
  /// has the error's text. To end instead, call ``EventSource/disconnect()`` in the closure. Its
  /// task is cancelled after ``connectTimeout``, which includes it, and by
  /// ``EventSource/disconnect()``.
  public var headersForEachConnection: (@Sendable () async throws -> [String: String])?
  /// Retries; the maximum delay also limits the delay that a server may ask for.
  public var reconnect = ReconnectPolicy()
  /// Delay before a new attempt, until the stream sets one.
  public var reconnectionTime = Duration.seconds(3)
  /// Maximum silence, comments included, before the stream is closed and requested again.
  public var silenceTimeout: Duration?
  /// Maximum time from name resolution, or from the call of ``headersForEachConnection``, to the
  /// response head, redirects included.
  public var connectTimeout = Duration.seconds(10)
  /// Maximum size of one event's data, in bytes; a larger event ends the source.
  public var maximumEventSize = 16 << 20
  /// Allows compression; some servers then delay events.
  public var acceptsCompression = false
  /// Checks of the server's certificate, and the client's certificate.
  public var tls = TLSConfiguration()
  /// Proxies and environment variables; neither is used by default.
  public var network = PusherNetwork()
  /// Thread shared with other clients and sources; `nil` for an own thread.
  public var runtime: PusherRuntime?

  /// Creates settings that fit most servers.
  public init() {}

  /// PEM file with the certificates to trust instead of the system's; same as in ``tls``.
  public var caFile: String? {
    get { tls.caFile }
    set { tls.caFile = newValue }
  }
}

/// Reason why an event stream ended or could not be opened.
public typealias EventSourceError = ConnectionLoss

/// State of an ``EventSource`` that all threads share, and the orders for its own thread.
private final class EventSourceCore: Sendable {
  typealias MessageHandler = @Sendable (_ id: String?, _ event: String?, _ data: String?) -> Void
  typealias CompleteHandler = @Sendable (Int?, Bool?, EventSourceError?) -> Void

  struct Status {
    var readyState = EventSourceState.closed
    var retryTime: Int
    var lastEventID: String?
    /// Reason of the last loss or failed attempt; `nil` if a stream or `disconnect` followed.
    var failure: EventSourceError?
    /// Number of `connect` and `disconnect` calls; identifies results of an earlier call.
    var generation = 0
    var isShutDown = false
    var openHandlers: [@Sendable () -> Void] = []
    var completeHandlers: [CompleteHandler] = []
    var messageHandlers: [MessageHandler] = []
    var commentHandlers: [@Sendable (String) -> Void] = []
    /// Number of questions for header fields; identifies answers to an earlier question.
    var questions = 0
    var listeners = NameTable<[MessageHandler]>()
    var gapHandlers: [@Sendable (PusherGap) -> Void] = []
    var dropHandlers: [@Sendable (Int) -> Void] = []
    var streams: [ObjectIdentifier: EventQueue<EventSourceMessage>] = [:]

    var isRead: Bool { !(streams.isEmpty && messageHandlers.isEmpty && listeners.isEmpty) }
  }

  let url: String
  let headers: [String: String]
  let settings: EventSourceSettings
  let state: Locked<Status>
  let readers = SlowReaders()
  let thread: OnDemandThread<EventSourceDriver>

  init(url: String, headers: [String: String], settings: EventSourceSettings) {
    (self.url, self.headers, self.settings) = (url, headers, settings)
    thread = OnDemandThread(settings.runtime?.thread ?? LoopThread(name: "pusher-stream"))
    state = Locked(Status(retryTime: settings.reconnectionTime.inMilliseconds))
  }

  func connect(lastEventID: String?) {
    let generation = state.withLock { state -> Int? in
      guard state.readyState == .closed else { return nil }
      state.readyState = .connecting
      state.generation += 1
      (state.lastEventID, state.failure) = (lastEventID, nil)
      return state.generation
    }
    guard let generation else { return }
    thread.post {
      $0.connect(generation, lastEventID ?? "")
    } begin: { [self] in
      EventSourceDriver(loop: $0, core: self)
    } failed: { [self] in
      completed(generation, status: nil, shouldReconnect: false, .network($0))
    }
  }

  func disconnect() {
    let generation = state.withLock { state -> Int? in
      guard state.readyState != .closed else { return nil }
      (state.readyState, state.failure) = (.closed, nil)
      state.generation += 1
      return state.generation
    }
    guard let generation else { return }
    // A `connect` on another thread may not have posted its order yet.
    thread.post {
      $0.disconnect(generation)
    } begin: { [self] in
      EventSourceDriver(loop: $0, core: self)
    } failed: { [self] _ in
      completed(nil, status: nil, shouldReconnect: false, nil)
    }
  }

  func shutDown() {
    let streams = state.withLock { state in
      state.generation += 1
      (state.readyState, state.isShutDown) = (.closed, true)
      defer { state.streams.removeAll() }
      return state.streams.values
    }
    for stream in streams { stream.finish() }
    thread.post { $0.drop() }
  }

  func messages(
    _ buffering: PusherBuffering, reportsDrops: Bool
  ) -> StreamReader<EventSourceMessage> {
    let drops = reportsDrops ? readers : nil
    let queue = EventQueue<EventSourceMessage>(buffering) { [weak self] isBehind in
      guard let self, readers.change(isBehind) else { return }
      thread.post { $0.pauseWhileBehind() }
    } whenDropped: {
      drops?.noteDropped()
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

  /// Notes a result of the call `generation`; `nil` if another call has followed.
  private func note<Result>(_ generation: Int, _ body: (inout Status) -> Result) -> Result? {
    state.withLock { $0.generation == generation ? body(&$0) : nil }
  }

  func opened(_ generation: Int) {
    let handlers = note(generation) { state in
      (state.readyState, state.failure) = (.open, nil)
      return state.openHandlers
    }
    for handler in handlers ?? [] { handler() }
  }

  func reconnecting(_ generation: Int, after failure: EventSourceError?) {
    _ = note(generation) { ($0.readyState, $0.failure) = (.connecting, failure) }
  }

  func noteRetryTime(_ time: Int, _ generation: Int) {
    _ = note(generation) { $0.retryTime = time }
  }

  func received(_ message: EventSourceMessage, retryTime: Int, _ generation: Int) {
    let recipients = note(generation) {
      state -> ([MessageHandler], [EventQueue<EventSourceMessage>]) in
      state.lastEventID = message.id
      state.retryTime = retryTime
      var handlers = message.event == "message" ? state.messageHandlers : []
      if !state.listeners.isEmpty { handlers += state.listeners[message.event] ?? [] }
      return (handlers, state.streams.isEmpty ? [] : Array(state.streams.values))
    }
    guard let (handlers, streams) = recipients else { return }
    for handler in handlers { handler(message.id, message.event, message.data) }
    for stream in streams { stream.add(message) }
  }

  func commented(_ text: ByteView, _ generation: Int) {
    guard let handlers = note(generation, \.commentHandlers), !handlers.isEmpty else { return }
    let comment = text.text
    for handler in handlers { handler(comment) }
  }

  func missed(_ gap: PusherGap, _ generation: Int) {
    let recipients = note(generation) { ($0.gapHandlers, $0.streams.values) }
    guard let (handlers, streams) = recipients else { return }
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
      guard state.readyState == .closed else { return (state.completeHandlers, []) }
      defer { state.streams.removeAll() }
      return (state.completeHandlers, Array(state.streams.values))
    }
    for handler in handlers { handler(status, shouldReconnect, error) }
    for stream in streams { stream.finish() }
  }
}

/// Runs on an event source's thread: executes its orders and reports their results.
private final class EventSourceDriver: LoopMember, EventSink {
  private let loop: EventLoop
  private let core: EventSourceCore
  /// Keeps the driver as its sink, until ``drop()``.
  private var feed: EventStreamFeed?
  private var generation = 0
  /// The open question for header fields.
  private var question: (number: Int, completion: Completion, task: Task<Void, Never>)?
  private lazy var drops = DropReporter(loop, core.readers) { [unowned self] in
    core.reportDropped($0)
  }
  /// True after the thread asked all members to end; no stream may follow.
  private var isEnding = false

  init(loop: EventLoop, core: EventSourceCore) { (self.loop, self.core) = (loop, core) }

  func beginRound() {
    drops.beginRound()
    core.thread.serve(self, on: loop) {
      guard feed?.isClosed ?? true, isEnding || core.state.withLock({ $0.isShutDown })
      else { return false }
      drop()
      drops.end()
      return true
    }
  }

  func end() {
    isEnding = true
    core.disconnect()
  }

  /// Closes a stream of an earlier generation.
  fileprivate func disconnect(_ generation: Int) {
    let status = feed?.lastStatus
    if self.generation < generation { drop() }
    core.completed(nil, status: status, shouldReconnect: false, nil)
  }

  fileprivate func drop() {
    feed?.delegate = nil
    feed?.disconnect()
    feed = nil
  }

  /// Stops or resumes reading.
  fileprivate func pauseWhileBehind() { feed?.isPaused = core.readers.areBehind }

  fileprivate func connect(_ generation: Int, _ lastEventID: String) {
    guard core.state.withLock({ $0.generation }) == generation else { return }
    drop()
    if isEnding {
      return core.completed(generation, status: nil, shouldReconnect: false, nil)
    }
    self.generation = generation
    do {
      let feed = try make(lastEventID)
      self.feed = feed
      feed.delegate = self
      if core.settings.headersForEachConnection != nil { feed.fieldSource = self }
      feed.commentHandler = { [unowned self] in core.commented($0, self.generation) }
      pauseWhileBehind()
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
      url: url, headers: HTTPHeaders(inOrder: core.headers),
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
      lastEventID: lastEventID, sink: self)
  }

  func take(event: EventStreamEvent) -> SinkVerdict {
    guard let feed else { return .taken }
    let message = EventSourceMessage(
      id: event.lastEventID.isEmpty ? nil : event.lastEventID.text, event: event.type.text,
      data: event.data.text)
    core.received(message, retryTime: feed.reconnectionTime.inMilliseconds, generation)
    // A handler may have called `connect` or `disconnect`, which apply before the next event.
    core.thread.serve(self, on: loop) { false }
    return core.readers.areBehind ? .takenAndFull : .taken
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

  /// The reader may have caught up already.
  func feedSinkIsFull() { pauseWhileBehind() }

  func feed(exchanged text: @autoclosure () -> String, isSent: Bool) {}
  func feedClosed() {}
}

extension EventSourceDriver: FieldSource {
  func fields(completion: @escaping Completion) {
    guard let ask = core.settings.headersForEachConnection else {
      return completion(.success(HTTPHeaders()))
    }
    let core = core
    let number = core.state.withLock { state in
      state.questions += 1
      return state.questions
    }
    // High priority, because a connection waits for the answer.
    let task = Task(priority: .high) {
      let answer: Result<[String: String], ExplainedError>
      do {
        answer = .success(try await ask())
      } catch { answer = .failure(ExplainedError("headersForEachConnection: \(error)")) }
      core.thread.post { $0.answered(number, answer) }
    }
    question = (number, completion, task)
  }

  func cancel() {
    question?.task.cancel()
    question = nil
  }

  /// Ignores an answer to an earlier question.
  private func answered(_ number: Int, _ answer: Result<[String: String], ExplainedError>) {
    guard let question, question.number == number else { return }
    self.question = nil
    question.completion(answer.map(HTTPHeaders.init(inOrder:)))
  }
}

extension HTTPHeaders {
  /// Creates fields in the order of their names.
  fileprivate init(inOrder fields: [String: String]) {
    self.init(fields.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
  }
}

extension ConnectionLoss {
  /// The loss, unless the server ended the stream properly.
  fileprivate var failure: ConnectionLoss? { self == .ended ? nil : self }
}

extension Duration { fileprivate var inMilliseconds: Int { Int(wholeNanoseconds / 1_000_000) } }
