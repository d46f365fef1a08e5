internal import PusherCore

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
    let loop = crew.loop
    (self.message, self.ledger, self.loop) = (message, ledger, loop)
    let subscription = settings.subscription
    visitors = try subscription.channels.map { channel in
      let signer = VisitorSigner(subscription.signature(secret))
      let feed = try ChannelsFeed(
        loop: loop, destination: subscription.destination, settings: subscription.webSocket,
        options: subscription.benchOptions, signer: signer, sink: NoSink())
      return Visitor(feed, signer, channel: channel, crew.deadlines)
    }
  }

  var isIdle: Bool { true }

  /// True if every visitor is connected, or cannot be.
  var isReady: Bool { visitors.allSatisfy { $0.isSettled } }

  func send(_ call: Int, at now: Instant) {
    let plan = ledger.plan
    let channel = plan.channel(of: call)
    ledger.noteBegin(call, at: loop.now)
    let number = plan.numbers(of: call).lowerBound
    let name = plan.name(of: number, in: call)
    let isDone =
      number.isMultiple(of: 2)
      ? visitors[channel].join(as: message.label(name)) : visitors[channel].leave()
    if isDone {
      ledger.noteAccepted(call, at: loop.now)
    } else {
      let what = "the visitor of \(visitors[channel].channel) is not connected"
      ledger.noteFailed(call, "unsent", what, at: loop.now)
    }
  }

  func close() { for visitor in visitors { visitor.close() } }
}

/// The connection that joins and leaves one channel.
private final class Visitor: ChannelsFeedDelegate {
  let channel: String
  private let feed: ChannelsFeed
  private let signer: VisitorSigner
  private var isConnected = false
  private var hasEnded = false
  /// False before the first join, and after each leave.
  private var isInside = false

  init(
    _ feed: ChannelsFeed, _ signer: VisitorSigner, channel: String, _ deadlines: DeadlineQueue
  ) {
    (self.feed, self.signer, self.channel) = (feed, signer, channel)
    feed.delegate = self
    feed.connect(in: deadlines)
  }

  var isSettled: Bool { isConnected || hasEnded }

  func join(as userID: String) -> Bool {
    guard isConnected else { return false }
    signer.userID = userID
    feed.subscribe(channel)
    isInside = true
    return true
  }

  /// Returns false if the join was not sent, so that nobody can leave.
  func leave() -> Bool {
    defer { isInside = false }
    guard isInside else { return false }
    feed.unsubscribe(channel)
    return isConnected
  }

  func close() { feed.abort() }

  // MARK: ChannelsFeedDelegate

  func feed(received event: Envelope, named name: String?, at now: Instant) {}

  func feed(reports event: SessionEvent, at now: Instant) {
    if case .connected = event { isConnected = true }
  }

  func feed(reports event: ConnectionEvent, at now: Instant) {
    switch event {
    case .disconnected: isConnected = false
    case .ended: hasEnded = true
    default: break
    }
  }

  func feedSinkIsFull() {}
  func feedClosed() {}
  func feed(exchanged text: @autoclosure () -> String, isSent: Bool) {}
}

/// Signs the visitor's subscriptions with the secret, each as another member.
private final class VisitorSigner: Signer {
  private let signature: SubscriptionSignature
  var userID = ""

  init(_ signature: SubscriptionSignature) { self.signature = signature }

  func sign(_ request: AuthorizationRequest, completion: @escaping Completion) {
    let member = PresenceMember(userID: userID)
    SecretSigner(signature: signature, member: member).sign(request, completion: completion)
  }

  func cancelAll() {}
}
