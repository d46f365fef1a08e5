internal import PusherCore

/// Hands each call of the plan to the network at its intended time; a subclass sends it.
class BenchSender {
  let message: BenchMessage
  let ledger: BenchLedger
  let loop: EventLoop
  /// Called if the server does not accept the app's signature: no call can succeed.
  var onRefusal: (() -> Void)?
  /// Time of the first call; `nil` before ``begin(at:)``.
  private var begin: Instant?
  private var next = 0
  private lazy var timer = PreciseTimer { [unowned self] in sendDue(at: $0) }
  /// Fires halfway to the next call: its preparation would hold up a call that leaves now.
  private lazy var preparation = PreciseTimer { [unowned self] _ in prepare(next) }

  init(_ message: BenchMessage, _ fleet: BenchFleet) {
    (self.message, ledger, loop) = (message, fleet.ledger, fleet.loop)
  }

  /// Makes the sender of a mode that sends events.
  ///
  /// - Throws: ``TLSError`` for invalid certificates.
  static func make(
    _ settings: BenchSettings, _ message: BenchMessage, _ fleet: BenchFleet
  ) throws -> BenchSender {
    if settings.mode == .client { return ClientSender(message, fleet) }
    if let access = settings.api { return try APISender(settings, access, message, fleet) }
    guard case .secret(let secret, _, _) = settings.subscription.authorization else {
      throw UsageError("the mode 'presence' needs the secret")
    }
    return try MemberSender(settings.subscription, secret, message, fleet)
  }

  // MARK: The way of a mode

  /// True if the plan can start.
  var isReady: Bool { true }
  /// True if no call waits for an answer.
  var isIdle: Bool { true }
  /// True if ``prepare(_:)`` does anything.
  var preparesCalls: Bool { false }
  /// Channels of the mode `presence` whose visitor lost its connection.
  var closedVisitors: [String] { [] }
  /// Sends a call now, or as soon as the earlier calls of its channel are answered.
  func send(_ call: Int) {}
  /// Prepares the next call while there is time.
  func prepare(_ call: Int) {}
  /// Counts the calls without an answer as failed.
  func giveUp() {}
  /// Closes the connections of the sender.
  func close() {}

  // MARK: The plan

  /// Starts the plan: hands each call on at its intended time.
  func begin(at begin: Instant) {
    self.begin = begin
    loop.add(timer)
    loop.add(preparation)
    waitForNext(at: loop.now)
  }

  /// True if every call was sent.
  var isDone: Bool { next == ledger.plan.callCount }

  /// Sends no more; calls without an answer count as failed.
  func stop() {
    if begin != nil {
      loop.remove(timer)
      loop.remove(preparation)
    }
    giveUp()
  }

  private func sendDue(at now: Instant) {
    while let due, due <= now {
      send(next)
      next += 1
    }
    waitForNext(at: now)
  }

  private func waitForNext(at now: Instant) {
    guard let due else { return }
    timer.deadline = due
    if preparesCalls { preparation.deadline = now.advanced(by: now.duration(to: due) / 2) }
  }

  /// Time of the next call; `nil` after the last one.
  private var due: Instant? { isDone ? nil : begin?.advanced(by: ledger.plan.time(of: next)) }
}

/// Sends client events, each channel's by its first subscriber.
///
/// The server confirms none of them, so an event counts as sent once the system has it.
private final class ClientSender: BenchSender {
  /// By channel.
  private let senders: [BenchSubscriber]
  /// Calls in the output of their connection, which is named by its ``BenchSubscriber/losses``.
  private var waiting: [Fifo<(call: Int, connection: Int)>]

  override init(_ message: BenchMessage, _ fleet: BenchFleet) {
    // The first subscriber of each channel has the channel's number.
    senders = Array(fleet.subscribers.prefix(fleet.ledger.plan.channels))
    waiting = senders.map { _ in Fifo() }
    super.init(message, fleet)
  }

  override var isIdle: Bool {
    for channel in senders.indices { settle(channel) }
    return waiting.allSatisfy(\.isEmpty)
  }

  override func send(_ call: Int) {
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
    waiting[channel].append((call, sender.losses))
    settle(channel)
  }

