internal import PusherCore

/// Sends each event to the receiver of `--forward` until it is accepted.
///
/// Each job keeps its connection. Sends before the loop waits, after the event's line is written.
final class EventForwarder: LoopSource {
  /// An event, the end of its printed line in the output, and whether its ID differs from the ID
  /// before it.
  private typealias Item = (event: HandedEvent, printedEnd: Int, hasOwnID: Bool)
  private typealias Delivery = Deliveries<Item>.Delivery

  private let settings: ForwardSettings
  /// Maximum size of waiting events, in bytes.
  private let limit: Int
  private let output: OutputQueue
  private let loop: EventLoop
  private let diagnostics: Diagnostics
  private let network: NetworkSettings
  private let tls: TLSContext?
  private let dead: DeadLetterFile?
  private var requests: ForwardRequests
  private var deliveries: Deliveries<Item>
  /// The events on their way, by number: the request, which all attempts share, and the connection.
  private var flights: [Int: (request: HTTPExchange.Request, connection: HTTPConnection)] = [:]
  private var idle: [HTTPConnection] = []
  private var random = SecureRandom.generator
  private var outage = OutageReport()
  private var hasSaidUnwritable = false
  private var isCut = false
  /// Running attempts may finish until this time.
  private var cutEnds: Instant?
  private static let grace = Duration.milliseconds(200)
  /// Maximum body of an answer that is read to keep the connection, in bytes.
  private static let answerLimit = 65_536
  /// Numbers of events since the last report: given up, left in the file at the end, and lost then.
  private var unreported = (givenUp: 0, left: 0, lost: 0)
  /// Numbers of events by final result.
  private var results = (delivered: 0, givenUp: 0, left: 0)
  /// Numbers of failed attempts: the answer was not 2xx, or there was none.
  private var failures = (refused: 0, noAnswer: 0)
  private var retries = 0
  /// Length of the prefix of events that were delivered or written to the file.
  private(set) var written = 0
  /// True after an event was lost.
  private(set) var hasFailed = false
  var onFailure: (() -> Void)?
  let name = "the receiver of --forward"
  let failure = (status: ExitStatus.network, reason: "forward")

  /// - Throws: ``UsageError`` for an unwritable file, ``TLSError`` for unreadable authorities.
  init(
    _ settings: ForwardSettings, _ feed: FeedSettings, network: NetworkSettings,
    _ output: OutputQueue, _ loop: EventLoop, _ diagnostics: Diagnostics
  ) throws {
    (self.settings, limit, self.network) = (settings, feed.printing.bufferSize, network)
    (self.output, self.loop, self.diagnostics) = (output, loop, diagnostics)
    tls = try network.tls(forOthersAt: [settings.url])
    dead = try settings.deadFile.map { try DeadLetterFile($0, warn: diagnostics.warning) }
    requests = ForwardRequests(settings, random: SecureRandom.bytes(16))
    deliveries = Deliveries(
      jobs: settings.jobs, backoff: Backoff(floor: feed.leastWait, ceiling: feed.retryMaxDelay),
      patience: settings.patience, cutsTries: true)
    loop.add(self)
  }

  func startWaiting() {
    guard !isCut else { return }
    let written = output.written
    while let delivery = deliveries.next(at: loop.now, mayStart: { $0.printedEnd <= written }) {
      send(delivery)
    }
  }

  private func makeConnection() -> HTTPConnection {
    HTTPConnection(
      loop: loop, to: Destination(url: settings.url, routing: network.routing), tls: tls,
      timeout: network.connectTimeout, bodyLimit: Self.answerLimit)
  }

  /// The receiver in messages; path and query may hold a token.
  private var place: String { settings.url.authority }

  private func send(_ delivery: Delivery) {
    if delivery.tries > 1 { retries += 1 }
    let (item, number) = (delivery.item, delivery.number)
    let flight =
      flights[number]
      ?? (
        requests.request(item.event, number: number, hasOwnID: item.hasOwnID),
        idle.popLast() ?? makeConnection()
      )
    flights[delivery.number] = flight
    do throws(HTTPError) {
      try flight.connection.send(flight.request) { [unowned self] result, now in
        answered(delivery, result, at: now)
      }
    } catch { failed(delivery, "cannot send the request: \(error)", at: loop.now) }
  }

  private func answered(_ delivery: Delivery, _ result: HTTPExchange.Outcome, at now: Instant) {
    switch result {
    case .success(let answer) where answer.head.isSuccess: delivered(delivery)
    case .success(let answer):
      let status = answer.head.status
      let redirect = 300..<400 ~= status ? ", a redirect that is not followed" : ""
      let wait = answer.head.retryAfter(at: SystemClock.wall())
      failures.refused += 1
      failed(delivery, "HTTP \(status)\(redirect)", retryAfter: wait, at: now)
    case .failure(let failure):
      failures.noAnswer += 1
      failed(delivery, "\(failure)", at: now)
    }
    if cutEnds != nil, !deliveries.isAnyUnderWay { finishCut() }
  }

