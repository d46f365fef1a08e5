internal import PusherCore

/// Sends events through the HTTP API over a few kept connections.
///
/// All calls of a channel use the same connection, one after another, so that their order is
/// certain. A call that waits for the one before it counts as late.
final class APISender: BenchSender {
  /// Maximum number of connections.
  private static let width = 8

  private final class Lane {
    let calls: APIConnection
    var waiting = Fifo<Int>()
    var isBusy = false

    init(_ calls: APIConnection) { self.calls = calls }
  }

  private let client: APIClient
  private let channels: [String]
  private let message: BenchMessage
  private let key: EncryptionMasterKey?
  private let ledger: SendLedger
  private let loop: EventLoop
  private let lanes: [Lane]
  private var open: Set<Int> = []
  /// The next call, signed while there was time.
  private var prepared: (call: Int, request: HTTPExchange.Request)?
  /// The server does not accept the app's signature: no call can succeed.
  var onRefusal: (() -> Void)?
  private var isRefused = false

  /// - Throws: ``TLSError`` for invalid certificates.
  init(
    _ settings: BenchSettings, _ access: APIAccess, _ message: BenchMessage, _ ledger: SendLedger,
    loop: EventLoop
  ) throws {
    client = access.client
    (self.message, self.ledger, self.loop) = (message, ledger, loop)
    channels = settings.subscription.channels
    key = settings.encryptionKey
    var lanes: [Lane] = []
    for _ in 0..<min(channels.count, Self.width) {
      lanes.append(Lane(try access.calls(on: loop)))
    }
    self.lanes = lanes
  }

  var isIdle: Bool { open.isEmpty }

  var preparesCalls: Bool { true }

  func prepare(_ call: Int) {
    guard prepared?.call != call else { return }
    prepared = (try? request(call)).map { (call, $0) }
  }

  func send(_ call: Int, at now: Instant) {
    let lane = lanes[ledger.plan.channel(of: call) % lanes.count]
    open.insert(call)
    lane.waiting.append(call)
    advance(lane)
  }

  func stop() {
    for lane in lanes {
      lane.calls.close()
      _ = lane.waiting.takeAll()
    }
    for call in open.sorted() {
      // After a refusal, nobody waits for the answers.
      ledger.noteFailed(
        call, "api unanswered", "no answer before the end", isRefused ? nil : .unreachable,
        at: loop.now)
    }
    open = []
  }

  func close() { stop() }

  private func advance(_ lane: Lane) {
    while !lane.isBusy, let call = lane.waiting.popFirst() {
      do {
        try start(call, on: lane)
      } catch {
        lane.isBusy = false
        open.remove(call)
        ledger.noteFailed(call, "unsent", "\(error)", .settings, at: loop.now)
      }
    }
  }

  private func start(_ call: Int, on lane: Lane) throws {
    let ready = prepared?.call == call ? prepared?.request : nil
    let request = try ready ?? request(call)
    ledger.noteBegin(call, at: loop.now)
    lane.isBusy = true
    try lane.calls.send(request, of: client) { [unowned self, unowned lane] answer, _ in
      lane.isBusy = false
      ended(call, answer)
      advance(lane)
    }
  }

  private func ended(_ call: Int, _ answer: APIAnswer) {
    open.remove(call)
    let now = loop.now
    switch answer {
    case .missing(let failure):
      var code = "network"
      if case .timeout = failure { code = "timeout" }
      ledger.noteFailed(call, "api \(code)", "\(failure)", Cause(failure), at: now)
    case .accepted: ledger.noteAccepted(call, at: now)
    case .refused(let status, let reason, let refusal):
      let words = [reason, Hints.advice(refusal, of: client)].filter { !$0.isEmpty }
      noteAnswer(call, status, words.joined(separator: "; "), at: now)
      isRefused = true
      onRefusal?()
    case .rejected(let status, let reason), .unavailable(let status, let reason),
      .unexpected(let status, let reason):
      noteAnswer(call, status, reason, at: now)
    }
  }

  private func noteAnswer(_ call: Int, _ status: Int, _ reason: String, at now: Instant) {
    ledger.noteFailed(call, "api \(status)", reason, Cause(httpStatus: status), at: now)
  }

  private func request(_ call: Int) throws -> HTTPExchange.Request {
    let plan = ledger.plan
    let channel = plan.channel(of: call)
    var events: [BatchRequest.Event] = []
    for number in plan.numbers(of: call) {
      let name = plan.name(of: number, in: call)
      events.append(try event(message.data(name).jsonText, channels[channel]))
    }
    return client.request(try .sending(events, appID: client.appID))
  }

  private func event(_ data: String, _ channel: String) throws -> BatchRequest.Event {
    let request = TriggerRequest(name: BenchMessage.event, channels: [channel], data: data)
    return BatchRequest.Event(
      name: BenchMessage.event, channel: channel, data: try request.encrypted(with: key).data)
  }
}

extension BenchMessage {
  /// Name of the events; client events have `client-` in front.
  static let event = "bench"
}

