internal import PusherCore

/// Handles events instead of the output, or besides it: a command or a receiver over HTTP.
///
/// Waiting events are limited: above the limit, the run stops reading the socket.
protocol EventHandling: EventReceiver, Progress {
  /// Name of the handler in messages.
  var name: String { get }
  var isIdle: Bool { get }
  var waitingBytes: Int { get }
  var metrics: [MetricFamily] { get }
  /// Called when an unhandled event must end the run.
  var onFailure: (() -> Void)? { get set }
  /// The end of the run after an event was not handled.
  var failure: (status: ExitStatus, reason: String) { get }

  /// Starts a stream after the event `id`; empty for none.
  func begin(_ stream: HTTPURL, after id: String)
  func startWaiting()
  /// - Parameter signal: The received signal, to pass on.
  func cut(passing signal: Int32?)
  /// Reports unhandled events at the end of the run; returns whether there were any.
  func tellMissed() -> Bool
}

extension EventHandling { func begin(_ stream: HTTPURL, after id: String) {} }

/// An event, and the end of its printed line in the output.
struct WaitingEvent {
  let event: HandedEvent
  let printedEnd: Int
  /// True if the id differs from the id before it.
  let hasOwnID: Bool
}

extension HandedEvent {
  var subject: String { "event \(name)" + (channel.map { " on \($0)" } ?? "") }

  var cost: Int {
    [name, channel ?? "", userID ?? "", id ?? ""].reduce(line.count + 512) { $0 + $1.utf8.count }
  }
}

struct HandlerSurroundings {
  let output: OutputQueue
  /// Maximum size of waiting events, in bytes.
  let limit: Int
  let loop: EventLoop
  let diagnostics: Diagnostics
}

extension HandlerSettings {
  /// - Throws: ``UsageError`` for an unwritable file, ``TLSError`` for unreadable authorities.
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
