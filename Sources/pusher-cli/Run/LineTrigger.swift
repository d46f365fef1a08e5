internal import PusherCore
internal import PusherLines

/// Sends the events of JSON lines in batches.
///
/// The lines have the format of `subscribe`. A batch does not wait for more lines. Errors name the
/// line's number, and the other lines are sent. The status is the status of the last failure.
final class LineTrigger {
  private struct Line {
    let number: Int
    let event: PusherAPI.Event
    /// Time to send it; `nil` for now.
    var time: Instant?
  }

  private let settings: TriggerSettings
  private let name: String?
  private let caller: APICaller
  private let diagnostics: Diagnostics
  private let lines = InputLines()
  private var status = ExitStatus.success
  private var sent = 0
  private var calls = 0
  private var skipped = 0
  private var hasClientEvent = false
  private var pace: ReplayPace?
  /// Lines read before their time.
  private var early: [Line] = []
  private var nextCall: Instant?

  /// Maximum attempts while the server is unavailable.
  private static let tries = 5

  init(_ settings: TriggerSettings, event: String?, caller: APICaller, diagnostics: Diagnostics) {
    self.settings = settings
    name = event
    (self.caller, self.diagnostics) = (caller, diagnostics)
    pace = settings.speed.map { ReplayPace(speed: $0) }
    // Read only on demand.
    lines.isPaused = true
    lines.onInput = { [unowned caller] in caller.loop.stop() }
  }

  /// - Throws: ``ExitStatus`` if continuing is useless.
  func run() throws -> ExitStatus {
    caller.loop.add(lines)
    caller.progress = { [unowned self] in
      "read \(Quantities.words(lines.number, of: "line")), \(sentence)"
    }
    while let batch = nextBatch() {
      if !batch.isEmpty { try send(batch) }
    }
    if let failure = lines.failure {
      diagnostics.error(failure)
      status = .usage
    }
    if skipped > 0 {
      diagnostics.warning(
        "skipped \(Quantities.words(skipped, of: "line")) about the connection, not events")
    }
    tellSent()
    return status
  }

  /// Reports what was sent; a run that sent nothing must not look like any other.
  private func tellSent() {
    if sent == 0, status == .success, !settings.isDryRun {
      diagnostics.warning("nothing was sent: standard input has no event")
    } else {
      diagnostics.info(sentence)
    }
  }

  private var sentence: String {
    "sent \(Quantities.words(sent, of: "event")) in \(Quantities.words(calls, of: "call"))"
  }

  /// Returns the lines that are due, at most one batch; nil at the end of the input.
  private func nextBatch() -> [Line]? {
    var batch = takeEarly()
    var hasRead = !batch.isEmpty
    while batch.count < batchSize {
      if let bytes = lines.next() {
        hasRead = true
        let made = parse(bytes, number: lines.number)
        guard let time = made.first?.time, time > caller.loop.now else {
          batch += made
          continue
        }
        early = made
        return batch
      } else if hasRead {
        return batch
      } else if lines.hasEnded {
        return nil
      } else {
        lines.isPaused = false
        caller.runLoop()
        lines.isPaused = true
      }
    }
    return batch
  }

  /// Waits until the early lines are due, and returns them.
  private func takeEarly() -> [Line] {
    defer { early = [] }
    if let time = early.first?.time { caller.pause(caller.loop.now.duration(to: time)) }
    return early
  }

  /// At most a quarter of a second's events, so that the rate has no bursts.
  private var batchSize: Int {
    guard let rate = settings.rate else { return settings.batchSize }
    return min(settings.batchSize, max(1, Int(rate / 4)))
  }

  /// Returns one event per channel, or none for a line without an event.
  private func parse(_ bytes: [UInt8], number: Int) -> [Line] {
    guard !bytes.isBlankLine else { return [] }
    let buffer = ByteBuffer(capacity: bytes.count)
    buffer.append(bytes)
    let made = withExtendedLifetime(buffer) { events(of: try? Envelope(buffer.view), number) }
    guard !made.isEmpty, let time = pace?.time(of: bytes, at: caller.loop.now) else { return made }
    return made.map { Line(number: $0.number, event: $0.event, time: time) }
  }

