package import PusherCore

/// Passes notices of a node's hubs to the webhooks of their apps.
final class WebhookRouter {
  private typealias Place = (hub: Hub, application: Application, dispatcher: WebhookDispatcher)

  private let loop: EventLoop
  private let policy: WebhookPolicy
  private let report: (ServerLogEvent) -> Void
  private let onIdle: () -> Void
  private var places: [Place] = []
  /// Dispatchers of removed apps or former webhooks that still have waiting notices.
  private var retired: [WebhookDispatcher] = []
  private var tls: TLSContext?

  init(
    loop: EventLoop, policy: WebhookPolicy, report: @escaping (ServerLogEvent) -> Void,
    onIdle: @escaping () -> Void
  ) { (self.loop, self.policy, self.report, self.onIdle) = (loop, policy, report, onIdle) }

  /// - Throws: ``TLSError`` if an app has secure webhooks and certificates cannot be checked.
  static func check(_ applications: [Application], _ policy: WebhookPolicy) throws(TLSError) {
    _ = try context(applications, policy)
  }

  private static func context(
    _ applications: [Application], _ policy: WebhookPolicy
  ) throws(TLSError) -> TLSContext? {
    guard applications.contains(where: { $0.webhooks.contains(where: \.isSecure) }) else {
      return nil
    }
    return try TLSContext.client(TLSConfiguration(), environment: policy.trust)
  }

  /// Replaces the hubs, leaving ones included.
  ///
  /// - Throws: ``TLSError`` as ``check(_:_:)`` does; then nothing has changed.
  func renew(_ hubs: [Hub]) throws(TLSError) {
    if tls == nil { tls = try Self.context(hubs.map(\.application), policy) }
    let former = places
    places = hubs.compactMap { hub in
      let app = hub.application
      guard let place = former.first(where: { $0.hub === hub }), place.application.tells(as: app)
      else {
        return WebhookDispatcher(
          app, loop: loop, tls: tls, policy: policy, report: report,
          onIdle: { [weak self] in self?.noteIdle() }
        ).map { (hub, app, $0) }
      }
      return place
    }
    for place in former
    where !places.contains(where: { $0.dispatcher === place.dispatcher }) { retire(place) }
  }

  private func retire(_ place: Place) {
    let dispatcher = place.dispatcher
    dispatcher.take(place.hub.takeNotices(), at: loop.now)
    dispatcher.retire()
    if dispatcher.isIdle { dispatcher.close() } else { retired.append(dispatcher) }
  }

  private func noteIdle() {
    for dispatcher in retired where dispatcher.isIdle { dispatcher.close() }
    retired.removeAll(where: \.isIdle)
    onIdle()
  }

  func takeNotices(at now: Instant, _ watch: (Application, [WebhookNotice]) -> Void) {
    for place in places {
      let notices = place.hub.takeNotices()
      guard !notices.isEmpty else { continue }
      watch(place.application, notices)
      place.dispatcher.take(notices, at: now)
    }
  }

  func send(_ name: String, _ body: [UInt8], ofApp id: String) -> Bool {
    guard let place = places.first(where: { $0.application.id.isSame(as: id) }) else {
      return false
    }
    place.dispatcher.send(name, body)
    return true
  }

  private var dispatchers: [WebhookDispatcher] { places.map(\.dispatcher) + retired }
  var isIdle: Bool { dispatchers.allSatisfy(\.isIdle) }

  func finish() { for dispatcher in dispatchers { dispatcher.finish() } }
  func close() { for dispatcher in dispatchers { dispatcher.close() } }
}

extension Application {
  fileprivate func tells(as other: Application) -> Bool {
    webhooks == other.webhooks && key.isSame(as: other.key) && secret.isSame(as: other.secret)
  }
}

/// Delays departure notices, because a member who returns soon has not left.
package struct DelayedNotices {
  /// The channel, and the user if it is the user who left.
  private typealias Key = [Name]

  /// Maximum number of delayed departures; further ones are sent at once.
  package static let limit = 10_000

  private let delay: Duration
  private var departures: [(key: Key, notice: WebhookNotice, due: Instant, number: Int)] = []
  /// Numbers of departures that no arrival has cancelled.
  private var standing: [Key: Int] = [:]
  private var count = 0

  package init(delay: Duration) { self.delay = delay }

  package var deadline: Instant? { departures.first?.due }

  /// Returns the notice if it should be sent at once.
  ///
  /// An arrival that cancels a departure is not sent.
  package mutating func take(_ notice: WebhookNotice, at now: Instant) -> WebhookNotice? {
    let key = [notice.channel, notice.userID].compactMap { $0.map { Name($0) } }
    switch notice.kind {
    case .channelOccupied, .memberAdded:
      return standing.removeValue(forKey: key) == nil ? notice : nil
    case .clientEvent, .cacheMiss, .subscriptionCount: return notice
    case .channelVacated, .memberRemoved:
      guard delay > .zero, departures.count < Self.limit else { return notice }
      count += 1
      standing[key] = count
      departures.append((key, notice, now.advanced(by: delay), count))
      return nil
    }
  }

  package mutating func takeDue(at now: Instant) -> [WebhookNotice] {
    let due = departures.prefix { $0.due <= now }
    departures.removeFirst(due.count)
    return due.compactMap { departure in
      guard standing[departure.key] == departure.number else { return nil }
      standing[departure.key] = nil
      return departure.notice
    }
  }
}

