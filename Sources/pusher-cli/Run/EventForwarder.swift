internal import PusherCore

/// Sends each event to the receiver of `--forward` until that takes it, one kept connection a job.
///
/// Events are sent before the loop waits, once the event's own line is written. What waits has a limit, which the owner
/// heeds by leaving the socket unread.
final class EventForwarder: LoopSource {
  private typealias Entry = HookQueue<WaitingEvent>.Entry

  /// One event on its way.
  private final class Delivery {
    let entry: Entry
    let request: HTTPExchange.Request
    let connection: HTTPConnection
    var tries: DeliveryTries
    /// When it is given up, whatever is under way; `nil` for never.
    var deadline: Instant?
    /// When the next try begins; `nil` while one is under way.
    var nextTry: Instant?
    /// Whether people know that it fails.
    var isTold = false
    /// What the last try met.
    var reason = ""

    init(
      _ entry: Entry, _ request: HTTPExchange.Request, _ connection: HTTPConnection,
      _ tries: DeliveryTries
    ) {
      (self.entry, self.request, self.connection) = (entry, request, connection)
      (self.tries, deadline) = (tries, tries.deadline)
    }

    /// The event as messages name it.
    var subject: String {
      let event = entry.event.event
      return "event \(event.name)" + (event.channel.map { " of \($0)" } ?? "")
    }
  }

  private let settings: ForwardSettings
  private let surroundings: HandlerSurroundings
  private let network: NetworkSettings
  private let tls: TLSContext?
  private let backoff: Backoff
  private let dead: DeadLetterFile?
  private var loop: EventLoop { surroundings.loop }
  private var diagnostics: Diagnostics { surroundings.diagnostics }
  private var requests: ForwardRequests
  private var queue: HookQueue<WaitingEvent>
  /// The events on their way, by number.
  private var deliveries: [Int: Delivery] = [:]
  /// Connections of jobs that have nothing to do.
  private var idle: [HTTPConnection] = []
  private var random = SecureRandom.generator
  private var outage = OutageReport()
  private var hasSaidFull = false
  private var hasSaidUnwritable = false
  private var isCut = false
  /// Until when the tries may go on that were under way at the end.
  private var graceEnds: Instant?
  private static let grace = Duration.milliseconds(200)
  /// The most bytes of an answer's body that are read to keep its connection.
  private static let answerLimit = 65_536
  /// Events that were given up.
  private var givenUp = 0
  /// Events that were left at the end: in the file, and nowhere.
  private var left = 0
  private var lost = 0
  /// How many of the first events are delivered or in the file.
  private(set) var handled = 0
  private var counts = ForwardCounts()
  private var hasLost = false
  var onFailure: (() -> Void)?
  let failure = (status: ExitStatus.network, reason: "forward")

  /// - Throws: ``UsageError`` for a file that cannot be written, ``TLSError`` for authorities that cannot be read.
  init(
    _ settings: ForwardSettings, in surroundings: HandlerSurroundings, network: NetworkSettings,
    backoff: Backoff
  ) throws {
    (self.settings, self.surroundings) = (settings, surroundings)
    (self.network, self.backoff) = (network, backoff)
    tls =
      try settings.url.isSecure
      ? TLSContext.client(network.tls.forAnotherServer, environment: network.trust) : nil
    dead = try settings.deadFile.map {
      try DeadLetterFile($0, warn: surroundings.diagnostics.warning)
    }
    requests = ForwardRequests(settings, random: SecureRandom.bytes(16))
    queue = HookQueue(jobs: settings.jobs)
    surroundings.loop.add(self)
  }

  func startWaiting() {
    guard !isCut else { return }
    while queue.mayStart(written: surroundings.output.written), let entry = queue.start() {
      let waiting = entry.event
      let delivery = Delivery(
        entry,
        requests.request(waiting.event, number: entry.number, hasOwnID: waiting.hasOwnID),
        idle.popLast() ?? makeConnection(),
        DeliveryTries(backoff: backoff, patience: settings.patience, at: loop.now))
      deliveries[entry.number] = delivery
      send(delivery)
    }
  }

