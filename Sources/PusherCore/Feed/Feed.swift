/// The state machine of a protocol, driven by a feed.
package protocol FeedSession {
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
  /// The sink returned ``SinkVerdict/takenAndFull``: the owner should pause or end the feed.
  func feedSinkIsFull()
  func feed(reports event: ConnectionEvent, at now: Instant)
  func feedClosed()
  /// Traces a message or a head; sent messages may contain a signature.
  func feed(exchanged text: @autoclosure () -> String, isSent: Bool)
}

package struct FeedState {
  fileprivate var isDraining = false
  fileprivate var hasEnded = false
  fileprivate var isPaused = false
  fileprivate(set) var isClosed = false
  fileprivate(set) var heardAt: Instant?
  fileprivate(set) var receivedBytes = 0
  /// Fields for the next connection besides the fields of its destination.
  fileprivate(set) var refreshedHeaders = HTTPHeaders()
  /// Calls the feed at its deadlines; `nil` if the loop does.
  fileprivate var deadlines: DeadlineQueue?

  package init() {}
}

/// A session that runs on an event loop, over any number of connections.
///
/// It belongs to the loop's thread. The extension holds the shared code; each protocol adds its
/// outputs and its kind of connection.
package protocol Feed: LoopSource, FeedConnectionDelegate {
  associatedtype Machine: FeedSession
  associatedtype Connection: FeedConnection

  var loop: EventLoop { get }
  var session: Machine { get set }
  var connection: Connection? { get set }
  var state: FeedState { get set }
  var owner: (any FeedDelegate)? { get }

  /// Supplies fields for each connection; `nil` if no field changes.
  var fieldSource: (any FieldSource)? { get }

  func makeConnection() -> Connection
  func perform(_ output: Machine.Output)
  /// Cancels the open questions of a connection that is lost or about to close.
  func forgetQuestions()
  func forgetOwner()
}

extension Feed {
  package var isClosed: Bool { state.isClosed }

  /// Time of the last bytes from the server; `nil` before the first.
  package var heardAt: Instant? { state.heardAt }

  /// Bytes received on all connections, with the heads, after TLS decryption.
  package var receivedBytes: Int { state.receivedBytes }

  /// - Parameter deadlines: Source of the loop that calls the feed at its deadlines, for thousands
  ///   of feeds; without it, the feed is a source of its own.
  package func connect(in deadlines: DeadlineQueue? = nil) {
    state.deadlines = deadlines
    if deadlines == nil { loop.add(self) }
    perform { $0.connect(at: $1) }
  }

  /// Ends from any state; an open socket gets a close frame if the protocol has one.
  package func disconnect() { perform { $0.disconnect(at: $1) } }

  /// Closes the socket without waiting for the closing handshake.
  package func abort() {
    disconnect()
    dropConnection()
  }

  package var isPaused: Bool {
    get { state.isPaused }
    set {
      guard newValue != state.isPaused else { return }
      state.isPaused = newValue
      session.setReadingPaused(newValue, at: loop.now)
      state.deadlines?.note(self)
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
    // Performing an output may cause another input; the outermost call performs all outputs.
    guard !state.isDraining else { return }
    state.isDraining = true
    defer { state.isDraining = false }
    while let output = session.nextOutput() { perform(output) }
    if !isClosed { state.deadlines?.note(self) }
  }

  // MARK: Outputs of both protocols

  package func dial() {
    dropConnection()
    guard let fieldSource else { return startConnection() }
    fieldSource.fields { [unowned self] result in
      switch result {
      case .success(let fields):
        state.refreshedHeaders = fields
        startConnection()
      case .failure(let error): perform { $0.lost(.dropped(error.description), at: $1) }
      }
    }
  }

  private func startConnection() {
    let connection = makeConnection()
    connection.isPaused = isPaused
    self.connection = connection
    connection.start()
  }

  /// Forgets the fields of the source, because they are for the former server only.
  func forgetRefreshedHeaders() { state.refreshedHeaders = HTTPHeaders() }

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

  private func closeIfEnded() {
    guard state.hasEnded, connection == nil, !isClosed else { return }
    state.isClosed = true
    loop.remove(self)
    state.deadlines?.remove(self)
    let owner = owner
    forgetOwner()
    owner?.feedClosed()
  }

  // MARK: The clock

  package var interest: LoopInterest { LoopInterest(deadline: session.deadline) }

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

  package func connectionSinkIsFull() { owner?.feedSinkIsFull() }

  package func connectionEnded(_ loss: ConnectionLoss, at now: Instant) {
    forgetQuestions()
    connection = nil
    perform { $0.lost(loss, at: $1) }
    closeIfEnded()
  }
}

/// Handles events before the session reads them.
///
/// This is the hot path.
///
/// The feed keeps its sink, so a sink must not refer to its feed. A sink gets the events of one
/// protocol only.
package protocol EventSink: AnyObject {
  /// Handles one text message of a Pusher connection; the view is valid during this call.
  func take(message: ByteView) -> SinkVerdict

  /// Handles one event of an event stream; its views are valid during this call.
  func take(event: EventStreamEvent) -> SinkVerdict
}

extension EventSink {
  package func take(message: ByteView) -> SinkVerdict { .declined }
  package func take(event: EventStreamEvent) -> SinkVerdict { .declined }
}

package enum SinkVerdict {
  /// The sink handled an application's event.
  case taken
  /// The same, and the feed must pause until its owner resumes it.
  case takenAndFull
  /// A message takes the general path; an event of an event stream is dropped.
  case declined
}

/// Supplies further fields for each request of a feed, such as a fresh token.
package protocol FieldSource: AnyObject {
  typealias Completion = (Result<HTTPHeaders, ExplainedError>) -> Void

  /// Calls `completion` on the loop's thread, at once or later, exactly once unless cancelled.
  func fields(completion: @escaping Completion)

  /// Cancels the open request; its completion is not called.
  func cancel()
}
