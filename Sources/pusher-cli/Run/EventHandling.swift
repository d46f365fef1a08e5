internal import PusherCore

/// What handles the events of a run in place of the output, or besides it: commands, or a receiver over HTTP.
///
/// What waits has a limit, which the run heeds by leaving the socket unread.
protocol EventHandling: EventReceiver, Progress {
  /// Whether no further event should come for now.
  var isFull: Bool { get }
  /// Whether every event that came has been handled.
  var isIdle: Bool { get }
  /// Bytes of events that wait.
  var waitingBytes: Int { get }
  /// What it counts.
  var metrics: [MetricFamily] { get }
  /// Called when the run is to end because an event was not handled.
  var onFailure: (() -> Void)? { get set }
  /// How a run ends that has not failed otherwise, once an event was not handled.
  var failure: (status: ExitStatus, reason: String) { get }

  /// The events are those of a stream, which begins after `id`; an empty one is none.
  func begin(_ stream: HTTPURL, after id: String)
  /// Says once that the socket is left unread.
  func sayFull()
  /// Starts what may start now.
  func startWaiting()
  /// Starts nothing more, and ends what runs.
  ///
  /// - Parameter signal: One that came to us.
  func cut(passing signal: Int32?)
  /// Tells what was not handled, once the run ends; answers whether there was such.
  func tellMissed() -> Bool
}

extension EventHandling {
  func begin(_ stream: HTTPURL, after id: String) {}
}

/// An event, and where its printed line ends in the output.
struct WaitingEvent {
  let event: HandedEvent
  let printedEnd: Int
  /// Whether it has an id that no event before it has.
  let hasOwnID: Bool
}

extension HandedEvent {
  /// The event as messages name it.
  var subject: String { "event \(name)" + (channel.map { " of \($0)" } ?? "") }

  /// Approximate size in memory, in bytes.
  var cost: Int {
    [name, channel ?? "", userID ?? "", id ?? ""].reduce(line.count + 512) { $0 + $1.utf8.count }
  }
}

/// Says once that the socket is left unread.
struct FullReport {
  private var hasSaid = false

  mutating func say(_ handler: String, in surroundings: HandlerSurroundings) {
    guard !hasSaid else { return }
    hasSaid = true
    surroundings.diagnostics.warning(
      "\(handler) is slow: \(Quantities.words(size: surroundings.limit)) of events wait for it; "
        + "the socket is left unread until there is room (--buffer sets the limit)")
  }
}

/// What a handler needs of its run.
struct HandlerSurroundings {
  let output: OutputQueue
  /// Maximum size of waiting events, in bytes.
  let limit: Int
  let loop: EventLoop
  let diagnostics: Diagnostics
}

extension HandlerSettings {
  /// The handler that they ask for.
  ///
  /// - Throws: ``UsageError`` for a file that cannot be written, ``TLSError`` for authorities that cannot be read.
  func handler(
    in surroundings: HandlerSurroundings, feed: FeedSettings, network: NetworkSettings
  ) throws -> any EventHandling {
    switch self {
    case .command(let command): return EventHook(command, in: surroundings)
    case .receiver(let receiver):
      return try EventForwarder(
        receiver, in: surroundings, network: network,
        backoff: Backoff(floor: feed.leastWait, ceiling: feed.retryMaxDelay))
    }
  }
}