  private func makeConnection() -> HTTPConnection {
    HTTPConnection(
      loop: loop, routing: network.routing, tls: tls, timeout: network.connectTimeout,
      bodyLimit: Self.answerLimit)
  }

  // MARK: One event

  /// The receiver as messages name it: what else the URL has may be a token.
  private var place: String { settings.url.authority }

  private func send(_ delivery: Delivery) {
    delivery.nextTry = nil
    if delivery.tries.count > 0 { counts.retries += 1 }
    delivery.tries.begin()
    do throws(HTTPError) {
      try delivery.connection.send(delivery.request) { [unowned self] result, now in
        answered(delivery, result, at: now)
      }
    } catch {
      failed(delivery, "the request cannot be sent: \(error)", at: loop.now)
    }
  }

  private func answered(
    _ delivery: Delivery, _ result: Result<HTTPExchange.Response, HTTPExchange.Failure>,
    at now: Instant
  ) {
    switch result {
    case .success(let answer) where 200..<300 ~= answer.head.status: delivered(delivery)
    case .success(let answer):
      let status = answer.head.status
      let redirect = 300..<400 ~= status ? ", a redirect, which is not followed" : ""
      let wait = answer.head.headers["Retry-After"].flatMap {
        RetryAfter.parse($0, now: SystemClock.wall())
      }
      counts.failures.note(.refused)
      failed(delivery, "HTTP \(status)\(redirect)", retryAfter: wait, at: now)
    case .failure(let failure):
      counts.failures.note(.noAnswer)
      failed(delivery, "\(failure)", at: now)
    }
    if isCut, !isSending { finishCut() }
  }

  private func delivered(_ delivery: Delivery) {
    counts.results.note(.delivered)
    if outage.delivered(wasTold: delivery.isTold) {
      diagnostics.notice("--forward: \(place) takes events again (\(delivery.subject))")
    }
    finish(delivery, isLost: false)
  }

  private func failed(
    _ delivery: Delivery, _ reason: String, retryAfter: Duration? = nil, at now: Instant
  ) {
    delivery.reason = reason
    let next = delivery.tries.next(
      at: now, retryAfter: retryAfter, random: random.next())
    // After the cut it is one of those that are left.
    delivery.nextTry = next ?? now
    guard !isCut else { return }
    guard let next else { return giveUp(delivery, at: now) }
    let text =
      "--forward: \(place): \(reason) (\(delivery.subject)); "
      + "trying again in \(now.duration(to: next).inWords)"
    if delivery.tries.count == 1, outage.began() {
      delivery.isTold = true
      diagnostics.warning(text)
    } else {
      diagnostics.info(text)
    }
  }

  private func giveUp(_ delivery: Delivery, at now: Instant) {
    if let problem = dead?.add(delivery.entry.event.event.line) {
      // Nothing is lost: it is tried on, as if there were no limit.
      delivery.deadline = nil
      delivery.nextTry = now.advanced(
        by: delivery.tries.wait(retryAfter: nil, random: random.next()))
      if !hasSaidUnwritable {
        diagnostics.error("--forward-dead: \(problem); events are not given up until it can")
      }
      hasSaidUnwritable = true
      return
    }
    hasSaidUnwritable = false
    counts.results.note(.givenUp)
    givenUp += 1
    outage.gaveUp(wasTold: delivery.isTold)
    let tries = delivery.tries.count == 1 ? "1 try" : "\(delivery.tries.count) tries"
    let end = dead.map { "; it stands in '\($0.path)'" } ?? ""
    diagnostics.error(
      "--forward: \(place): given up after \(tries): \(delivery.reason) (\(delivery.subject))\(end)"
    )
    finish(delivery, isLost: dead == nil)
  }

  private func finish(_ delivery: Delivery, isLost: Bool) {
    deliveries[delivery.entry.number] = nil
    idle.append(delivery.connection)
    queue.end(delivery.entry)
    count(isLost: isLost)
  }

