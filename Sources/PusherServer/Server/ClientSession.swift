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
  package let output: ByteBuffer
  /// Connection of the session; `nil` in tests.
  package weak var carrier: ServerConnection?
  let hub: Hub
  let context: SessionContext
  private let ledger: OutputLedger
  package var subscriptions = NameSet()
  package var user: SignedInUser?
  package let speaksV2: Bool
  /// True if the ledger lists the session as having output.
  var isTouched = false
  private var rates: ClientRates
  /// True if the client reads frames compressed for all clients.
  private let readsCompressed: Bool
  private var state = State.open
  private var usesControlFrames = false
  private var heartbeat: Keepalive
  /// The client counts as lost, without pings, if the server has sent no message for this time.
  private let ownSilence: Duration?
  /// Time of the last message to the client; control frames do not count.
  private var lastMessage: Instant
  /// Begin of the session, and the number of messages from and to the client.
  package private(set) var traffic: (since: Instant, received: Int, sent: Int)
  private var noted = 0
  private var faults = FaultLine()
  /// Reason of the end, until the session leaves the hub.
  private var ending: (code: Int?, reason: String)?

  /// Joins the hub after the connection's handshake, and greets the client; `socketID` must be new.
  package init(
    _ connection: WebSocketConnection, socketID: String, from address: ClientAddress? = nil,
    hub: Hub, context: SessionContext, speaksV2: Bool = false, at now: Instant
  ) {
    (self.address, self.speaksV2) = (address, speaksV2)
    self.hub = hub
    self.context = context
    self.socketID = socketID
    self.connection = connection
    (output, ledger) = (connection.output, context.ledger)
    readsCompressed = connection.readableWindowBits == SharedFrame.windowBits
    rates = ClientRates(hub.limits)
    let times = hub.limits.times
    heartbeat = Keepalive(
      activityTimeout: times.ping ?? times.activity, pongTimeout: times.pong, at: now)
    (ownSilence, lastMessage) = (times.ownSilence, now)
    traffic = (now, 0, 0)
    hub.connect(self)
    send(
      text.connectionEstablished(
        socketID: socketID, activityTimeout: hub.limits.times.activity), at: now)
    stageGreeting(at: now)
  }

  private var text: MessageText { hub.text(for: self) }

  func renewLimits() { rates.renew(hub.limits) }

  package var isFinished: Bool { if case .finished = state { true } else { false } }
  package var isOpen: Bool { if case .open = state { true } else { false } }
  package var isServed: Bool { isOpen }

  package var deadline: Instant? {
    switch state {
    case .open: Instant.earliest(faults.latePongs.first?.due, silenceEnd)
    case .closing(let until): until
    case .finished: nil
    }
  }

  /// When the silence of the client, or with ``ownSilence`` of the server, has consequences.
  private var silenceEnd: Instant {
    ownSilence.map(lastMessage.advanced(by:)) ?? heartbeat.deadline
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
          handle(bytes, at: now)
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
    if !output.isEmpty { ledger.touch(self) }
  }

  package func inputEnded(at now: Instant) {
    connection.inputEnded()
    receive(at: now)
    finish(reason: "the connection ended", at: now)
  }

  package func lost(reason: String, at now: Instant) {
    finish(reason: reason, at: now)
    output.removeAll()
    noteOutput()
  }

  package func tick(at now: Instant) {
    switch state {
    case .open:
      sendLatePongs(at: now)
      guard now >= silenceEnd else { break }
      switch ownSilence == nil ? heartbeat.tick(at: now) : .dead {
      case nil: break
      case .sendPing: sendPing(at: now)
      case .dead where faults.isBlackhole: finish(reason: "lost in a staged blackhole", at: now)
      case .dead where !context.dialect.has(.sendsCloseFrames):
        let reason = "Pong reply not received in time"
        send(text.error(code: .pongNotReceived, message: reason), at: now)
        finish(reason: reason, at: now)
      case .dead: close(.pongNotReceived, reason: "Pong reply not received", at: now)
      }
    case .closing(let until):
      if now >= until { finish(reason: "the client did not answer the close frame", at: now) }
    case .finished: break
    }
  }

  private func sendPing(at now: Instant) {
    guard usesControlFrames, context.dialect.has(.pingsWithFrames), !faults.isBlackhole else {
      send(text.ping, at: now)
      return
    }
    connection.ping()
    ledger.touch(self)
  }

  /// Checks the remaining output after a write: a large rest means that the client does not read.
  package func outputSent(at now: Instant) {
    noteOutput()
    guard output.count > hub.limits.sizes.outputQueue else {
      faults.allowance = 0
      return
    }
    if isOpen && output.count > hub.limits.sizes.outputQueue + faults.allowance {
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

  package func deliver(_ frame: SharedFrame, at now: Instant) -> Bool {
    if let channel = frame.channel, !context.faults.isEmpty {
      return deliverStaged(frame, on: channel, at: now)
    }
    return deliverPlain(frame, at: now)
  }

  private func deliverPlain(_ frame: SharedFrame, at now: Instant) -> Bool {
    let view = readsCompressed ? frame.smallestView : frame.view
    guard hasRoom(for: view.count, at: now) else { return false }
    write(view, at: now)
    return true
  }

  private func write(_ frame: ByteView, at now: Instant) {
    connection.send(encodedFrame: frame)
    traffic.sent += 1
    lastMessage = now
    ledger.touch(self)
    noteOutput()
  }

  private func noteOutput() {
    let change = output.heldBytes - noted
    noted += change
    ledger.note(change)
  }

  private func hasRoom(for count: Int, at now: Instant) -> Bool {
    guard isOpen, !faults.isBlackhole else { return false }
    guard output.count + count <= hub.limits.outputCeiling + faults.allowance else {
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

  package func stop(at now: Instant) {
    close(.generic, reason: "the server is shutting down", at: now)
  }

  package func terminate(at now: Instant) {
    close(.unauthorized, reason: "the app has ended the user's connections", at: now)
  }

  package func reconnect(because reason: String, at now: Instant) {
    close(.generic, reason: reason, at: now)
  }

  func close(_ code: CloseCode, reason: String, at now: Instant) {
    guard isOpen else { return }
    connection.close(code, reason: reason)
    state = .closing(until: now.advanced(by: hub.limits.times.close))
    ended(code: Int(code.rawValue), reason: reason)
  }

  /// Ends the connection without a close frame from the server, after the waiting output is sent.
  private func finish(code: Int? = nil, reason: String, at now: Instant) {
    let wasOpen = isOpen
    guard !isFinished else { return }
    state = .finished
    if wasOpen { ended(code: code, reason: reason) }
    ledger.touch(self)
  }

  private func ended(code: Int?, reason: String) {
    ledger.touch(self)
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

extension ClientSession {
  private func deliverStaged(_ frame: SharedFrame, on channel: String, at now: Instant) -> Bool {
    guard isOpen, !faults.isBlackhole else { return false }
    let change = context.faults.due(.message, on: channel, &faults)
    if change == .reorder, faults.held == nil {
      noteFault("an event waits for the next event")
      faults.held = frame
      return true
    }
    var isSent = put(frame, changedBy: change, at: now)
    if let held = faults.held {
      faults.held = nil
      isSent = put(held, at: now) && isSent
    }
    endStaged(context.faults.due(.ending, on: channel, &faults), at: now)
    return isSent
  }

  func stageGreeting(at now: Instant) {
    guard isOpen, !faults.isBlackhole, !context.faults.isEmpty else { return }
    endStaged(context.faults.due(.ending, on: nil, &faults), at: now)
  }

  /// Answers a ping, with a staged delay if a fault is due; `frame` is the payload of a ping frame.
  private func answerPing(frame: [UInt8]? = nil, at now: Instant) {
    guard !context.faults.isEmpty, let delay = context.faults.pongDelay(&faults) else {
      sendPong(frame: frame, at: now)
      return
    }
    guard faults.latePongs.count < FaultLine.pongLimit else { return }
    noteFault("a pong is delayed")
    let due = now.advanced(by: delay)
    let index = faults.latePongs.firstIndex { $0.due > due } ?? faults.latePongs.endIndex
    faults.latePongs.insert((due, frame), at: index)
  }

  private func sendPong(frame: [UInt8]?, at now: Instant) {
    guard let frame else {
      send(text.pong, at: now)
      return
    }
    connection.pong(frame)
    ledger.touch(self)
  }

  private func sendLatePongs(at now: Instant) {
    while let pong = faults.latePongs.first, pong.due <= now {
      faults.latePongs.removeFirst()
      sendPong(frame: pong.frame, at: now)
    }
  }

  private func refusesStaged(_ channel: String) -> Bool {
    guard !context.faults.isEmpty, context.faults.refusal(on: channel, &faults) != nil else {
      return false
    }
    noteFault("a signature is refused")
    return true
  }

  private func loseStaged(_ channel: String, at now: Instant) {
    guard let kind = context.faults.due(.resume, on: channel, &faults) else { return }
    let isReset = kind == .resetStream
    noteFault(isReset ? "a stream is reset" : "a window is over")
    hub.loseStream(of: channel, isReset: isReset, at: now)
  }

  private func endStaged(_ ending: StagedFault.Kind?, at now: Instant) {
    switch ending {
    case .drop:
      noteFault("the connection is dropped")
      finish(reason: "dropped by a staged fault", at: now)
    case .close(let code):
      noteFault("the connection is closed with \(code)")
      close(CloseCode(rawValue: code), reason: "a staged fault", at: now)
    case .blackhole:
      noteFault("the server sends nothing more")
      faults.isBlackhole = true
      faults.held = nil
      faults.latePongs.removeAll()
    default: break
    }
  }

  private func put(
    _ frame: SharedFrame, changedBy change: StagedFault.Kind? = nil, at now: Instant
  ) -> Bool {
    var frame = frame
    switch change {
    case .duplicate:
      noteFault("an event is sent twice")
      guard deliverPlain(frame, at: now) else { return false }
    case .badJSON:
      noteFault("an event is sent without its last byte")
      frame = SharedFrame(String(frame.text.dropLast()))
    case .hugeFrame(let size):
      noteFault("an event is padded to \(size) bytes")
      faults.allowance = size
      frame = SharedFrame(Self.padded(frame.text, to: size))
    case .splitUTF8:
      noteFault("an event is split into two fragments")
      frame = SharedFrame(inTwoFragments: frame.text)
    default: break
    }
    return deliverPlain(frame, at: now)
  }

  private static func padded(_ text: String, to size: Int) -> String {
    let start = text.dropLast() + #","padding":""#
    let count = max(0, size - start.utf8.count - 2)
    return start + String(repeating: "x", count: count) + #""}"#
  }

  private func noteFault(_ what: String) {
    hub.log(.clientError(socketID: socketID, reason: "staged fault: \(what)"))
  }
}

extension ClientSession {
  /// Handles a message; `data` of protocol events may be an object, or a string that holds one.
  private func handle(_ bytes: ByteView, at now: Instant) {
    let value: JSONValue
    do throws(JSONError) { value = try JSONParser.parse(bytes) } catch {
      return refuse("the message is \(error)", at: now)
    }
    guard let name = value["event"]?.text else {
      return refuse("the message's event is missing or not a string", at: now)
    }
    if let command = name.dropping(prefix: text.service.eventPrefix) {
      var data = value["data"] ?? .null
      if case .string(let text) = data { data = (try? JSONParser.parse(text)) ?? .null }
      handle(command, name, data, at: now)
    } else if name.begins(with: "client-") {
      guard let channel = value["channel"]?.text else {
        return refuse("the client event '\(name)' names no channel", at: now)
      }
      relay(name: name, channel: channel, data: value["data"], at: now)
    } else {
      refuse(unknown: name, at: now)
    }
  }

  private func handle(_ command: String, _ name: String, _ data: JSONValue, at now: Instant) {
    switch command {
    case "ping": answerPing(at: now)
    case "pong": break
    case "signin":
      guard let userData = data["user_data"]?.text else {
        return refuse("user_data is not a string, so it cannot be checked", at: now)
      }
      signIn(auth: data["auth"]?.text ?? "", userData: userData, at: now)
    case "subscribe", "unsubscribe":
      guard let channel = data["channel"]?.text else {
        return refuse("\(name) names no channel", at: now)
      }
      guard command == "subscribe" else { return unsubscribe(from: channel, at: now) }
      let channelData = data["channel_data"]
      guard channelData == nil || channelData == .null || channelData?.text != nil else {
        return refuse("channel_data is not a string, so it cannot be checked", at: now)
      }
      // `auth` is empty or absent for public channels.
      let rewind = speaksV2 ? data["rewind"] ?? .null : .null
      let start = ReplayStart(rewind: rewind)
      guard start != nil || rewind == .null else {
        return refuse("rewind is neither a number nor an object with count or seconds", at: now)
      }
      subscribe(
        to: channel, auth: data["auth"]?.text ?? "",
        channelData: channelData?.text.flatMap { $0.isEmpty ? nil : $0 }, rewind: start, at: now)
    case "resume" where speaksV2: resume(data["channel_positions"]?.members ?? [], at: now)
    default: refuse(unknown: name, at: now)
    }
  }

  private func refuse(_ reason: String, at now: Instant) {
    complain("Invalid message: \(reason)", .uselessMessage, at: now)
  }

  private func refuse(unknown name: String, at now: Instant) {
    complain("Unknown event '\(name)': client events begin with client-", .uselessMessage, at: now)
  }

  /// Returns false for a message above the rate limit: an error event answers it, or the connection
  /// ends.
  ///
  /// Reverb ends its output before it writes the error, so a client whose connection ends sees
  /// neither an error nor a close frame.
  private func admitsMessage(at now: Instant) -> Bool {
    guard !rates.messages.admit(at: now), let limit = hub.limits.messageRate else { return true }
    let seconds = limit.window.components.seconds
    let reason = "above the rate limit of messages: \(limit.messages) in \(seconds) s"
    if limit.endsConnection {
      finish(reason: reason, at: now)
    } else {
      complain(reason, .messageRate, at: now)
    }
    return false
  }

  /// Reports a mistake with an error event, if the dialect does; the socket stays open.
  private func complain(
    _ reason: String, _ mistake: Dialect.Mistake, code: PusherCode? = nil,
    channel: String? = nil, at now: Instant
  ) {
    hub.log(.clientError(socketID: socketID, reason: reason))
    var message = (code: code, text: reason)
    switch context.dialect.mistakes[mistake] {
    case nil: break
    case .code(let usual): message.code = code ?? usual
    case .words(let own, let words): if code == nil { message = (own, words) }
    case .silence: return
    }
    send(text.error(code: message.code, message: message.text, channel: channel), at: now)
  }

  // MARK: The user

  private func signIn(auth: String, userData: String, at now: Instant) {
    guard context.dialect.has(.knowsSignIn) else {
      complain("sign-in is not supported", .uselessMessage, at: now)
      return
    }
    if let user {
      complain("The connection is already signed in as user \(user.id)", .uselessMessage, at: now)
      return
    }
    do throws(ProtocolRefusal) {
      let user = try hub.application.user(
        auth, socketID: socketID, userData: userData, limits: hub.limits,
        form: context.dialect.memberForm)
      hub.signIn(self, as: user, (auth, userData), at: now)
    } catch {
      hub.log(.signInRefused(socketID: socketID, reason: error.reason))
      send(text.error(code: error.code, message: error.reason), at: now)
      close(.unauthorized, reason: "The sign-in is not valid", at: now)
    }
  }

  // MARK: Subscriptions

  private func subscribe(
    to channel: String, auth: String, channelData: String?, rewind: ReplayStart?, at now: Instant
  ) {
    do throws(ProtocolRefusal) {
      guard rates.joins.admit(hub.limits, at: now) else { throw hub.tooFast(self) }
      let member = try checkSubscription(channel: channel, auth: auth, channelData: channelData)
      subscriptions.insert(channel)
      hub.subscribe(self, to: channel, as: member, rewind: rewind, at: now)
    } catch {
      tell(error, channel, at: now)
      if speaksV2, !subscriptions.contains(channel) {
        hub.cannotResume(self, channel, at: now)
      }
    }
  }

  private func resume(_ positions: [JSONValue.Member], at now: Instant) {
    guard hub.keepsStreams else {
      return send(
        text.error(code: .clientEventRate, message: "Connection recovery is not enabled"), at: now)
    }
    guard !positions.isEmpty, rates.joins.admit(hub.limits, at: now) else {
      return send(
        text.error(code: .noPositions, message: "No channel recovery positions provided"), at: now)
    }
    let places = positions.prefix(hub.limits.subscriptions).map { member in
      (channel: member.name, place: StreamPlace(member.value))
    }
    if !context.faults.isEmpty {
      for place in places { loseStaged(place.channel, at: now) }
    }
    hub.resume(self, from: places, at: now)
  }

  package func refuse(
    _ channel: String, _ refusal: ProtocolRefusal, isSubscribed: Bool, at now: Instant
  ) {
    if !isSubscribed { subscriptions.remove(channel) }
    tell(refusal, channel, at: now)
  }

  private func tell(_ refusal: ProtocolRefusal, _ channel: String, at now: Instant) {
    hub.log(.subscriptionRefused(socketID: socketID, channel: channel, reason: refusal.reason))
    send(context.dialect.refused(text, refusal, channel), at: now)
  }

  private func checkSubscription(
    channel: String, auth: String, channelData: String?
  ) throws(ProtocolRefusal) -> Member? {
    let dialect = context.dialect
    if let problem = dialect.channelProblem(channel) {
      throw ProtocolRefusal(
        reason: "Invalid channel name: \(problem)",
        cause: channel.utf8.count > ChannelName.maximumLength ? .longName : .name)
    }
    let isOwn = user.map { channel.isSame(as: UserChannel.name(userID: $0.id)) } ?? false
    guard !channel.begins(with: "#") || isOwn else {
      throw ProtocolRefusal(reason: "\(channel) is only for its signed-in user")
    }
    let isAgain = subscriptions.contains(channel)
    // A client of V2 subscribes again to a channel that it could not resume.
    guard !isAgain || speaksV2 || dialect.has(.acceptsSecondSubscription) else {
      throw ProtocolRefusal(reason: "Existing subscription to channel \(channel)")
    }
    if !isAgain { try hub.makeSureOfRoom(for: channel, of: self) }
    let kind = dialect.kind(channel)
    guard kind.needsAuthorization else { return nil }
    guard !refusesStaged(channel) else {
      throw ProtocolRefusal(
        reason: "Invalid signature: refused by a staged fault", cause: .unauthorized)
    }
    try hub.application.verify(auth, socketID: socketID, channel: channel, channelData: channelData)
    guard kind == .presence else { return nil }
    return try Member(
      channelData, user: user, limits: hub.limits, form: dialect.memberForm)
  }

  private func unsubscribe(from channel: String, at now: Instant) {
    guard subscriptions.remove(channel) else {
      complain(
        "No current subscription to channel \(channel), or subscription in progress",
        .noSubscription, channel: channel, at: now)
      return
    }
    _ = rates.joins.admit(hub.limits, at: now)
    hub.leave(self, channel, at: now)
    hub.log(.unsubscribed(socketID: socketID, channel: channel))
  }

  // MARK: Client events

  private func relay(name: String, channel: String, data: JSONValue?, at now: Instant) {
    guard let relayed = context.dialect.relayed(data) else {
      complain("the data is a string, but not JSON", .clientEvent, at: now)
      return
    }
    if let (reason, mistake, code) = refusal(of: name, channel: channel, data: data, at: now) {
      complain("Client event rejected - \(reason)", mistake, code: code, channel: channel, at: now)
      return
    }
    hub.relay(name: name, channel: channel, data: relayed, from: self, at: now)
  }

  private func refusal(
    of name: String, channel: String, data: JSONValue?, at now: Instant
  ) -> (reason: String, mistake: Dialect.Mistake, code: PusherCode?)? {
    guard hub.application.allowsClientEvents else {
      return ("client events are switched off for this app", .clientEventsOff, nil)
    }
    let dialect = context.dialect
    guard dialect.clientEventKinds.contains(dialect.kind(channel)) else {
      return ("only supported on private and presence channels", .clientEvent, nil)
    }
    guard subscriptions.contains(channel) else {
      return ("this connection is not subscribed to \(channel)", .notMember, nil)
    }
    if let problem = dialect.eventProblem(name) { return (problem, .clientEvent, nil) }
    let limits = hub.limits
    let length = data?.dataText.utf8.count ?? 0
    guard length <= limits.sizes.eventData else {
      let reason = "the data has \(length) bytes; the maximum is \(limits.sizes.eventData)"
      return (reason, .clientEvent, nil)
    }
    guard hub.isAvailable else {
      return ("the server cannot reach its other nodes now", .clientEvent, .overCapacity)
    }
    guard rates.events.admit(at: now) else {
      let limit = limits.clientEventsPerSecond ?? 0
      return ("rate limit of \(limit) in a second exceeded", .clientEvent, .clientEventRate)
    }
    return nil
  }
}

extension StreamPlace {
  /// Reads a position of a client; one that is not usable becomes invalid.
  fileprivate init(_ value: JSONValue) {
    var serial = -1
    if case .number(let digits) = value["serial"] { serial = Int(digits) ?? -1 }
    self.init(id: value["stream_id"]?.text ?? "", serial: serial)
  }
}

extension ReplayStart {
  /// Reads the `rewind` of a subscription: `50`, `{"count":50}` or `{"seconds":30}`.
  fileprivate init?(rewind value: JSONValue) {
    func amount(_ value: JSONValue?) -> Int? {
      guard case .number(let digits) = value, let number = Int(digits), number >= 0 else {
        return nil
      }
      return number
    }
    if let count = amount(value) ?? amount(value["count"]) {
      self = .count(count)
    } else if let seconds = amount(value["seconds"]) {
      self = .period(.seconds(seconds))
    } else {
      return nil
    }
  }
}

struct ClientRates {
  var events: RateWindow
  var messages: FixedWindow
  var joins = JoinPace()

  init(_ limits: ServerLimits) {
    events = RateWindow(limit: limits.clientEventsPerSecond)
    let rate = limits.messageRate
    messages = FixedWindow(rate?.messages, in: rate?.window ?? .zero)
  }

  /// Takes the app's new limits; an unchanged window of messages continues.
  mutating func renew(_ limits: ServerLimits) {
    let former = self
    self = ClientRates(limits)
    joins = former.joins
    let isSame =
      (messages.limit, messages.length) == (former.messages.limit, former.messages.length)
    if isSame { messages = former.messages }
  }
}

/// Limits how fast a socket subscribes: a burst of all its channels, then so many in a second.
///
/// A departure uses up the same room, but always succeeds.
struct JoinPace {
  /// The whole burst is allowed again from this time on; `nil` before the first subscription.
  private var recovery: Instant?
  private static let burst = 1000

  mutating func admit(_ limits: ServerLimits, at now: Instant) -> Bool {
    let step = Duration.seconds(1) / max(limits.joinsPerSecond, 1)
    let room = step * (max(limits.subscriptions, Self.burst) - 1)
    let start = max(recovery ?? now, now)
    guard now.duration(to: start) <= room else { return false }
    recovery = start.advanced(by: step)
    return true
  }
}

/// Limits the number of events within any second; `nil` for no limit.
struct RateWindow {
  private let limit: Int?
  /// Times of the last events; once there are `limit`, `next` is the index of the oldest.
  private var times: [Instant] = []
  private var next = 0

  init(limit: Int?) { self.limit = limit }

  mutating func admit(at now: Instant) -> Bool {
    guard let limit else { return true }
    guard limit > 0 else { return false }
    guard times.count == limit else {
      times.append(now)
      return true
    }
    guard times[next].duration(to: now) >= .seconds(1) else { return false }
    times[next] = now
    next = (next + 1) % limit
    return true
  }
}

/// Clients with output, and the memory of that output, which is limited to protect the machine.
///
/// Buffers count with their capacity: a growing queue takes up to twice the size of its content.
/// Only the server's thread may use the ledger.
package final class OutputLedger {
  package let limit: Int
  package private(set) var total = 0
  /// Reduces the output: sends as much as the sockets take, and drops clients.
  var makeRoom: (() -> Void)?
  private var isRelieving = false

  package init(limit: Int) { self.limit = limit }

  private var touched: [ClientSession] = []

  func touch(_ session: ClientSession) {
    guard !session.isTouched else { return }
    session.isTouched = true
    touched.append(session)
  }

  package func takeTouched() -> [ClientSession] {
    for session in touched { session.isTouched = false }
    return touched.takeAll()
  }

  var isFull: Bool { total > limit }

  func note(_ change: Int) {
    total += change
    guard change > 0, isFull, !isRelieving else { return }
    isRelieving = true
    defer { isRelieving = false }
    makeRoom?()
  }
}
