/// The channels that a client wants.
public struct PusherChannels: Sendable {
  private let connection: PusherConnection

  init(_ connection: PusherConnection) {
    self.connection = connection
  }

  /// The channels by their names, as they are now.
  public var channels: [String: PusherChannel] { connection.wantedChannels }

  /// The channel with this name, prefix included; `nil` when it is not wanted.
  public func find(name: String) -> PusherChannel? { connection.channel(name) }

  /// The presence channel with this name, prefix included; `nil` when there is none.
  public func findPresence(name: String) -> PusherPresenceChannel? {
    connection.channel(name) as? PusherPresenceChannel
  }

  /// Those that the server has confirmed on the present connection.
  public var subscribed: [PusherChannel] { channels.values.filter(\.isSubscribed) }
}
