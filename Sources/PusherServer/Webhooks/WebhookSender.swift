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
    /// When it was sent first.
    var begun: Instant?
    var attempts = 0
  }

  private let loop: EventLoop
  private let url: HTTPURL
  /// Where the webhooks go, without what may be secret in it.
  private let place: String
  private let app: String
  private let key: String
  private let secret: String
  private let policy: WebhookPolicy
  private let report: (ServerLogEvent) -> Void
  private let onIdle: () -> Void
  private let connection: HTTPConnection
  private var queue: [Webhook] = []
  private var queuedBytes = 0
  private var isBusy = false
  private var isFinishing = false
  private var dropped = 0
  private lazy var timer = LoopTimer(deadline: nil) { [weak self] in self?.attempt() }

  /// The limit of an answer's body, which is not read.
  private static let answerLimit = 65_536

  init(
    loop: EventLoop, url: HTTPURL, application: Application, tls: TLSContext?,
    policy: WebhookPolicy, report: @escaping (ServerLogEvent) -> Void,
    onIdle: @escaping () -> Void
  ) {
    self.loop = loop
    self.url = url
    place = url.place
    app = application.id
    key = application.key
    secret = application.secret
    self.policy = policy
    self.report = report
    self.onIdle = onIdle
    connection = HTTPConnection(
      loop: loop, tls: tls, timeout: policy.timeout, bodyLimit: Self.answerLimit)
    loop.add(timer)
  }

  /// Adds a webhook to the queue; when the queue is full it is dropped.
  func send(_ notice: WebhookNotice, milliseconds: Int64) {
    send(notice.kind.rawValue, notice.body(milliseconds: milliseconds))
  }

  /// Adds a webhook with this body, signed now.
  ///
  /// - Parameter name: The kind of its event, for the log.
  func send(_ name: String, _ body: [UInt8]) {
    guard queue.count < policy.queue, queuedBytes + body.count <= policy.queuedBytes else {
      dropped += 1
      // The first drop is logged at once, the total when there is room again.
      if dropped == 1 { tellDropped(name, body, "\(queue.count) others wait") }
      return
    }
    tellAllDropped()
    queuedBytes += body.count
    queue.append(
      Webhook(
        name: name, body: body,
        signature: WebhookSignature.sign(body, secret: secret)))
    attempt()
  }

  /// Whether nothing waits.
  var isIdle: Bool { queue.isEmpty }

  /// Sends the queue without a pause; the first webhook that is not accepted ends that.
  func finish() {
    isFinishing = true
    timer.deadline = nil
    attempt()
  }

  /// Drops the waiting webhooks, and answers their number.
  func close() {
    discard("no answer in time")
    connection.close()
    loop.remove(timer)
  }

  private func discard(_ reason: String) {
    tellAllDropped()
    if !queue.isEmpty {
      report(.webhooksDiscarded(url: place, count: queue.count, reason: reason))
    }
    queue = []
    queuedBytes = 0
  }

  private func tellAllDropped() {
    if dropped > 1 { tellDropped("\(dropped) webhooks in all", [], "too many others waited") }
    dropped = 0
  }

  private func tellDropped(_ what: String, _ body: [UInt8], _ reason: String) {
    report(.webhookDropped(sent(what, body), reason: reason))
  }

  private func sent(_ name: String, _ body: [UInt8]) -> SentWebhook {
    SentWebhook(app: app, url: place, event: name, body: body)
  }

  private func attempt() {
    guard !isBusy, timer.deadline == nil, var webhook = queue.first else { return }
    webhook.begun = webhook.begun ?? loop.now
    webhook.attempts += 1
    queue[0] = webhook
    let headers = HTTPHeaders([
      ("Content-Type", "application/json"), (WebhookSignature.keyHeader, key),
      (WebhookSignature.signatureHeader, webhook.signature),
    ])
    isBusy = true
    do throws(HTTPError) {
      try connection.send(
        HTTPExchange.Request(method: "POST", url: url, headers: headers, body: webhook.body)
      ) { [weak self] result, now in self?.take(result, at: now) }
    } catch {
      isBusy = false
      removeFirst()
      tellDropped(webhook.name, webhook.body, error.description)
      goOn()
    }
  }

  private func removeFirst() {
    queuedBytes -= queue.removeFirst().body.count
  }

  /// Takes the next one, if there is any.
  private func goOn() {
    queue.isEmpty ? onIdle() : attempt()
  }

  private func take(
    _ result: Result<HTTPExchange.Response, HTTPExchange.Failure>, at now: Instant
  ) {
    isBusy = false
    guard let webhook = queue.first else { return }
    switch result {
    case .success(let answer) where 200..<300 ~= answer.head.status:
      removeFirst()
      report(.webhookSent(sent(webhook.name, webhook.body), status: answer.head.status))
      goOn()
    case .success(let answer): failed(webhook, "HTTP \(answer.head.status)", at: now)
    case .failure(let failure): failed(webhook, failure.description, at: now)
    }
  }

  private func failed(_ webhook: Webhook, _ reason: String, at now: Instant) {
    guard !isFinishing else {
      discard(reason)
      return onIdle()
    }
    let delay = policy.firstRetry * (1 << min(webhook.attempts - 1, 20))
    let end = (webhook.begun ?? now).advanced(by: policy.patience)
    let next = now.advanced(by: delay)
    guard next <= end else {
      removeFirst()
      tellDropped(webhook.name, webhook.body, reason)
      return goOn()
    }
    report(
      .webhookFailed(sent(webhook.name, webhook.body), reason: reason, retryIn: delay))
    timer.deadline = next
  }
}
