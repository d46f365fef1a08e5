package import PusherCore

/// The state that all clients of a server share.
package final class SessionContext {
  let dialect: Dialect
  /// The staged faults.
  package let faults: FaultScript
  /// The output that waits for all clients.
  package let ledger: OutputLedger

  package init(
    dialect: Dialect = .pusher, faults: FaultScript = FaultScript(), outputLimit: Int = .max
  ) {
    self.dialect = dialect
    self.faults = faults
    ledger = OutputLedger(limit: outputLimit)
  }
}

/// The messages of one client.
struct Traffic: Sendable {
  let since: Instant
  var received = 0
  var sent = 0

  init(since: Instant) { self.since = since }
}

/// One client's socket as the protocol sees it: greeting, subscriptions, events, signs of life, the end.
///
/// Bytes come in through the connection's input, then ``receive(at:)``; they go out through its output. Time comes in
/// through ``tick(at:)`` at the ``deadline``. When ``isFinished``, what waits is sent and the socket closed. One that
/// has ended leaves the hub with ``settle(at:)``, which the driver calls after each of these and for each session that the
/// ledger names.
package final class ClientSession: HubSession, ConnectionSocket {
  private enum State {
    case open
    /// A close frame was sent; until then the client may answer it.
    case closing(until: Instant)
    case finished
  }

  package let socketID: String
  package let connection: WebSocketConnection
  var input: ByteBuffer { connection.input }
  var output: ByteBuffer { connection.output }
  /// Its connection; `nil` in tests.
  weak var carrier: ServerConnection?
  let hub: Hub
  let context: SessionContext
  /// The channels it is subscribed to.
  package var subscriptions = NameSet()
  /// The user that is signed in on it.
  package var user: SignedInUser?
  /// Whether the ledger has it on its list of those with something to send.
  var isTouched = false
  var clientEvents: RateWindow
  /// Whether it reads what is compressed for all.
  private let readsCompressed: Bool
  private var state = State.open
  /// Whether the client has sent a ping or a pong of the WebSocket.
  private var usesControlFrames = false
  private var heartbeat: Heartbeat
  /// How many messages have come and gone, and since when.
  private(set) var traffic: Traffic
  /// The waiting output of this client in the ledger.
  private var noted = 0
  /// The state of staged faults on this connection.
  var faults = FaultLine()
  /// How it ended, until it leaves the hub.
  private var ending: (code: Int?, reason: String)?

  /// Joins the hub after the connection's handshake, and greets the client; `socketID` must be new there.
  package init(
    _ connection: WebSocketConnection, socketID: String, hub: Hub, context: SessionContext,
    at now: Instant
  ) {
    self.hub = hub
    self.context = context
    self.socketID = socketID
    self.connection = connection
    readsCompressed = connection.readableWindowBits == SharedFrame.windowBits
    clientEvents = RateWindow(limit: hub.limits.clientEventsPerSecond)
    heartbeat = Heartbeat(limits: hub.limits, at: now)
    traffic = Traffic(since: now)
    hub.connect(self)
    send(
      hub.text.connectionEstablished(
        socketID: socketID, activityTimeout: hub.limits.activityTimeout), at: now)
    stageGreeting(at: now)
  }

  /// The app may have other limits now.
  func renewLimits() {
    clientEvents = RateWindow(limit: hub.limits.clientEventsPerSecond)
  }

  /// Whether the socket is to be closed once the output is sent.
  package var isFinished: Bool { if case .finished = state { true } else { false } }

  package var isOpen: Bool { if case .open = state { true } else { false } }

  var isServed: Bool { isOpen }

  /// When to call ``tick(at:)``.
  package var deadline: Instant? {
    switch state {
    case .open:
      faults.latePongs.first.map { min($0.due, heartbeat.deadline) } ?? heartbeat.deadline
    case .closing(let until): until
    case .finished: nil
    }
  }

  // MARK: In

  /// Handles the connection's input.
  package func receive(at now: Instant) {
    if faults.isBlackhole {
      connection.input.removeAll()
      return
    }
    connection.answersPings = !context.faults.holdsPongs
    while !isFinished, let event = connection.next() {
      heartbeat.noteActivity(at: now)
      switch event {
      case .text(let bytes):
        traffic.received += 1
        if isOpen { handle(ClientMessage(bytes, service: hub.text.service), at: now) }
      case .binary(let bytes) where context.dialect.has(.readsBinary):
        traffic.received += 1
        if isOpen { handle(ClientMessage(bytes, service: hub.text.service), at: now) }
      case .binary:
        close(.unsupportedData, reason: "binary messages are not spoken here", at: now)
      case .ping(let payload):
        usesControlFrames = true
        if !connection.answersPings { answerPing(frame: payload.array, at: now) }
      case .pong: usesControlFrames = true
      case .closed(let code, let reason):
        finish(code: code.map { Int($0.rawValue) }, reason: reason, at: now)
      case .failed(let error):
        finish(reason: error.description, at: now)
      }
    }
    if !connection.output.isEmpty { context.ledger.touch(self) }
  }

  /// The client will send nothing more.
  package func inputEnded(at now: Instant) {
    connection.inputEnded()
    receive(at: now)
    finish(reason: "the connection ended", at: now)
  }

  /// The socket broke; nothing can be sent.
  package func lost(reason: String, at now: Instant) {
    finish(reason: reason, at: now)
    connection.output.removeAll()
    noteOutput()
  }

  /// Looks at the time: sends pings, and ends the connection when the answer is late.
  package func tick(at now: Instant) {
    switch state {
    case .open:
      sendLatePongs(at: now)
      switch heartbeat.tick(at: now) {
      case .none: break
      case .sendPing: sendPing(at: now)
      case .lost where faults.isBlackhole: finish(reason: "lost in a staged black hole", at: now)
      case .lost where !context.dialect.has(.sendsCloseFrames):
        let reason = "Pong reply not received in time"
        send(hub.text.error(code: .pongNotReceived, message: reason), at: now)
        finish(reason: reason, at: now)
      case .lost: close(.pongNotReceived, reason: "Pong reply not received", at: now)
      }
    case .closing(let until):
      if now >= until { finish(reason: "the close frame was not answered", at: now) }
    case .finished: break
    }
  }

  private func sendPing(at now: Instant) {
    guard usesControlFrames, context.dialect.has(.pingsWithFrames), !faults.isBlackhole else {
      send(hub.text.ping, at: now)
      return
    }
    connection.ping()
    context.ledger.touch(self)
  }

  /// The socket took what it could; the rest shows whether the client reads.
  package func outputSent(at now: Instant) {
    noteOutput()
    guard connection.output.count > hub.limits.outputQueue else {
      faults.allowance = 0
      return
    }
    if isOpen && connection.output.count > hub.limits.outputQueue + faults.allowance {
      overflow(at: now)
    }
  }

  // MARK: Out

  /// Sends one message to this client alone.
  ///
  /// Nothing is compressed for one alone: that would cost each connection a quarter of a megabyte for a greeting.
  package func send(_ text: String, at now: Instant) {
    let frame = SharedFrame(text)
    guard hasRoom(for: frame.view.count, at: now) else { return }
    write(frame.view, at: now)
  }

  /// Sends a message that others get too; false when the client can get no more messages.
  package func deliver(_ frame: SharedFrame, at now: Instant) -> Bool {
    if let channel = frame.channel, !context.faults.isEmpty {
      return deliverStaged(frame, on: channel, at: now)
    }
    return deliverPlain(frame, at: now)
  }

  /// Sends a message that no fault touches.
  func deliverPlain(_ frame: SharedFrame, at now: Instant) -> Bool {
    let view = readsCompressed ? frame.smallestView : frame.view
    guard hasRoom(for: view.count, at: now) else { return false }
    write(view, at: now)
    return true
  }

  private func write(_ frame: ByteView, at now: Instant) {
    connection.send(encodedFrame: frame)
    traffic.sent += 1
    heartbeat.noteMessage(at: now)
    context.ledger.touch(self)
    noteOutput()
  }

  /// Tells the ledger how much memory the waiting output holds now.
  private func noteOutput() {
    let change = connection.output.heldBytes - noted
    noted += change
    context.ledger.note(change)
  }

  private func hasRoom(for count: Int, at now: Instant) -> Bool {
    guard isOpen, !faults.isBlackhole else { return false }
    guard connection.output.count + count <= hub.limits.outputCeiling + faults.allowance else {
      overflow(at: now)
      return false
    }
    return true
  }

  private func overflow(at now: Instant) {
    let limit = hub.limits.outputQueue
    close(.overCapacity, reason: "more than \(limit) bytes wait unread", at: now)
  }

  /// Closes with one of the protocol's codes.
  package func close(_ code: PusherCode, reason: String, at now: Instant) {
    close(code.closeCode, reason: reason, at: now)
  }

  /// Tells the client to reconnect at once, because the server ends.
  func stop(at now: Instant) {
    close(.generic, reason: "the server is shutting down", at: now)
  }

  /// Ends the connection because the app wants its user gone.
  package func terminate(at now: Instant) {
    close(.unauthorized, reason: "the app has ended the user's connections", at: now)
  }

  func close(_ code: CloseCode, reason: String, at now: Instant) {
    guard isOpen else { return }
    connection.close(code, reason: reason)
    state = .closing(until: now.advanced(by: hub.limits.closeTimeout))
    ended(code: Int(code.rawValue), reason: reason)
  }

  /// Ends the connection without a close frame of ours, once what waits is sent.
  func finish(code: Int? = nil, reason: String, at now: Instant) {
    let wasOpen = isOpen
    guard !isFinished else { return }
    state = .finished
    if wasOpen { ended(code: code, reason: reason) }
    context.ledger.touch(self)
  }

  private func ended(code: Int?, reason: String) {
    context.ledger.touch(self)
    ending = (code, reason)
  }

  /// Leaves the hub, if the session has ended.
  package func settle(at now: Instant) {
    guard let (code, reason) = ending else { return }
    ending = nil
    hub.log(.disconnected(socketID: socketID, code: code, reason: reason))
    hub.disconnect(self, at: now)
    subscriptions.removeAll()
  }
}
