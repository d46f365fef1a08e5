/// A protocol's state machine, as a feed drives it; each machine documents these functions further.
package protocol FeedSession {
  /// What the machine asks its owner to do.
  associatedtype Output

  var deadline: Instant? { get }
  mutating func nextOutput() -> Output?
  mutating func connect(at now: Instant)
  mutating func disconnect(at now: Instant)
  mutating func tick(at now: Instant, stage: ConnectionStage?)
  mutating func noteActivity(at now: Instant)
  mutating func setReadingPaused(_ paused: Bool, at now: Instant)
  mutating func redirected(status: Int, to place: String)
  mutating func lost(_ loss: ConnectionLoss, at now: Instant)
}

extension Session: FeedSession {}
extension EventSourceSession: FeedSession {}

/// The owner of a feed of any protocol, called on the loop's thread.
package protocol FeedDelegate: AnyObject {
  /// The tap has answered ``TapVerdict/takenAndFull``: time to pause the feed, or to end it.
  func feedTapIsFull()
  /// Something happened to the connection.
  func feed(reports event: ConnectionEvent, at now: Instant)
  /// The session has ended and the socket, if there was one, is closed.
  func feedClosed()
  /// A message or a head came in or goes out, for a trace; sent messages may hold a signature.
  func feed(exchanged text: @autoclosure () -> String, isSent: Bool)
}

/// What every feed keeps besides its session and its connection.
package struct FeedState {
  fileprivate var isDraining = false
  fileprivate var hasEnded = false
  fileprivate var isPaused = false
  fileprivate(set) var isClosed = false
  fileprivate(set) var heardAt: Instant?
  fileprivate(set) var receivedBytes = 0
  /// What the next connection sends besides the fields of its destination.
  fileprivate(set) var freshFields = HTTPHeaders()

  package init() {}
}

/// A session that is driven on an event loop, over any number of connections.
///
/// It belongs to the loop's thread. The extension holds what both protocols share; a protocol adds its outputs and its
/// kind of connection.
package protocol Feed: LoopSource, FeedConnectionDelegate {
  associatedtype Machine: FeedSession
  associatedtype Connection: FeedConnection

  var loop: EventLoop { get }
  var session: Machine { get set }
  var connection: Connection? { get set }
  var state: FeedState { get set }
  /// The owner, kept until the feed is closed.
  var owner: (any FeedDelegate)? { get }

  /// Gives fields for each connection; `nil` where none change.
  var fieldSource: (any FieldSource)? { get }

  /// A connection that has not dialled yet.
  func makeConnection() -> Connection
  func perform(_ output: Machine.Output)
  /// Open questions of a connection that is gone, or about to go, need no answer.
  func forgetQuestions()
  func forgetOwner()
}

extension Feed {
  /// Whether the session has ended and no socket is left.
  package var isClosed: Bool { state.isClosed }

  /// When the last bytes of the server came; `nil` before the first.
  package var heardAt: Instant? { state.heardAt }

  /// Bytes that came from servers on all connections, heads among them, once TLS is taken off.
  package var receivedBytes: Int { state.receivedBytes }

  /// Dials for the first time.
  package func connect() {
    loop.add(self)
    perform { $0.connect(at: $1) }
  }

  /// Ends from any state, with a close frame if the protocol has one and there is a socket.
  package func disconnect() {
    perform { $0.disconnect(at: $1) }
  }

  /// Drops the socket when the closing handshake of ``disconnect()`` takes too long.
  package func abort() {
    disconnect()
    dropConnection()
  }

  /// Set while received events cannot be taken: the socket is then left unread.
  package var isPaused: Bool {
    get { state.isPaused }
    set {
      guard newValue != state.isPaused else { return }
      state.isPaused = newValue
      session.setReadingPaused(newValue, at: loop.now)
      if newValue {
        connection?.isPaused = true
      } else {
        connection?.resume()
      }
    }
  }

  /// Gives the session one input, then performs all its outputs.
  package func perform(_ input: (inout Machine, Instant) -> Void) {
    input(&session, loop.now)
    drain()
  }

  package func drain() {
    // Performing an output may cause another input; the outermost call performs them all.
    guard !state.isDraining else { return }
    state.isDraining = true
    defer { state.isDraining = false }
    while let output = session.nextOutput() { perform(output) }
  }

  // MARK: What both protocols do for their sessions

  package func dial() {
    dropConnection()
    guard let fieldSource else { return startConnection() }
    fieldSource.fields { [unowned self] result in
      switch result {
      case .success(let fields):
        state.freshFields = fields
        startConnection()
      case .failure(let error):
        perform { $0.lost(.dropped(error.description), at: $1) }
      }
    }
  }

  private func startConnection() {
    let connection = makeConnection()
    connection.isPaused = isPaused
    self.connection = connection
    connection.start()
  }

  /// Forgets the fields of a source, which are for the former server alone.
  func forgetFreshFields() {
    state.freshFields = HTTPHeaders()
  }

  package func closeConnection() {
    forgetAll()
    connection?.close()
  }

  package func dropConnection() {
    forgetAll()
    connection?.abort()
    connection = nil
    closeIfEnded()
  }

  private func forgetAll() {
    fieldSource?.cancel()
    forgetQuestions()
  }

  package func report(_ event: ConnectionEvent) {
    owner?.feed(reports: event, at: loop.now)
    guard case .ended = event else { return }
    state.hasEnded = true
    closeIfEnded()
  }

  package func closeIfEnded() {
    guard state.hasEnded, connection == nil, !isClosed else { return }
    state.isClosed = true
    loop.remove(self)
    let owner = owner
    forgetOwner()
    owner?.feedClosed()
  }

  /// Counts what came on another feed too.
  func count(bytesOf former: some Feed) {
    state.receivedBytes &+= former.receivedBytes
  }

  // MARK: The clock

  package var interest: LoopInterest { LoopInterest(deadline: session.deadline) }

  package func ready(_ events: PollEvents, at now: Instant) {}

  package func expired(at now: Instant) {
    let stage = connection?.stage
    perform { $0.tick(at: $1, stage: stage) }
  }

  // MARK: The connection

  package func connectionReceived(bytes count: Int, at now: Instant) {
    state.heardAt = now
    state.receivedBytes &+= count
    session.noteActivity(at: now)
  }

  package func connectionRedirected(status: Int, to place: String, at now: Instant) {
    perform { session, _ in session.redirected(status: status, to: place) }
  }

  package func connectionTapIsFull() {
    owner?.feedTapIsFull()
  }

  package func connectionEnded(_ loss: ConnectionLoss, at now: Instant) {
    forgetQuestions()
    connection = nil
    perform { $0.lost(loss, at: $1) }
    closeIfEnded()
  }
}

/// Takes events off a feed before the session reads them: the hot path.
///
/// A tap must not refer to the feed it is given to; the feed keeps it. Each protocol has its own kind of event, and the
/// other is never asked about.
package protocol FeedTap: AnyObject {
  /// Looks at one text message of a channels' connection; the view lasts for this call.
  func take(message: ByteView) -> TapVerdict

  /// Looks at one event of an event stream; its views last for this call.
  func take(event: EventStreamEvent) -> TapVerdict
}

extension FeedTap {
  package func take(message: ByteView) -> TapVerdict { .declined }
  package func take(event: EventStreamEvent) -> TapVerdict { .declined }
}

/// What a tap did with an event.
package enum TapVerdict {
  /// It was an application's event, and is done.
  case taken
  /// The same, and the feed must pause until its owner resumes it.
  case takenAndFull
  /// A message takes the general path; an event of an event stream is dropped.
  case declined
}
