internal import PusherCore

/// The part of the planned load that a run did not make.
///
/// Such a run is no measurement, whatever its figures are: fewer subscribers or events than planned
/// are easier for a server.
struct LoadShortfall: Equatable {
  /// One sentence.
  let reason: String
  /// Decides about the exit status.
  let cause: Cause

  /// Returns `nil` for a run that made its load: every subscriber was subscribed, and the server
  /// took every event.
  init?(_ settings: BenchSettings, _ figures: RunFigures, isInterrupted: Bool) {
    guard !isInterrupted else {
      (reason, cause) = ("a signal ended the run", .time)
      return
    }
    var parts: [Part] = []
    if let part = Self.subscribers(settings, figures) { parts.append(part) }
    if settings.mode.sendsEvents {
      // Without subscribers, nothing is sent.
      if let part = Self.calls(settings, figures), parts.isEmpty || figures.events != nil {
        parts.append(part)
      }
    } else if settings.mode == .storm, parts.isEmpty {
      parts += Self.returns(figures)
    }
    guard let first = parts.first else { return nil }
    reason = parts.map(\.words).joined(separator: "; ")
    cause = first.cause
  }

  private struct Part {
    let words: String
    let cause: Cause

    init(words: String, cause: Cause) { (self.words, self.cause) = (words, cause) }

    /// - Parameter errors: The most frequent one explains the part.
    init(_ words: String, _ errors: ErrorCounts) {
      guard let (entry, cause) = errors.main else {
        self.init(words: words, cause: .unreachable)
        return
      }
      self.init(words: "\(words) (\(entry.inWords))", cause: cause)
    }
  }

  /// Subscribers that were missing when the load began.
  private static func subscribers(_ settings: BenchSettings, _ figures: RunFigures) -> Part? {
    let connections = figures.connections
    var subscribed = connections.firstJoins
    if let events = figures.events {
      let senders = settings.mode == .client ? settings.load.channels : 0
      subscribed = min(subscribed, events.receivers + senders)
    }
    guard subscribed < connections.subscribers else { return nil }
    return Part(
      "\(count(subscribed, of: connections.subscribers)) subscribers were subscribed",
      connections.refusals.main == nil ? figures.errors : connections.refusals)
  }

  /// Subscribers that did not come back after the cut.
  private static func returns(_ figures: RunFigures) -> [Part] {
    let connections = figures.connections
    guard connections.connected < connections.subscribers else { return [] }
    let words = count(connections.connected, of: connections.subscribers)
    return [Part("\(words) subscribers came back after the cut", figures.errors)]
  }

  /// Events that were not sent, or that the server did not take.
  private static func calls(_ settings: BenchSettings, _ figures: RunFigures) -> Part? {
    let plan = BenchPlan(settings)
    let events = figures.events ?? EventFigures()
    // The server confirms no client event, but says which ones its limit drops.
    let dropped = settings.mode == .client ? figures.errors.count(of: "\(RateLimit.code)") : 0
    let made = max(events.sent / plan.batch - dropped, 0)
    guard made < plan.callCount else { return nil }
    let what =
      switch settings.mode {
      case .client: "client events"
      case .presence: "joins and leaves"
      case .fanout, .connect, .storm: "calls"
      }
    let words = "the server accepted \(count(made, of: plan.callCount)) \(what)"
    return dropped > events.failed
      ? Part(words: words + droppedWords(figures.errors), cause: .overloaded)
      : Part(words, events.errors)
  }

  private static func droppedWords(_ errors: ErrorCounts) -> String {
    let entry = errors.entries.first { $0.code.isSame(as: "\(RateLimit.code)") }
    return entry.map { " (\($0.inWords))" } ?? ""
  }

  private static func count(_ count: Int, of all: Int) -> String {
    "\(count == 0 ? "none" : BenchNumber.grouped(count)) of \(BenchNumber.grouped(all))"
  }
}

extension ErrorCounts.CodeCount {
  /// The code of the protocol or of HTTP and the reason, which may name the code itself.
  fileprivate var inWords: String {
    let number = code.split(separator: " ").last.map(String.init) ?? code
    let reason = Redaction.redact(example)
    let numbers = reason.utf8.split { !(0x30...0x39).contains($0) }
    guard Int(number) != nil, !numbers.contains(where: { $0.elementsEqual(number.utf8) }) else {
      return reason
    }
    return reason.isEmpty ? number : "\(number): \(reason)"
  }
}