  private func events(of envelope: Envelope?, _ number: Int) -> [Line] {
    guard let envelope, UTF8Validator.isValid(envelope.message) else {
      return reject(number, "not a JSON object with an event")
    }
    let printed = envelope.eventName
    guard !caller.reservedPrefixes.contains(where: printed.begins(with:)) else {
      skipped += 1
      return []
    }
    let event = ForeignEventName.unmarked(printed)
    if name == nil, !hasClientEvent, event.begins(with: ClientEvent.prefix) {
      hasClientEvent = true
      diagnostics.warning("line \(number): " + TriggerSettings.clientEventWarning(event))
    }
    let channels =
      settings.channels.isEmpty ? [envelope.channelName].compactMap(\.self) : settings.channels
    guard !channels.isEmpty else { return reject(number, "no channel") }
    let data = envelope.dataText ?? "null"
    var made: [Line] = []
    for channel in channels {
      let event = PusherAPI.Event(
        name: name ?? event, channel: channel, data: data, socketID: settings.socketID)
      do {
        try event.check()
        made.append(Line(number: number, event: try event.encrypted(with: settings.encryptionKey)))
      } catch { return reject(number, "\(error)") }
    }
    return made
  }

  private func reject(_ number: Int, _ reason: String) -> [Line] {
    diagnostics.error("line \(number): \(reason)")
    status = .rejected
    return []
  }

  private func send(_ batch: [Line]) throws {
    let call = try APIRequest.sending(batch.map(\.event), appID: caller.appID)
    if settings.isDryRun {
      let printed = diagnostics.print(caller.shown(call))
      if printed != .success { throw printed }
      return
    }
    keepRate(batch.count)
    let answer = try answer(to: call)
    if case .rejected = answer, batch.count > 1 {
      // Servers report the faulty event of a batch in different ways.
      for line in batch { try send([line]) }
      return
    }
    if case .rejected = answer, let line = batch.first {
      let size = line.event.data.utf8.count
      do throws(ExitStatus) {
        _ = try caller.accepted(answer, about: "line \(line.number)") {
          $0 == 413 ? "the data has \(size) bytes" : nil
        }
      } catch { status = error }
      return
    }
    _ = try caller.accepted(answer)
    sent += batch.count
  }

  /// Retrying is safe: a server that answers 429 or 503 has done nothing.
  private func answer(to call: APIRequest) throws(ExitStatus) -> APIAnswer {
    var delay = Duration.seconds(1)
    for _ in 1..<Self.tries {
      calls += 1
      let answer = try caller.send(call)
      guard case .unavailable(let status, _) = answer, [429, 503].contains(status) else {
        return answer
      }
      diagnostics.warning("the server answered HTTP \(status); retrying in \(delay.inWords)")
      caller.pause(delay)
      delay *= 2
    }
    calls += 1
    return try caller.send(call)
  }

  private func keepRate(_ count: Int) {
    guard let rate = settings.rate else { return }
    let now = caller.loop.now
    let start = max(nextCall ?? now, now)
    caller.pause(now.duration(to: start))
    nextCall = start.advanced(by: .seconds(min(Double(count) / rate, ReplayPace.longest)))
  }
}

/// Computes the time to send each line of a recording, for `--speed`; a pure machine.
struct ReplayPace {
  let speed: Double
  /// The time to send the first line, and its recorded time.
  private var start: (due: Instant, time: WallTime)?
  private var last: Instant?
  /// Maximum wait in seconds, a century: any rate and any speed is valid.
  fileprivate static let longest = 100.0 * 365 * 86_400

  init(speed: Double) { self.speed = speed }

  /// Returns the time to send a line, never earlier than the line before it; `nil` for now.
  mutating func time(of line: [UInt8], at now: Instant) -> Instant? {
    let text = String(decoding: line, as: UTF8.self)
    guard let value = try? JSONParser.parse(text), let stamp = value["received_at"]?.text,
      let time = WallTime(rfc3339: stamp)
    else { return last }
    guard let start else {
      start = (now, time)
      last = now
      return now
    }
    let milliseconds = time.millisecondsSince1970 - start.time.millisecondsSince1970
    let seconds = min(max(Double(milliseconds) / 1000 / speed, 0), Self.longest)
    let due = max(start.due.advanced(by: .seconds(seconds)), last ?? start.due)
    last = due
    return due
  }
}