/// Sends client events, each channel's by its first subscriber.
///
/// The server confirms none of them, so an event counts as sent once the system has it.
final class ClientSender: BenchSender {
  /// A call that waits in the output of its connection.
  private struct Waiting {
    let call: Int
    /// ``BenchSubscriber/losses`` when the call was made.
    let connection: Int
  }

  /// By channel.
  private let senders: [BenchSubscriber]
  private var waiting: [Fifo<Waiting>]
  private let message: BenchMessage
  private let ledger: SendLedger
  private let loop: EventLoop

  /// - Parameter senders: One for each channel, in order.
  init(
    _ senders: [BenchSubscriber], _ message: BenchMessage, _ ledger: SendLedger, loop: EventLoop
  ) {
    (self.senders, self.message, self.ledger, self.loop) = (senders, message, ledger, loop)
    waiting = senders.map { _ in Fifo() }
  }

  var isIdle: Bool {
    for channel in senders.indices { settle(channel) }
    return waiting.allSatisfy(\.isEmpty)
  }

  func send(_ call: Int, at now: Instant) {
    let plan = ledger.plan
    let channel = plan.channel(of: call)
    let sender = senders[channel]
    ledger.noteBegin(call, at: loop.now)
    for number in plan.numbers(of: call) {
      let name = plan.name(of: number, in: call)
      do throws(ClientEventError) {
        let event = try ClientEvent(
          channel: sender.channelName, name: BenchMessage.event, data: message.data(name))
        guard sender.feed?.trigger(event) == true else { return fail(call, sender) }
      } catch { return ledger.noteFailed(call, "unsent", "\(error)", at: loop.now) }
    }
    waiting[channel].append(Waiting(call: call, connection: sender.losses))
    settle(channel)
  }

  func stop() {
    for channel in senders.indices {
      settle(channel)
      for left in waiting[channel].takeAll() { fail(left.call, senders[channel]) }
    }
  }

  private func fail(_ call: Int, _ sender: BenchSubscriber) {
    ledger.noteFailed(
      call, "unsent", "the sender of \(sender.channelName) is not connected", at: loop.now)
  }

  /// Counts the calls that have left, and those whose connection was lost before.
  private func settle(_ channel: Int) {
    let sender = senders[channel]
    while let first = waiting[channel].first {
      if first.connection != sender.losses {
        fail(first.call, sender)
      } else if sender.feed?.hasSentAll == true {
        ledger.noteAccepted(first.call, at: loop.now)
      } else {
        return
      }
      _ = waiting[channel].popFirst()
    }
  }
}

/// Lets a member join and leave each presence channel, over one more connection a channel.
///
/// The user id of each member is the label of its join, so the news about it is a numbered event:
/// the join has the number of the label, the leave the next one.
final class MemberSender: BenchSender {
  private let visitors: [Visitor]
  private let message: BenchMessage
  private let ledger: SendLedger
  private let loop: EventLoop

  init(
    _ settings: BenchSettings, secret: Secret, _ message: BenchMessage, _ ledger: SendLedger,
    _ crew: BenchCrew
  ) throws {
    (self.message, self.ledger, loop) = (message, ledger, crew.loop)
    let subscription = settings.subscription
    visitors = try subscription.channels.map { channel in
      let signer = VisitorSigner(subscription.signature(secret))
      let answers = JoinAnswers()
      let feed = try ChannelsFeed(
        loop: crew.loop, destination: subscription.destination, settings: subscription.webSocket,
        options: subscription.benchOptions, signer: signer, sink: answers)
      return Visitor(feed, signer, answers, channel: channel, ledger, crew)
    }
  }

  /// True if every visitor is connected, or cannot be.
  var isReady: Bool { visitors.allSatisfy { $0.isSettled } }

  /// Channels whose visitor lost its connection.
  var closedVisitors: [String] { visitors.filter(\.wasClosed).map(\.channel) }

  var isIdle: Bool { visitors.allSatisfy { $0.isIdle } }

  func send(_ call: Int, at now: Instant) {
    let plan = ledger.plan
    let visitor = visitors[plan.channel(of: call)]
    ledger.noteBegin(call, at: loop.now)
    let number = plan.numbers(of: call).lowerBound
    let name = plan.name(of: number, in: call)
    let isSent =
      number.isMultiple(of: 2)
      ? visitor.join(as: message.label(name), call) : visitor.leave(call)
    if !isSent {
      ledger.noteFailed(
        call, "unsent", "the visitor of \(visitor.channel) is not connected", at: loop.now)
    }
  }

  func stop() { for visitor in visitors { visitor.stop() } }

  func close() { for visitor in visitors { visitor.close() } }
}

/// The connection that joins and leaves one channel.
private final class Visitor: ChannelsFeedDelegate {
  /// A join or leave that the server has not answered yet.
  private struct Pending {
    let call: Int
    let isJoin: Bool
  }

