package import PusherCore

/// How webhooks are sent.
package struct WebhookPolicy: Sendable, Equatable {
  /// How long departures are held back.
  package var delay = Duration.seconds(3)
  /// The wait before the second attempt; each further one is twice as long.
  package var firstRetry = Duration.seconds(1)
  /// How long after the first attempt the last one may be.
  package var patience = Duration.seconds(300)
  /// For one attempt.
  package var timeout = Duration.seconds(10)
  /// How long the webhooks that still wait when the server ends may take.
  package var grace = Duration.seconds(2)
  /// Webhooks that may wait for one receiver; more are dropped.
  package var queue = 1000
  /// Bytes of the webhooks that may wait for one receiver.
  package var queuedBytes = 16 << 20
  /// Where trusted certificates are, for receivers with https.
  package var trust = TLSEnvironment()

  package init() {}

  /// For nodes that hold departures back together.
  var withoutDelay: WebhookPolicy {
    var policy = self
    policy.delay = .zero
    return policy
  }
}

/// Sends an app's webhooks to one receiver, one after the other, until each is taken.
///
/// It belongs to its loop's thread. Source: Pusher's page "Webhooks": an answer that is not 2xx is asked again, with
/// exponential back-off, for five minutes.
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

  /// The limit of an answer's body, which is not read.
  private static let answerLimit = 65_536

  init(
    loop: EventLoop, url: HTTPURL, application: Application, tls: TLSContext?,
    policy: WebhookPolicy, report: @escaping (ServerLogEvent) -> Void,
    onIdle: @escaping () -> Void
  ) {
    (self.loop, self.url, self.application, self.policy) = (loop, url, application, policy)
    (self.report, self.onIdle) = (report, onIdle)
    // The longest wait is always taken: the first one is twice the floor.
    let backoff = Backoff(floor: policy.firstRetry / 2, ceiling: policy.patience)
    deliveries = Deliveries(jobs: 1, backoff: backoff, patience: policy.patience)
    connection = HTTPConnection(
      loop: loop, tls: tls, timeout: policy.timeout, bodyLimit: Self.answerLimit)
    loop.add(timer)
  }

  /// Adds a webhook with this body, signed now; when the queue is full it is dropped.
  ///
  /// - Parameter name: The kind of its event, for the log.
  func send(_ name: String, _ body: [UInt8]) {
    guard deliveries.openCount < policy.queue,
      deliveries.openCost + body.count <= policy.queuedBytes
    else {
      dropped += 1
      // The first drop is logged at once, the total when there is room again.
      if dropped == 1 { tellDropped(name, body, "\(deliveries.openCount) others wait") }
      return
    }
    tellAllDropped()
    let signature = WebhookSignature.sign(body, secret: application.secret)
    deliveries.add(Webhook(name: name, body: body, signature: signature), cost: body.count)
    sendDue()
  }

  /// Whether nothing waits.
  var isIdle: Bool { deliveries.isEmpty }

  /// Sends the queue without a pause; the first webhook that is not accepted ends that.
  func finish() {
    isFinishing = true
    deliveries.hasten(at: loop.now)
    sendDue()
  }

  /// Drops the waiting webhooks, and answers their number.
  func close() {
    discard("no answer in time")
    connection.close()
    loop.remove(timer)
  }

  private func discard(_ reason: String) {
    tellAllDropped()
    let count = deliveries.takeAll().count
    if count > 0 { report(.webhooksDiscarded(url: url.place, count: count, reason: reason)) }
  }

  private func tellAllDropped() {
    if dropped > 1 { tellDropped("\(dropped) webhooks in all", [], "too many others waited") }
    dropped = 0
  }

  private func tellDropped(_ what: String, _ body: [UInt8], _ reason: String) {
    report(.webhookDropped(sent(what, body), reason: reason))
  }

  private func sent(_ name: String, _ body: [UInt8]) -> SentWebhook {
    SentWebhook(app: application.id, url: url.place, event: name, body: body)
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
    } catch {
      drop(delivery, error.description)
    }
  }

  private func drop(_ delivery: Delivery, _ reason: String) {
    deliveries.end(delivery.number)
    tellDropped(delivery.item.name, delivery.item.body, reason)
    if isIdle { onIdle() }
  }

  private func take(
    _ result: Result<HTTPExchange.Response, HTTPExchange.Failure>, of delivery: Delivery,
    at now: Instant
  ) {
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