/// Sends an app's webhooks to all of its receivers, departures after a delay.
///
/// Only the loop's thread may use it.
package final class WebhookDispatcher {
  private var delayed: DelayedNotices
  private let senders: [WebhookSender]
  private let loop: EventLoop
  private let policy: WebhookPolicy
  private lazy var timer = LoopTimer(deadline: nil) { [weak self] in self?.sendDue() }

  /// Returns `nil` for an app without receivers.
  ///
  /// - Parameters:
  ///   - report: Gets an entry for each webhook that was sent, failed or is lost.
  ///   - onIdle: Called when a receiver has taken its last webhook.
  package init?(
    _ application: Application, loop: EventLoop, tls: TLSContext?, policy: WebhookPolicy,
    report: @escaping (ServerLogEvent) -> Void, onIdle: @escaping () -> Void
  ) {
    guard !application.webhooks.isEmpty else { return nil }
    (self.loop, self.policy) = (loop, policy)
    delayed = DelayedNotices(delay: policy.delay)
    senders = application.webhooks.map { url in
      WebhookSender(
        loop: loop, url: url, application: application, tls: tls, policy: policy, report: report,
        onIdle: onIdle)
    }
    loop.add(timer)
  }

  package func take(_ notices: [WebhookNotice], at now: Instant) {
    guard !notices.isEmpty else { return }
    send(notices.compactMap { $0.audience == .console ? nil : delayed.take($0, at: now) })
    timer.deadline = delayed.deadline
  }

  package var isIdle: Bool { delayed.deadline == nil && senders.allSatisfy(\.isIdle) }

  /// Number of webhooks that a receiver has not taken yet, without delayed notices.
  package var openCount: Int { senders.reduce(0) { $0 + $1.openCount } }

  /// Sends delayed notices, because no more notices come; failed webhooks are retried as before.
  func retire() {
    send(delayed.takeDue(at: Instant(nanoseconds: .max)))
    timer.deadline = nil
  }

  package func finish() {
    retire()
    for sender in senders { sender.finish() }
  }

  package func close() {
    loop.remove(timer)
    for sender in senders { sender.close() }
  }

  func send(_ name: String, _ body: [UInt8]) { for sender in senders { sender.send(name, body) } }

  private func sendDue() {
    send(delayed.takeDue(at: loop.now))
    timer.deadline = delayed.deadline
  }

  private func send(_ notices: [WebhookNotice]) {
    let wanted = notices.filter { policy.kinds.contains($0.kind) }
    guard !wanted.isEmpty else { return }
    let milliseconds = SystemClock.wall().millisecondsSince1970
    var rest = wanted[...]
    while let first = rest.first {
      let batch = rest.prefix(max(policy.batch, 1))
      rest = rest.dropFirst(batch.count)
      let name = batch.count == 1 ? first.kind.rawValue : "\(batch.count) events"
      send(name, WebhookNotice.body(batch, milliseconds: milliseconds))
    }
  }
}

package struct WebhookPolicy: Sendable, Equatable {
  package var delay = Duration.seconds(3)
  /// Wait before the second attempt; each further wait is twice as long.
  package var firstRetry = Duration.seconds(1)
  /// Maximum time from the first attempt to the last.
  package var patience = Duration.seconds(300)
  package var timeout = Duration.seconds(10)
  package var grace = Duration.seconds(2)
  package var queue = 1000
  package var queuedBytes = 16 << 20
  /// Kinds of events to send; a return still cancels a departure if only departures are sent.
  package var kinds = WebhookNotice.Kind.allCases
  /// Maximum number of events in one webhook, for events of the same moment; at least 1.
  package var batch = 1
  package var trust = TLSEnvironment()

  package init() {}

  var withoutDelay: WebhookPolicy {
    var policy = self
    policy.delay = .zero
    return policy
  }
}

/// Sends an app's webhooks to one receiver, one at a time, with retries.
///
/// Only the loop's thread may use it. Source: Pusher's page "Webhooks": an answer that is not 2xx
/// causes retries with exponential back-off for five minutes.
final class WebhookSender {
  private typealias Delivery = Deliveries<Webhook>.Delivery
  private typealias Webhook = (sent: SentWebhook, signature: String)

