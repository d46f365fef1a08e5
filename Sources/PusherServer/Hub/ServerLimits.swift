internal import PusherCore

package struct ServerLimits: Sendable, Equatable {
  package struct Sizes: Sendable, Equatable {
    /// Maximum size of a client's message; a longer one closes the connection with 1009.
    package var clientMessage = 102_400
    /// Maximum size of an event's data; refusal: 413, or an error event for clients.
    package var eventData = 10_240
    /// Maximum size of an API call's body (413): ten events of maximum length, all escaped.
    package var apiBody = 1 << 20
    /// Maximum length of a presence member's ID, in characters.
    package var userID = 128
    package var channelData = 1024
    package var userData = 16_384
    /// Maximum output waiting for one client; more closes the connection with 4100.
    package var outputQueue = 1 << 20
    /// Maximum output waiting for all clients; beyond it the slowest readers are dropped.
    package var allOutput = 256 << 20
    /// Maximum size of the events that an app keeps for clients of protocol V2.
    package var recovery = 64 << 20
  }

  package struct Times: Sendable, Equatable {
    /// Maximum time for a request's head, and for its body.
    package var request = Duration.seconds(10)
    package var keepAlive = Duration.seconds(75)
    /// Time after which a silent client must send something; sent to it as `activity_timeout`.
    package var activity = Duration.seconds(120)
    /// Time after which the server pings a silent client; default: `activity`.
    package var ping: Duration?
    package var pong = Duration.seconds(30)
    /// Closes a connection with 4201 after this time without a message to it; replaces pings.
    package var ownSilence: Duration?
    package var close = Duration.seconds(5)
    /// Lifetime of a cache channel's event; `nil` for no limit.
    package var cachedEvent: Duration? = .seconds(1800)
    /// Time that an event is kept for clients of protocol V2; zero turns recovery off.
    package var recovery = Duration.seconds(120)
    /// Time in which a client that resumes must subscribe to its channels.
    package var resume = Duration.seconds(10)
  }

  /// Maximum number of sockets of all apps; further sockets are refused with 4004 or 4100.
  package var connections = 10_000
  /// Maximum number of connections with HTTP requests; one more closes the longest idle one.
  package var callers = 256
  package var channelsOfEvent = 100
  package var batch = 10
  package var channels = 100_000
  /// Maximum number of channels of an app that the sockets of one address occupy.
  package var channelsPerAddress = 25_000
  package var subscriptions = 10_000
  /// Maximum number of subscriptions of a socket in a second (4301), after a burst of
  /// ``subscriptions``, at least 1000.
  package var joinsPerSecond = 100
  package var presenceMembers = 100
  package var watchlist = 100
  package var cachedEvents = 1000
  /// Maximum number of events of a channel that are kept for clients of protocol V2; 0 turns
  /// recovery off.
  package var recoveryEvents = 100
  /// Maximum number of client events per socket and second (4301); `nil` for no limit.
  package var clientEventsPerSecond: Int? = 10
  package var messageRate: MessageRateLimit?
  package var sizes = Sizes()
  package var times = Times()

  package init() {}

  /// Maximum size of the output queue while one event is delivered, in bytes.
  ///
  /// One API call may send a hundred events to a client, so the queue is checked only after the
  /// socket took its output. The queue never exceeds this size.
  var outputCeiling: Int { sizes.outputQueue + (4 << 20) }

  package var allowsRecovery: Bool { recoveryEvents > 0 && times.recovery > .zero }

  var webSocket: WebSocketLimits {
    WebSocketLimits(frame: sizes.clientMessage, message: sizes.clientMessage)
  }
}

/// Limits of one app; `nil` means the server's limit, or none.
package struct AppLimits: Sendable, Equatable {
  /// Maximum number of sockets; refused like sockets beyond ``ServerLimits/connections``.
  package var connections: Int?
  package var subscriptions: Int?
  package var channelsPerAddress: Int?
  package var presenceMembers: Int?
  package var eventData: Int?
  package var clientEventsPerSecond: Int?
  package var cachedEvents: Int?
  /// Maximum number of API events per second, counted once per channel (403).
  package var eventsPerSecond: Int?
  /// Maximum size of API event data per second, in bytes, counted once per channel (403).
  package var bytesPerSecond: Int?
  package var messageRate: MessageRateLimit?

  package init() {}

  package func refusal(ofEvents isOfEvents: Bool) -> String {
    isOfEvents
      ? "over quota: the app may send \(eventsPerSecond ?? 0) events a second"
      : "over quota: the app may send \(bytesPerSecond ?? 0) bytes of data a second"
  }

  /// The limits of the app override those of the server.
  func applied(to server: ServerLimits) -> ServerLimits {
    var limits = server
    limits.subscriptions = subscriptions ?? limits.subscriptions
    limits.channelsPerAddress = channelsPerAddress ?? limits.channelsPerAddress
    limits.presenceMembers = presenceMembers ?? limits.presenceMembers
    limits.sizes.eventData = eventData ?? limits.sizes.eventData
    limits.clientEventsPerSecond = clientEventsPerSecond ?? limits.clientEventsPerSecond
    limits.cachedEvents = cachedEvents ?? limits.cachedEvents
    limits.messageRate = messageRate ?? limits.messageRate
    return limits
  }
}

/// A limit on all messages of one connection, as Reverb's `rate_limiting` of an app.
///
/// Source: `ensureWithinRateLimit` of Laravel Reverb 1.9, and its `config/reverb.php`, which has
/// the defaults.
package struct MessageRateLimit: Sendable, Equatable {
  /// Maximum number of messages in a window; `max_attempts`.
  package var messages = 60
  /// Time from the first message of a window to its end; `decay_seconds`.
  package var window = Duration.seconds(60)
  /// Ends the connection at the first message above the limit; `terminate_on_limit`.
  package var endsConnection = false

  package init() {}
}

/// Limits an amount in fixed windows, as Laravel's `RateLimiter` does; `nil` for no limit.
///
/// A window starts with its first amount. A refused amount neither counts nor prolongs it.
struct FixedWindow {
  let limit: Int?
  let length: Duration
  private var start: Instant?
  private var used = 0

  init(_ limit: Int?, in length: Duration) { (self.limit, self.length) = (limit, length) }

  mutating func hasRoom(for amount: Int, at now: Instant) -> Bool {
    guard let limit else { return true }
    if let start, start.duration(to: now) >= length { used = 0 }
    return amount <= limit - used
  }

  mutating func take(_ amount: Int, at now: Instant) {
    guard limit != nil else { return }
    if used == 0 { start = now }
    used += amount
  }

  mutating func admit(at now: Instant) -> Bool {
    guard hasRoom(for: 1, at: now) else { return false }
    take(1, at: now)
    return true
  }
}
