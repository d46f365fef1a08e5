internal import PusherCore

/// Sends each event to the receiver of `--forward` until it is accepted.
///
/// Each job keeps its connection. Sends before the loop waits, after the event's line is written.
final class EventForwarder: LoopSource {
  private typealias Delivery = Deliveries<WaitingEvent>.Delivery

  /// An event on its way: the request, the same for every attempt, and the connection.
  private struct Transmission {
    let request: HTTPExchange.Request
    let connection: HTTPConnection
  }

  private enum Cut {
    case not
    /// Running attempts may finish until this time.
    case until(Instant)
    case done
  }

  private struct Ends {
    /// Given up, written to the file or not.
    var givenUp = 0
    /// Left at the end: in the file, or lost.
    var left = 0
    var lost = 0
    /// Length of the prefix of events that were delivered or written to the file.
    var handled = 0
    var hasLost = false

    mutating func note(isLost: Bool) {
      hasLost = hasLost || isLost
      if !hasLost { handled += 1 }
    }
  }

  private let settings: ForwardSettings
  private let surroundings: HandlerSurroundings
  private let network: NetworkSettings
  private let tls: TLSContext?
  private let dead: DeadLetterFile?
  private var loop: EventLoop { surroundings.loop }
  private var diagnostics: Diagnostics { surroundings.diagnostics }
  private var requests: ForwardRequests
  private var deliveries: Deliveries<WaitingEvent>
  /// By event number.
  private var flights: [Int: Transmission] = [:]
  private var idle: [HTTPConnection] = []
  private var random = SecureRandom.generator
  private var outage = OutageReport()
  private var hasSaidUnwritable = false
  private var cut = Cut.not
  private static let grace = Duration.milliseconds(200)
  /// Maximum body of an answer that is read to keep the connection, in bytes.
  private static let answerLimit = 65_536
  private var ends = Ends()
  private var counts = ForwardCounts()
  var onFailure: (() -> Void)?
  let name = "the receiver of --forward"
  let failure = (status: ExitStatus.network, reason: "forward")

  /// - Throws: ``UsageError`` for an unwritable file, ``TLSError`` for unreadable authorities.
  init(
    _ settings: ForwardSettings, in surroundings: HandlerSurroundings, network: NetworkSettings,
    backoff: Backoff
  ) throws {
    (self.settings, self.surroundings, self.network) = (settings, surroundings, network)
    tls = try network.tls(forOthersAt: [settings.url])
    dead = try settings.deadFile.map {
      try DeadLetterFile($0, warn: surroundings.diagnostics.warning)
    }
    requests = ForwardRequests(settings, random: SecureRandom.bytes(16))
    deliveries = Deliveries(
      jobs: settings.jobs, backoff: backoff, patience: settings.patience, cutsTries: true)
    surroundings.loop.add(self)
  }

  func startWaiting() {
    guard case .not = cut else { return }
    let written = surroundings.output.written
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

  private func flight(of delivery: Delivery) -> Transmission {
    let item = delivery.item
    return flights[delivery.number]
      ?? Transmission(
        request: requests.request(item.event, number: delivery.number, hasOwnID: item.hasOwnID),
        connection: idle.popLast() ?? makeConnection())
  }

  private func send(_ delivery: Delivery) {
    if delivery.tries > 1 { counts.retries += 1 }
    let flight = flight(of: delivery)
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
      counts.failures.note(.refused)
      failed(delivery, "HTTP \(status)\(redirect)", retryAfter: wait, at: now)
    case .failure(let failure):
      counts.failures.note(.noAnswer)
      failed(delivery, "\(failure)", at: now)
    }
    if case .until = cut, !deliveries.isAnyUnderWay { finishCut() }
  }

  private func delivered(_ delivery: Delivery) {
    counts.results.note(.delivered)
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
    guard case .not = cut else { return }
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
    counts.results.note(.givenUp)
    ends.givenUp += 1
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
    ends.note(isLost: isLost)
  }

  func cut(passing signal: Int32?) {
    guard case .not = cut else { return }
    guard signal != nil, deliveries.isAnyUnderWay else { return finishCut() }
    cut = .until(loop.now.advanced(by: Self.grace))
  }

  private func finishCut() {
    cut = .done
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
    counts.results.note(.left)
    if isLost { ends.lost += 1 } else { ends.left += 1 }
    ends.note(isLost: isLost)
  }

  func tellMissed() -> Bool {
    for (number, place) in [(ends.left, dead?.path), (ends.lost, nil)] where number > 0 {
      let events = number == 1 ? "1 event was" : "\(number) events were"
      let verb = number == 1 ? "it is saved" : "they are saved"
      let end = place.map { "; \(verb) in '\($0)'" } ?? ""
      diagnostics.error("--forward: \(events) not delivered\(end)")
    }
    defer { (ends.left, ends.lost, ends.givenUp) = (0, 0, 0) }
    return ends.left + ends.lost + ends.givenUp > 0
  }

  var interest: LoopInterest {
    switch cut {
    case .not: LoopInterest(deadline: deliveries.deadline)
    case .until(let end): LoopInterest(deadline: end)
    case .done: LoopInterest()
    }
  }

  func expired(at now: Instant) {
    guard case .not = cut else {
      if case .until(let end) = cut, end <= now { finishCut() }
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
  var metrics: [MetricFamily] { counts.families }
  var isFull: Bool { deliveries.waitingCost >= surroundings.limit }
  var isIdle: Bool { deliveries.isEmpty }
  var waitingBytes: Int { deliveries.waitingCost }
  func begin(_ stream: HTTPURL, after id: String) { requests.begin(stream, after: id) }

  func take(_ event: HandedEvent) {
    guard case .not = cut else { return setAside(event) }
    deliveries.add(
      WaitingEvent(
        event: event, printedEnd: settings.prints ? surroundings.output.end : 0,
        hasOwnID: requests.hasOwnID(event)), lane: event.lane, cost: event.cost)
  }
}

extension EventForwarder: Progress {
  var written: Int { ends.handled }
  var end: Int { deliveries.count }
  var hasFailed: Bool { ends.hasLost }

  func synchronize() {
    surroundings.output.synchronize()
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