  override func giveUp() {
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
private final class MemberSender: BenchSender {
  private let visitors: [Visitor]

  init(
    _ subscription: SubscribeSettings, _ secret: Secret, _ message: BenchMessage,
    _ fleet: BenchFleet
  ) throws {
    visitors = try subscription.channels.map {
      try Visitor(subscription, secret, channel: $0, fleet)
    }
    super.init(message, fleet)
  }

  /// True if every visitor is connected, or cannot be.
  override var isReady: Bool { visitors.allSatisfy { $0.isSettled } }
  override var closedVisitors: [String] { visitors.filter(\.wasClosed).map(\.channel) }
  override var isIdle: Bool { visitors.allSatisfy { $0.isIdle } }

  override func send(_ call: Int) {
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

  override func giveUp() { for visitor in visitors { visitor.stop() } }

  override func close() { for visitor in visitors { visitor.close() } }
}

/// The connection that joins and leaves one channel.
private final class Visitor: ChannelsFeedDelegate {
  let channel: String
  private var feed: ChannelsFeed?
  private let signature: SubscriptionSignature
  /// User of the next subscription.
  private var userID = ""
  private let ledger: BenchLedger
  private let loop: EventLoop
  private var isConnected = false
  private var hasEnded = false
  /// True after the count has ended.
  private var isDone = false
  /// Messages that the session has sent.
  private var sentCount = 0
  /// False before the first join, and after each leave.
  private var isInside = false
  /// Joins and leaves that the server has not answered yet.
  private var pending = Fifo<(call: Int, isJoin: Bool)>()
  /// True after the server or the network closed the connection.
  private(set) var wasClosed = false

  init(
    _ subscription: SubscribeSettings, _ secret: Secret, channel: String, _ fleet: BenchFleet
  ) throws {
    (signature, self.channel) = (subscription.signature(secret), channel)
    (ledger, loop) = (fleet.ledger, fleet.loop)
    let feed = try fleet.makeFeed(self, signer: self)
    self.feed = feed
    feed.connect(in: fleet.deadlines)
  }

  var isSettled: Bool { isConnected || hasEnded }

  /// True if nothing waits to leave.
  var isIdle: Bool { pending.isEmpty || feed?.hasSentAll == true }

  func join(as userID: String, _ call: Int) -> Bool {
    guard isConnected else { return false }
    self.userID = userID
    isInside = send((call, true)) { feed?.subscribe(channel) }
    // Otherwise the session would join later, when it is another call's turn.
    if !isInside { feed?.unsubscribe(channel) }
    return isInside
  }

  /// Returns false if the join was not sent, so that nobody can leave.
  func leave(_ call: Int) -> Bool {
    guard isInside, isConnected else { return false }
    isInside = false
    return send((call, false)) { feed?.unsubscribe(channel) }
  }

  /// Returns false if the session sends nothing now, as while it obeys a rate limit.
  private func send(_ call: (call: Int, isJoin: Bool), _ body: () -> Void) -> Bool {
    let before = sentCount
    body()
    guard sentCount > before else { return false }
    pending.append(call)
    return true
  }

  /// Ends the count: on a connection that holds, what has left needs no answer.
  func stop() {
    isDone = true
    guard isConnected, feed?.hasSentAll == true else { return giveUp() }
    for sent in pending.takeAll() { ledger.noteAccepted(sent.call, at: loop.now) }
  }

  func close() {
    isDone = true
    feed?.abort()
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
      if isInside { feed?.unsubscribe(channel) }
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

extension Visitor: EventSink {
  /// The event's name is among the first bytes; the list of members may be long.
  private static let headLength = 400

  /// Sees the answers to the joins, which come in the order of the joins.
  ///
  /// The session does not report an answer that comes after the visitor has left again.
  func take(message: ByteView) -> SinkVerdict {
    let head = message[0..<min(message.count, Self.headLength)]
    if head.has("subscription_succeeded") { joined() }
    return .declined
  }
}

extension Visitor: Signer {
  /// Signs a subscription with the secret, each as another member.
  func sign(_ request: AuthorizationRequest, completion: @escaping Completion) {
    SecretSigner(signature: self.signature, member: ["user_id": .string(userID)])
      .sign(request, completion: completion)
  }

  func cancelAll() {}
}
