internal import PusherCore

/// Limits of a server, in number, size and time.
package struct ServerLimits: Sendable, Equatable {
  /// Maximum sizes, in bytes.
  package struct Sizes: Sendable, Equatable {
    /// Maximum size of a client's message; a longer one closes the connection with 1009.
    package var clientMessage = 102_400
    /// Maximum size of an event's data; refusal: 413, or an error event for clients.
    package var eventData = 10_240
    /// Maximum size of an API call's body (413): ten events of maximum length, all escaped.
    package var apiBody = 1 << 20
    /// Maximum length of a presence member's ID, in characters.
    package var userID = 128
    /// Maximum size of a presence member's `channel_data`.
    package var channelData = 1024
    /// Maximum size of a signed-in user's `user_data`.
    package var userData = 16_384
    /// Maximum output waiting for one client; more closes the connection with 4100.
    package var outputQueue = 1 << 20
    /// Maximum output waiting for all clients; beyond it the slowest readers are dropped.
    package var allOutput = 256 << 20
  }

  package struct Times: Sendable, Equatable {
    /// Maximum time for a request's head, and for its body.
    package var request = Duration.seconds(10)
    /// Maximum idle time between two requests.
    package var keepAlive = Duration.seconds(75)
    /// Time after which a silent client must send something; sent to it as `activity_timeout`.
    package var activity = Duration.seconds(120)
    /// Time after which the server pings a silent client; default: `activity`.
    package var ping: Duration?
    /// Maximum time for the answer to a ping.
    package var pong = Duration.seconds(30)
    /// Closes a connection with 4201 after this time without a message to it; replaces pings.
    package var ownSilence: Duration?
    /// Maximum time for the answer to a close frame.
    package var close = Duration.seconds(5)
    /// Lifetime of a cache channel's event; `nil` for no limit.
    package var cachedEvent: Duration? = .seconds(1800)
  }

  /// Maximum number of sockets of all apps; further sockets are refused with 4004 or 4100.
  package var connections = 10_000
  /// Maximum number of connections with HTTP requests; one more closes the longest idle one.
  package var callers = 256
  package var channelsOfEvent = 100
  package var batch = 10
  /// Maximum number of occupied channels of an app on this server.
  package var channels = 100_000
  /// Maximum number of channels of an app that the sockets of one address occupy.
  package var channelsPerAddress = 25_000
  /// Maximum number of channels of a socket.
  package var subscriptions = 10_000
  /// Maximum number of subscriptions of a socket in a second (4301), after a burst of
  /// ``subscriptions``, at least 1000.
  package var joinsPerSecond = 100
  package var presenceMembers = 100
  package var watchlist = 100
  /// Maximum number of cache channels with a stored event.
  package var cachedEvents = 1000
  /// Maximum number of client events per socket and second (4301); `nil` for no limit.
  package var clientEventsPerSecond: Int? = 10
  /// Limit on all messages of a socket; `nil` for no limit.
  package var messageRate: MessageRateLimit?
  package var sizes = Sizes()
  package var times = Times()

  package init() {}

  /// Maximum size of the output queue while one event is delivered, in bytes.
  ///
  /// One API call may send a hundred events to a client, so the queue is checked only after the
  /// socket took its output. The queue never exceeds this size.
  var outputCeiling: Int { sizes.outputQueue + (4 << 20) }

  var webSocket: WebSocketLimits {
    WebSocketLimits(frame: sizes.clientMessage, message: sizes.clientMessage)
  }
}