  private let loop: EventLoop
  private let url: HTTPURL
  private let application: Application
  private let policy: WebhookPolicy
  private let report: (ServerLogEvent) -> Void
  private let onIdle: () -> Void
  private let connection: HTTPConnection
  private var deliveries: Deliveries<Webhook>
  private var isFinishing = false
  private var dropped = 0
  private lazy var timer = LoopTimer(deadline: nil) { [weak self] in self?.sendDue() }

  private static let answerLimit = 65_536

  init(
    loop: EventLoop, url: HTTPURL, application: Application, tls: TLSContext?,
    policy: WebhookPolicy, report: @escaping (ServerLogEvent) -> Void, onIdle: @escaping () -> Void
  ) {
    (self.loop, self.url, self.application, self.policy) = (loop, url, application, policy)
    (self.report, self.onIdle) = (report, onIdle)
    // Every wait is the longest that `Backoff` allows, so that the first one is twice the floor.
    let backoff = Backoff(floor: policy.firstRetry / 2, ceiling: policy.patience)
    deliveries = Deliveries(jobs: 1, backoff: backoff, patience: policy.patience)
    connection = HTTPConnection(
      loop: loop, to: Destination(url: url), tls: tls, timeout: policy.timeout,
      bodyLimit: Self.answerLimit)
    loop.add(timer)
  }

  /// Signs a webhook and adds it to the queue; drops it if the queue is full.
  ///
  /// - Parameter name: Kind of its event, for the log.
  func send(_ name: String, _ body: [UInt8]) {
    guard deliveries.openCount < policy.queue,
      deliveries.openCost + body.count <= policy.queuedBytes
    else {
      dropped += 1
      // The first drop is logged at once, the total when the queue has room again.
      if dropped == 1 {
        tellDropped(sent(name, body), "queue full: \(deliveries.openCount) waiting")
      }
      return
    }
    tellAllDropped()
    let signature = WebhookSignature.sign(body, secret: application.secret)
    deliveries.add((sent(name, body), signature), cost: body.count)
    sendDue()
  }

  var isIdle: Bool { deliveries.isEmpty }
  var openCount: Int { deliveries.openCount }

  /// Sends the queue without a pause; the first failure ends it.
  func finish() {
    isFinishing = true
    deliveries.retrySoon(at: loop.now)
    sendDue()
  }

  func close() {
    discard("no answer in time")
    connection.close()
    loop.remove(timer)
  }

  private func discard(_ reason: String) {
    tellAllDropped()
    let count = deliveries.takeAll().count
    if count > 0 { report(.webhooksDiscarded(url: url.origin, count: count, reason: reason)) }
  }

  private func tellAllDropped() {
    if dropped > 1 { tellDropped(sent("\(dropped) webhooks in all", []), "the queue was full") }
    dropped = 0
  }

  private func tellDropped(_ webhook: SentWebhook, _ reason: String) {
    report(.webhookDropped(webhook, reason: reason))
  }

  private func sent(_ name: String, _ body: [UInt8]) -> SentWebhook {
    SentWebhook(app: application.id, url: url.origin, event: name, body: body)
  }

  private func sendDue() {
    while let delivery = deliveries.next(at: loop.now) { attempt(delivery) }
    timer.deadline = deliveries.deadline
  }

  private func attempt(_ delivery: Delivery) {
    let headers = HTTPHeaders([
      ("Content-Type", "application/json"), (WebhookSignature.keyHeader, application.key),
      (WebhookSignature.signatureHeader, delivery.item.signature),
    ])
    do throws(HTTPError) {
      try connection.send(
        HTTPExchange.Request(
          method: "POST", url: url, headers: headers, body: delivery.item.sent.body)
      ) { [weak self] result, now in self?.take(result, of: delivery, at: now) }
    } catch { drop(delivery, error.description) }
  }

  private func drop(_ delivery: Delivery, _ reason: String) {
    deliveries.end(delivery.number)
    tellDropped(delivery.item.sent, reason)
    if isIdle { onIdle() }
  }

  private func take(_ result: HTTPExchange.Outcome, of delivery: Delivery, at now: Instant) {
    switch result {
    case .success(let answer) where answer.head.isSuccess:
      deliveries.end(delivery.number)
      report(.webhookSent(delivery.item.sent, status: answer.head.status))
      if isIdle { onIdle() }
    case .success(let answer):
      let wait = answer.head.retryAfter(at: SystemClock.wall())
      failed(delivery, "HTTP \(answer.head.status)", retryAfter: wait, at: now)
    case .failure(let failure): failed(delivery, failure.description, at: now)
    }
    sendDue()
  }

  private func failed(
    _ delivery: Delivery, _ reason: String, retryAfter: Duration? = nil, at now: Instant
  ) {
    guard !isFinishing else {
      discard(reason)
      return onIdle()
    }
    let wait = deliveries.failed(
      delivery.number, reason, retryAfter: retryAfter, at: now, random: .max)
    guard let wait else { return drop(delivery, reason) }
    report(.webhookFailed(delivery.item.sent, reason: reason, retryIn: wait))
  }
}