  let channel: String
  private let feed: ChannelsFeed
  private let signer: VisitorSigner
  private let ledger: SendLedger
  private let loop: EventLoop
  private var isConnected = false
  private var hasEnded = false
  /// True after the count has ended.
  private var isDone = false
  /// Messages that the session has sent.
  private var sentCount = 0
  /// False before the first join, and after each leave.
  private var isInside = false
  private var pending = Fifo<Pending>()
  /// True after the server or the network closed the connection.
  private(set) var wasClosed = false

  init(
    _ feed: ChannelsFeed, _ signer: VisitorSigner, _ answers: JoinAnswers, channel: String,
    _ ledger: SendLedger, _ crew: BenchCrew
  ) {
    (self.feed, self.signer, self.channel) = (feed, signer, channel)
    (self.ledger, loop) = (ledger, crew.loop)
    feed.delegate = self
    answers.onAnswer = { [unowned self] in joined() }
    feed.connect(in: crew.deadlines)
  }

  var isSettled: Bool { isConnected || hasEnded }

  /// True if nothing waits to leave.
  var isIdle: Bool { pending.isEmpty || feed.hasSentAll }

  func join(as userID: String, _ call: Int) -> Bool {
    guard isConnected else { return false }
    signer.userID = userID
    isInside = send(Pending(call: call, isJoin: true)) { feed.subscribe(channel) }
    // Otherwise the session would join later, when it is another call's turn.
    if !isInside { feed.unsubscribe(channel) }
    return isInside
  }

  /// Returns false if the join was not sent, so that nobody can leave.
  func leave(_ call: Int) -> Bool {
    guard isInside, isConnected else { return false }
    isInside = false
    return send(Pending(call: call, isJoin: false)) { feed.unsubscribe(channel) }
  }

  /// Returns false if the session sends nothing now, as while it obeys a rate limit.
  private func send(_ call: Pending, _ body: () -> Void) -> Bool {
    let before = sentCount
    body()
    guard sentCount > before else { return false }
    pending.append(call)
    return true
  }

  /// Ends the count: on a connection that holds, what has left needs no answer.
  func stop() {
    isDone = true
    guard isConnected, feed.hasSentAll else { return giveUp() }
    for sent in pending.takeAll() { ledger.noteAccepted(sent.call, at: loop.now) }
  }

  func close() {
    isDone = true
    feed.abort()
  }

  /// Counts the oldest join as accepted, with every leave before it: the server works in order.
  private func joined() {
    while let sent = pending.popFirst() {
      ledger.noteAccepted(sent.call, at: loop.now)
      if sent.isJoin { return }
    }
  }

  /// Nobody knows what the server has done with the rest.
  private func giveUp() {
    for lost in pending.takeAll() {
      ledger.noteFailed(
        lost.call, "unanswered", "the visitor of \(channel) lost its connection", at: loop.now)
    }
  }

  // MARK: ChannelsFeedDelegate

  func feed(received event: Envelope, named name: String?, at now: Instant) {}

  func feed(reports event: SessionEvent, at now: Instant) {
    switch event {
    case .connected: isConnected = true
    case .subscriptionFailed(_, let failure):
      ledger.noteError(
        failure.status.map { "http \($0)" } ?? failure.type,
        "the visitor of \(channel): \(failure.message)", Cause(failure), at: loop.now)
    case .error(RateLimit.code?, let message):
      guard let dropped = pending.popFirst() else { return }
      ledger.noteFailed(dropped.call, "\(RateLimit.code)", message, .overloaded, at: loop.now)
    default: break
    }
  }

  func feed(reports event: ConnectionEvent, at now: Instant) {
    switch event {
    case .disconnected(let loss, let code, _, _):
      guard !isDone else { return }
      (isConnected, wasClosed) = (false, true)
      giveUp()
      ledger.noteError(
        loss.code(code), "the visitor of \(channel): \(loss)", Cause(loss, code: code),
        at: loop.now)
      // Otherwise the next connection would bring the same member again.
      if isInside { feed.unsubscribe(channel) }
      isInside = false
    case .ended: hasEnded = true
    default: break
    }
  }

  func feedSinkIsFull() {}
  func feedClosed() {}
  func feed(exchanged text: @autoclosure () -> String, isSent: Bool) {
    if isSent { sentCount += 1 }
  }
}

/// Sees the answers to a visitor's joins, which come in the order of the joins.
///
/// The session does not report an answer that comes after the visitor has left again.
private final class JoinAnswers: EventSink {
  var onAnswer: (() -> Void)?

  /// The event's name is among the first bytes; the list of members may be long.
  private static let headLength = 400

  func take(message: ByteView) -> SinkVerdict {
    let head = message[0..<min(message.count, Self.headLength)]
    if head.has("subscription_succeeded") { onAnswer?() }
    return .declined
  }
}

/// Signs the visitor's subscriptions with the secret, each as another member.
private final class VisitorSigner: Signer {
  private let signature: SubscriptionSignature
  var userID = ""

  init(_ signature: SubscriptionSignature) { self.signature = signature }

  func sign(_ request: AuthorizationRequest, completion: @escaping Completion) {
    let member = PresenceMember(userID: userID)
    SecretSigner(signature: self.signature, member: member).sign(request, completion: completion)
  }

  func cancelAll() {}
}
