/// The settings of a session.
package struct SessionOptions: Sendable {
  /// The names that the service uses.
  package var service: Service
  /// Silence after which a ping is sent; the server's own value counts when it is shorter.
  package var activityTimeout: Duration
  /// How long the answer to a ping may take.
  package var pongTimeout: Duration
  /// From the name's resolution to `connection_established`; and from each subscription to its answer.
  package var connectTimeout: Duration
  /// When a lost connection is dialled again.
  package var reconnect: ReconnectPolicy
  /// How much of each presence channel's list is kept.
  package var presence = PresenceLimits()
  /// Whether a retry without a wait is still planned first, so that the owner can move or stop it.
  package var announcesRetries = false

  /// Options; without arguments those of the protocol page.
  package init(
    service: Service = .pusher, activityTimeout: Duration = .seconds(120),
    pongTimeout: Duration = .seconds(30), connectTimeout: Duration = .seconds(10),
    reconnect: ReconnectPolicy = ReconnectPolicy()
  ) {
    self.service = service
    self.activityTimeout = activityTimeout
    self.pongTimeout = pongTimeout
    self.connectTimeout = connectTimeout
    self.reconnect = reconnect
  }
}