  private func count(isLost: Bool) {
    hasLost = hasLost || isLost
    if !hasLost { handled += 1 }
  }

  // MARK: The end

  private var isSending: Bool { deliveries.values.contains { $0.nextTry == nil } }

  func cut(passing signal: Int32?) {
    guard !isCut else { return }
    isCut = true
    guard signal != nil, isSending else { return finishCut() }
    graceEnds = loop.now.advanced(by: Self.grace)
  }

  /// Sets aside what is left, in the order in which it came.
  private func finishCut() {
    graceEnds = nil
    let running = deliveries.values.sorted { $0.entry.number < $1.entry.number }
    deliveries = [:]
    for delivery in running {
      delivery.connection.close()
      queue.end(delivery.entry)
    }
    let waiting = queue.takeWaiting()
    for entry in (running.map(\.entry) + waiting).sorted(by: { $0.number < $1.number }) {
      setAside(entry.event.event)
    }
  }

  private func setAside(_ event: HandedEvent) {
    let problem = dead?.add(event.line)
    if let problem, !hasSaidUnwritable {
      hasSaidUnwritable = true
      diagnostics.error("--forward-dead: \(problem)")
    }
    let isLost = dead == nil || problem != nil
    counts.results.note(.left)
    if isLost { lost += 1 } else { left += 1 }
    count(isLost: isLost)
  }

  func tellMissed() -> Bool {
    for (number, place) in [(left, dead?.path), (lost, nil)] where number > 0 {
      let events = number == 1 ? "1 event was" : "\(number) events were"
      let verb = number == 1 ? "it stands" : "they stand"
      let end = place.map { "; \(verb) in '\($0)'" } ?? ""
      diagnostics.error("--forward: \(events) not delivered\(end)")
    }
    defer { (left, lost, givenUp) = (0, 0, 0) }
    return left + lost + givenUp > 0
  }

  // MARK: The loop

  var interest: LoopInterest {
    let deadlines = deliveries.values.reduce(graceEnds) {
      Instant.earliest($0, Instant.earliest($1.nextTry, $1.deadline))
    }
    return LoopInterest(deadline: isCut ? graceEnds : deadlines)
  }

  func ready(_ events: PollEvents, at now: Instant) {}

  func expired(at now: Instant) {
    if isCut {
      if let ends = graceEnds, ends <= now { finishCut() }
      return
    }
    for delivery in deliveries.values {
      if let deadline = delivery.deadline, deadline <= now {
        if delivery.nextTry == nil {
          delivery.reason = "no answer in time"
          delivery.connection.close()
        }
        giveUp(delivery, at: now)
      } else if let next = delivery.nextTry, next <= now {
        send(delivery)
      }
    }
  }
}

extension EventForwarder: EventHandling {
  var metrics: [MetricFamily] { counts.families }

  var isFull: Bool { queue.cost >= surroundings.limit }
  var isIdle: Bool { queue.isEmpty }
  var waitingBytes: Int { queue.cost }

  func begin(_ stream: HTTPURL, after id: String) {
    requests.begin(stream, after: id)
  }

  func sayFull() {
    guard isFull, !hasSaidFull else { return }
    hasSaidFull = true
    diagnostics.warning(
      "the receiver of --forward is slow: \(Quantities.words(size: surroundings.limit)) of events "
        + "wait for it; the socket is left unread until there is room (--buffer sets the limit)")
  }

  func take(_ event: HandedEvent) {
    guard !isCut else { return setAside(event) }
    queue.add(
      event, printedEnd: settings.prints ? surroundings.output.end : 0,
      hasOwnID: requests.hasOwnID(event))
  }
}

extension EventForwarder: Progress {
  var written: Int { handled }
  var end: Int { queue.count }
  var hasFailed: Bool { hasLost }

  func synchronize() {
    surroundings.output.synchronize()
    dead?.synchronize()
  }
}
