internal import PusherCore

/// Limits of a server, in size and time.
package struct ServerLimits: Sendable, Equatable {
  /// Maximum number of sockets of all apps; further sockets are refused with 4004 or 4100.
  package var connections = 10_000
  /// Maximum number of connections with HTTP requests; one more closes the longest idle one.
  package var callers = 256
  /// Maximum size of a client's message, in bytes; a longer one closes the connection with 1009.
  package var clientMessage = 102_400
  /// Maximum size of an event's data, in bytes; refusal: 413, or an error event for clients.
  package var eventData = 10_240
  /// Maximum size of an API call's body, in bytes (413): ten events of maximum length, all escaped.
  package var apiBody = 1 << 20
  package var channelsOfEvent = 100
  package var batch = 10
  /// Maximum number of occupied channels of an app on this server.
  package var channels = 100_000
  package var subscriptions = 20_000
  package var presenceMembers = 100
  /// Maximum length of a presence member's ID, in characters.
  package var userID = 128
  /// Maximum size of a presence member's `channel_data`, in bytes.
  package var channelData = 1024
  /// Maximum size of a signed-in user's `user_data`, in bytes.
  package var userData = 16_384
  package var watchlist = 100
  /// Maximum number of cache channels with a stored event.
  package var cachedEvents = 1000
  /// Lifetime of a stored event; `nil` for no limit.
  package var cacheLifetime: Duration? = .seconds(1800)
  /// Maximum number of client events per socket and second (4301); `nil` for no limit.
  package var clientEventsPerSecond: Int? = 10
  /// Maximum output waiting for one client, in bytes; more closes the connection with 4100.
  package var outputQueue = 1 << 20
  /// Maximum output waiting for all clients, in bytes; beyond it the slowest readers are dropped.
  package var allOutput = 256 << 20
  /// Maximum time for a request's head, and for its body.
  package var requestTimeout = Duration.seconds(10)
  /// Maximum idle time between two requests.
  package var keepAliveTimeout = Duration.seconds(75)
  /// Time after which a silent client must send something; sent to clients as `activity_timeout`.
  package var activityTimeout = Duration.seconds(120)
  /// Time after which the server pings a silent client; default: `activityTimeout`.
  package var pingInterval: Duration?
  /// Maximum time for the answer to a ping.
  package var pongTimeout = Duration.seconds(30)
  /// Closes a connection with 4201 after this time without a message from the server; replaces
  /// pings.
  package var ownSilence: Duration?
  /// Maximum time for the answer to a close frame.
  package var closeTimeout = Duration.seconds(5)

  package init() {}

  /// Maximum size of the output queue while one event is delivered, in bytes.
  ///
  /// One API call may send a hundred events to a client, so the queue is checked only after the
  /// socket took its output. The queue never exceeds this size.
  var outputCeiling: Int { outputQueue + (4 << 20) }

  var webSocket: WebSocketLimits {
    WebSocketLimits(frame: clientMessage, message: clientMessage)
  }
}
