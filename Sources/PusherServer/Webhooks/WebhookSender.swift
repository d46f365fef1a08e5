package import PusherCore

package struct WebhookPolicy: Sendable, Equatable {
  /// Delay of departure notices.
  package var delay = Duration.seconds(3)
  /// Wait before the second attempt; each further wait is twice as long.
  package var firstRetry = Duration.seconds(1)
  /// Maximum time from the first attempt to the last.
  package var patience = Duration.seconds(300)
  package var timeout = Duration.seconds(10)
  /// Maximum time for waiting webhooks after the server ends.
  package var grace = Duration.seconds(2)
  /// Maximum number of webhooks waiting for one receiver; further ones are dropped.
  package var queue = 1000
  /// Maximum size of the webhooks waiting for one receiver, in bytes.
  package var queuedBytes = 16 << 20
  /// Kinds of events to send; a return still cancels a departure if only departures are sent.
  package var kinds = WebhookNotice.Kind.allCases
  /// Maximum number of events in one webhook, for events of the same moment; at least 1.
  package var batch = 1
  package var trust = TLSEnvironment()

  package init() {}

  /// The policy for nodes that delay departures together.
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
  private struct Webhook {
    let name: String
    let body: [UInt8]
    let signature: String
  }

  private typealias Delivery = Deliveries<Webhook>.Delivery

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
      if dropped == 1 { tellDropped(name, body, "queue full: \(deliveries.openCount) waiting") }
      return
    }
    tellAllDropped()
    let signature = WebhookSignature.sign(body, secret: application.secret)
    deliveries.add(Webhook(name: name, body: body, signature: signature), cost: body.count)
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
    if dropped > 1 { tellDropped("\(dropped) webhooks in all", [], "the queue was full") }
    dropped = 0
  }

  private func tellDropped(_ what: String, _ body: [UInt8], _ reason: String) {
    report(.webhookDropped(sent(what, body), reason: reason))
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
        HTTPExchange.Request(method: "POST", url: url, headers: headers, body: delivery.item.body)
      ) { [weak self] result, now in self?.take(result, of: delivery, at: now) }
    } catch { drop(delivery, error.description) }
  }

  private func drop(_ delivery: Delivery, _ reason: String) {
    deliveries.end(delivery.number)
    tellDropped(delivery.item.name, delivery.item.body, reason)
    if isIdle { onIdle() }
  }

  private func take(_ result: HTTPExchange.Outcome, of delivery: Delivery, at now: Instant) {
    switch result {
    case .success(let answer) where answer.head.isSuccess:
      deliveries.end(delivery.number)
      let webhook = sent(delivery.item.name, delivery.item.body)
      report(.webhookSent(webhook, status: answer.head.status))
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
    let webhook = sent(delivery.item.name, delivery.item.body)
    report(.webhookFailed(webhook, reason: reason, retryIn: wait))
  }
}