  private func delivered(_ delivery: Delivery) {
    results.delivered += 1
    if outage.delivered(delivery.number) {
      diagnostics.notice(
        "--forward: \(place) accepts events again (\(delivery.item.event.subject))")
    }
    finish(delivery, isLost: false)
  }

  private func failed(
    _ delivery: Delivery, _ reason: String, retryAfter: Duration? = nil, at now: Instant
  ) {
    let wait = deliveries.failed(
      delivery.number, reason, retryAfter: retryAfter, at: now, random: random.next())
    // After the cut, the event counts as left.
    guard !isCut else { return }
    guard let wait else { return giveUp(delivery, because: reason, at: now) }
    let text =
      "--forward: \(place): \(reason) (\(delivery.item.event.subject)); retrying in \(wait.inWords)"
    let isNew = delivery.tries == 1 && outage.began(delivery.number)
    isNew ? diagnostics.warning(text) : diagnostics.info(text)
  }

  private func giveUp(_ delivery: Delivery, because reason: String, at now: Instant) {
    if let problem = dead?.add(delivery.item.event.line) {
      // Not lost: retry the event, then the file.
      deliveries.keep(delivery.number, at: now, random: random.next())
      if !hasSaidUnwritable {
        diagnostics.error("--forward-dead: \(problem); retrying events until it can be written")
      }
      hasSaidUnwritable = true
      return
    }
    hasSaidUnwritable = false
    results.givenUp += 1
    unreported.givenUp += 1
    outage.gaveUp(delivery.number)
    let tries = delivery.tries == 1 ? "1 try" : "\(delivery.tries) tries"
    let end = dead.map { "; saved in '\($0.path)'" } ?? ""
    let text = "gave up after \(tries): \(reason) (\(delivery.item.event.subject))\(end)"
    diagnostics.error("--forward: \(place): \(text)")
    finish(delivery, isLost: dead == nil)
  }

  private func finish(_ delivery: Delivery, isLost: Bool) {
    if let flight = flights.removeValue(forKey: delivery.number) { idle.append(flight.connection) }
    deliveries.end(delivery.number)
    noteEnd(isLost: isLost)
  }

  private func noteEnd(isLost: Bool) {
    hasFailed = hasFailed || isLost
    if !hasFailed { written += 1 }
  }

  func cut(passing signal: Int32?) {
    guard !isCut else { return }
    isCut = true
    guard signal != nil, deliveries.isAnyUnderWay else { return finishCut() }
    cutEnds = loop.now.advanced(by: Self.grace)
  }

  private func finishCut() {
    cutEnds = nil
    for flight in flights.values { flight.connection.close() }
    flights = [:]
    for item in deliveries.takeAll() { setAside(item.event) }
  }

  private func setAside(_ event: HandedEvent) {
    let problem = dead?.add(event.line)
    if let problem, !hasSaidUnwritable {
      hasSaidUnwritable = true
      diagnostics.error("--forward-dead: \(problem)")
    }
    let isLost = dead == nil || problem != nil
    results.left += 1
    if isLost { unreported.lost += 1 } else { unreported.left += 1 }
    noteEnd(isLost: isLost)
  }

  func tellMissed() -> Bool {
    let (givenUp, left, lost) = unreported
    unreported = (0, 0, 0)
    for (number, place) in [(left, dead?.path), (lost, nil)] where number > 0 {
      let events = number == 1 ? "1 event was" : "\(number) events were"
      let verb = number == 1 ? "it is saved" : "they are saved"
      let end = place.map { "; \(verb) in '\($0)'" } ?? ""
      diagnostics.error("--forward: \(events) not delivered\(end)")
    }
    return left + lost + givenUp > 0
  }

  var interest: LoopInterest {
    LoopInterest(deadline: isCut ? cutEnds : deliveries.deadline)
  }

  func expired(at now: Instant) {
    guard !isCut else {
      if let cutEnds, cutEnds <= now { finishCut() }
      return
    }
    while let delivery = deliveries.overdue(at: now) {
      if delivery.isUnderWay { flights[delivery.number]?.connection.close() }
      giveUp(
        delivery, because: delivery.isUnderWay ? "no answer in time" : delivery.reason, at: now)
    }
    startWaiting()
  }
}

extension EventForwarder: EventHandling {
  var metrics: [MetricFamily] {
    [
      MetricFamily(
        "pusher_cli_forwarded_events_total", "Events of --forward, by final result.", by: "result",
        ["delivered": results.delivered, "given_up": results.givenUp, "left": results.left]),
      MetricFamily(
        "pusher_cli_forward_failures_total", "Failed attempts of --forward, by reason.",
        by: "reason", ["refused": failures.refused, "no_answer": failures.noAnswer]),
      MetricFamily("pusher_cli_forward_retries_total", "Retries of --forward.", retries),
    ]
  }

