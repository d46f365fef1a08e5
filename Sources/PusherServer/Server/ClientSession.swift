package import PusherCore

package final class SessionContext {
  let dialect: Dialect
  package let faults: FaultScript
  package let ledger: OutputLedger

  package init(
    dialect: Dialect = .pusher, faults: FaultScript = FaultScript(), outputLimit: Int = .max
  ) {
    self.dialect = dialect
    self.faults = faults
    ledger = OutputLedger(limit: outputLimit)
  }
}

struct Traffic: Sendable {
  let since: Instant
  var received = 0
  var sent = 0
}

/// One client's socket at the level of the protocol.
///
/// Bytes come in through the connection's input, then ``receive(at:)``; they go out through its
/// output. Time comes in through ``tick(at:)`` at the ``deadline``. The driver closes a socket that
/// ``isFinished`` after sending its output. An ended session leaves the hub with ``settle(at:)``.
/// The driver calls it after each of these functions, and for each session that the ledger names.
package final class ClientSession: HubSession, ConnectionSocket {
  private enum State {
    case open
    /// A close frame was sent; the client has until then to answer.
    case closing(until: Instant)
    case finished
  }

  package let socketID: String
  package let address: ClientAddress?
  package let connection: WebSocketConnection
  package var input: ByteBuffer { connection.input }
  package var output: ByteBuffer { connection.output }
  /// Connection of the session; `nil` in tests.
  weak var carrier: ServerConnection?
  let hub: Hub
  let context: SessionContext
  package var subscriptions = NameSet()
  package var user: SignedInUser?
  /// True if the ledger lists the session as having output.
  var isTouched = false
  var rates: ClientRates
  /// True if the client reads frames compressed for all clients.
  private let readsCompressed: Bool
  private var state = State.open
  private var usesControlFrames = false
  private var heartbeat: Heartbeat
  private(set) var traffic: Traffic
  /// Output of this client that the ledger has counted, in bytes.
  private var noted = 0
  var faults = FaultLine()
  /// Reason of the end, until the session leaves the hub.
  private var ending: (code: Int?, reason: String)?

  /// Joins the hub after the connection's handshake, and greets the client; `socketID` must be new.
  package init(
    _ connection: WebSocketConnection, socketID: String, from address: ClientAddress? = nil,
    hub: Hub, context: SessionContext, at now: Instant
  ) {
    self.address = address
    self.hub = hub
    self.context = context
    self.socketID = socketID
    self.connection = connection
    readsCompressed = connection.readableWindowBits == SharedFrame.windowBits
    rates = ClientRates(hub.limits)
    heartbeat = Heartbeat(limits: hub.limits, at: now)
    traffic = Traffic(since: now)
    hub.connect(self)
    send(
      hub.text.connectionEstablished(
        socketID: socketID, activityTimeout: hub.limits.times.activity), at: now)
    stageGreeting(at: now)
  }

  func renewLimits() { rates.renew(hub.limits) }

  /// True if the driver should close the socket after the output is sent.
  package var isFinished: Bool { if case .finished = state { true } else { false } }
  package var isOpen: Bool { if case .open = state { true } else { false } }
  package var isServed: Bool { isOpen }

  package var deadline: Instant? {
    switch state {
    case .open: faults.latePongs.first.map { min($0.due, heartbeat.deadline) } ?? heartbeat.deadline
    case .closing(let until): until
    case .finished: nil
    }
  }

  // MARK: Input

  package func receive(at now: Instant) {
    if faults.isBlackhole {
      connection.input.removeAll()
      return
    }
    connection.answersPings = !context.faults.holdsPongs
    while !isFinished, let event = connection.next() {
      heartbeat.noteActivity(at: now)
      switch event {
      case .text(let bytes),
        .binary(let bytes) where context.dialect.has(.readsBinary):
        traffic.received += 1
        // The rate limit counts before anything is parsed, as in Reverb.
        if isOpen, admitsMessage(at: now) {
          handle(ClientMessage(bytes, service: hub.text.service), at: now)
        }
      case .binary: close(.unsupportedData, reason: "binary messages are not supported", at: now)
      case .ping(let payload):
        usesControlFrames = true
        if !connection.answersPings { answerPing(frame: payload.array, at: now) }
      case .pong: usesControlFrames = true
      case .closed(let code, let reason):
        finish(code: code.map { Int($0.rawValue) }, reason: reason, at: now)
      case .failed(let error): finish(reason: error.description, at: now)
      }
    }
    if !connection.output.isEmpty { context.ledger.touch(self) }
  }

  package func inputEnded(at now: Instant) {
    connection.inputEnded()
    receive(at: now)
    finish(reason: "the connection ended", at: now)
  }

  package func lost(reason: String, at now: Instant) {
    finish(reason: reason, at: now)
    connection.output.removeAll()
    noteOutput()
  }

  /// Sends due pings, and closes the connection if the answer is late.
  package func tick(at now: Instant) {
    switch state {
    case .open:
      sendLatePongs(at: now)
      switch heartbeat.tick(at: now) {
      case .none: break
      case .sendPing: sendPing(at: now)
      case .lost where faults.isBlackhole: finish(reason: "lost in a staged blackhole", at: now)
      case .lost where !context.dialect.has(.sendsCloseFrames):
        let reason = "Pong reply not received in time"
        send(hub.text.error(code: .pongNotReceived, message: reason), at: now)
        finish(reason: reason, at: now)
      case .lost: close(.pongNotReceived, reason: "Pong reply not received", at: now)
      }
    case .closing(let until):
      if now >= until { finish(reason: "the client did not answer the close frame", at: now) }
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

  /// Checks the remaining output after a write: a large rest means that the client does not read.
  package func outputSent(at now: Instant) {
    noteOutput()
    guard connection.output.count > hub.limits.sizes.outputQueue else {
      faults.allowance = 0
      return
    }
    if isOpen && connection.output.count > hub.limits.sizes.outputQueue + faults.allowance {
      overflow(at: now)
    }
  }

  // MARK: Output

  /// Sends an uncompressed message: a compressor would cost each connection 256 KiB for a greeting.
  package func send(_ text: String, at now: Instant) {
    let frame = SharedFrame(text)
    guard hasRoom(for: frame.view.count, at: now) else { return }
    write(frame.view, at: now)
  }

  /// Sends a message that others get too; returns false if the client takes no more messages.
  package func deliver(_ frame: SharedFrame, at now: Instant) -> Bool {
    if let channel = frame.channel, !context.faults.isEmpty {
      return deliverStaged(frame, on: channel, at: now)
    }
    return deliverPlain(frame, at: now)
  }

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

  /// Updates the ledger.
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
    let limit = hub.limits.sizes.outputQueue
    close(.overCapacity, reason: "the client left more than \(limit) bytes unread", at: now)
  }

  package func close(_ code: PusherCode, reason: String, at now: Instant) {
    close(code.closeCode, reason: reason, at: now)
  }

  /// Closes the socket for shutdown; clients should reconnect at once.
  package func stop(at now: Instant) {
    close(.generic, reason: "the server is shutting down", at: now)
  }

  package func terminate(at now: Instant) {
    close(.unauthorized, reason: "the app has ended the user's connections", at: now)
  }

  func close(_ code: CloseCode, reason: String, at now: Instant) {
    guard isOpen else { return }
    connection.close(code, reason: reason)
    state = .closing(until: now.advanced(by: hub.limits.times.close))
    ended(code: Int(code.rawValue), reason: reason)
  }

  /// Ends the connection without a close frame from the server, after the waiting output is sent.
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

  package func settle(at now: Instant) {
    guard let (code, reason) = ending else { return }
    ending = nil
    hub.log(.disconnected(socketID: socketID, code: code, reason: reason))
    hub.disconnect(self, at: now)
    subscriptions.removeAll()
  }
}
