internal import PusherCore

/// The limits for one peer, in size and time.
package struct ServerLimits: Sendable, Equatable {
  /// Sockets of all apps together; one more is refused with 4004 or 4100.
  package var connections = 10_000
  /// Connections that bring HTTP requests, beside the sockets; one more closes the longest idle one.
  package var callers = 256
  /// Bytes of one message from a client; a longer one ends the connection with 1009.
  package var clientMessage = 102_400
  /// Bytes of an event's data, from the API (413) and from clients (an error event).
  package var eventData = 10_240
  /// Bytes of an API call's body (413): ten events of the longest data, every byte of it escaped.
  package var apiBody = 1 << 20
  /// Channels that one event of the API goes to.
  package var channelsOfEvent = 100
  /// Events of one batch.
  package var batch = 10
  /// Occupied channels of an app on this server.
  package var channels = 100_000
  /// Channels that one socket may be subscribed to.
  package var subscriptions = 20_000
  package var presenceMembers = 100
  /// Characters of a presence member's id.
  package var userID = 128
  /// Bytes of a presence member's `channel_data`.
  package var channelData = 1024
  /// Bytes of a signed-in user's `user_data`.
  package var userData = 16_384
  /// Users of a watchlist.
  package var watchlist = 100
  /// Cache channels whose last event is kept.
  package var cachedEvents = 1000
  /// How long each of them is kept; `nil` for as long as there is room.
  package var cacheLifetime: Duration? = .seconds(1800)
  /// Client events of one socket within a second; more are refused with 4301.
  ///
  /// `nil` is for any number.
  package var clientEventsPerSecond: Int? = 10
  /// Bytes that may wait for a client that does not read; more end the connection with 4100.
  package var outputQueue = 1 << 20
  /// Bytes that may wait for all clients together; above that the slowest readers are dropped.
  package var allOutput = 256 << 20
  /// How long a request's head, and how long its body may take to come.
  package var requestTimeout = Duration.seconds(10)
  /// How long a connection may stand between two requests.
  package var keepAliveTimeout = Duration.seconds(75)
  /// The silence after which a client must send something, sent to it as `activity_timeout`.
  package var activityTimeout = Duration.seconds(120)
  /// The silence after which the server pings; `nil` for the same.
  package var pingInterval: Duration?
  /// How long the answer to that may take.
  package var pongTimeout = Duration.seconds(30)
  /// Instead of pinging, the server ends a connection with 4201 when it has sent no message on it for this time.
  package var ownSilence: Duration?
  /// How long a client may take to answer a close frame.
  package var closeTimeout = Duration.seconds(5)

  package init() {}

  /// The most output that one event adds before the socket can take any of it.
  ///
  /// One API call may bring a hundred events to a client, so the queue is checked after the socket took what it could;
  /// it may never exceed this.
  var outputCeiling: Int { outputQueue + (4 << 20) }

  /// The limits of the WebSocket connections.
  var webSocket: WebSocketLimits {
    WebSocketLimits(frame: clientMessage, message: clientMessage)
  }
}