  var isFull: Bool { deliveries.waitingCost >= limit }
  var isIdle: Bool { deliveries.isEmpty }
  var waitingBytes: Int { deliveries.waitingCost }
  func begin(_ stream: HTTPURL, after id: String) { requests.begin(stream, after: id) }

  func take(_ event: HandedEvent) {
    guard !isCut else { return setAside(event) }
    deliveries.add(
      (event, settings.prints ? output.end : 0, requests.hasOwnID(event)), lane: event.lane,
      cost: event.cost)
  }
}

extension EventForwarder: Progress {
  var end: Int { deliveries.count }

  func synchronize() {
    output.synchronize()
    dead?.synchronize()
  }
}

/// Decides which failures of a receiver are reported: the first, and the recovery.
///
/// Further failures say nothing new, nor does a success while the reported event still fails.
struct OutageReport {
  /// True after a reported failure, until the next delivery.
  private var isOut = false
  private var told: Set<Int> = []

  /// Handles the first failure of an event; returns whether to report it.
  mutating func began(_ event: Int) -> Bool {
    guard !isOut else { return false }
    isOut = true
    told.insert(event)
    return true
  }

  /// Handles a delivery; returns whether to report it.
  mutating func delivered(_ event: Int) -> Bool {
    defer { isOut = false }
    return told.remove(event) != nil || isOut && told.isEmpty
  }

  /// Handles an event that was given up, which is always reported.
  mutating func gaveUp(_ event: Int) { told.remove(event) }
}

/// Makes the requests of `--forward`; an event has the same request at every attempt.
struct ForwardRequests {
  private let url: HTTPURL
  private let headers: [NamedValue]
  /// Prefix of this run's keys.
  private let run: String
  /// URL of the stream, if events have ids.
  private var stream: String?
  /// The last id of the stream; events without their own id repeat it.
  private var lastID = ""

  /// Maximum size of a header value, in bytes; servers accept about 8 KiB of headers.
  private static let longestValue = 2048

  /// - Parameter random: Unique bytes for this run.
  init(_ settings: ForwardSettings, random: [UInt8]) {
    url = settings.url
    headers = settings.headers
    run = Hex.encode(random)
  }

  mutating func begin(_ stream: HTTPURL, after id: String) {
    self.stream = "\(stream.place)?\(stream.query ?? "")"
    lastID = id
  }

  /// Returns whether the event has its own id; call it once per event, in order.
  mutating func hasOwnID(_ event: HandedEvent) -> Bool {
    guard stream != nil, let id = event.id, !id.isEmpty, !id.isSame(as: lastID) else {
      return false
    }
    lastID = id
    return true
  }

  func request(_ event: HandedEvent, number: Int, hasOwnID: Bool) -> HTTPExchange.Request {
    var fields = HTTPHeaders([
      ("Content-Type", "application/json"), ("User-Agent", "pusher-cli/\(Version.current)"),
    ])
    for (name, text) in [("Pusher-Event", event.name), ("Pusher-Channel", event.channel ?? "")] {
      if let value = Self.value(text) { fields.append(name, value) }
    }
    fields.append("Idempotency-Key", key(of: event, number, hasOwnID: hasOwnID))
    for name in headers.map(\.name) { fields.remove(name) }
    for header in headers { fields.append(header.name, header.value) }
    var request = HTTPExchange.Request(
      method: "POST", url: url, headers: fields, body: Array(event.line.dropLast()))
    // The receiver detects duplicates by the key.
    request.isRepeatable = true
    request.wantsBody = false
    return request
  }

  private func key(of event: HandedEvent, _ number: Int, hasOwnID: Bool) -> String {
    guard hasOwnID else { return "\(run)-\(number)" }
    // The same in every run.
    let mark = "\(stream ?? "")\n\(event.id ?? "")\n"
    return Hex.encode(Digest.sha256(Array(mark.utf8) + Self.lasting(event.line)))
  }

  /// Returns the line without its receive time.
  private static func lasting(_ line: [UInt8]) -> ArraySlice<UInt8> {
    let mark = Array(#"{"received_at":"#.utf8)
    // Drop the brace, or the whole first member: mark, time, two quotes, comma.
    return line.dropFirst(line.starts(with: mark) ? mark.count + WallTime.textLength + 3 : 1)
  }

  /// Encodes a peer's text as a header value; `nil` if it is empty or too long.
  static func value(_ text: String) -> String? {
    guard !text.isEmpty, text.utf8.count <= longestValue else { return nil }
    let value = PercentEncoding.encodeForField(text)
    return value.utf8.count <= longestValue ? value : nil
  }
}
