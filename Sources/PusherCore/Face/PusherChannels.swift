/// The channels that a client wants.
public struct PusherChannels: Sendable {
  private let connection: PusherConnection

  init(_ connection: PusherConnection) {
    self.connection = connection
  }

  /// The channels by their names, as they are now.
  ///
  /// Such names are ASCII, so that a dictionary by text tells them all apart.
  public var channels: [String: PusherChannel] {
    Dictionary(connection.wantedChannels.elements.map { ($0.name, $0) }) { $1 }
  }

  /// The channel with this name, prefix included; `nil` when it is not wanted.
  public func find(name: String) -> PusherChannel? { connection.channel(name) }

  /// The presence channel with this name, prefix included; `nil` when there is none.
  public func findPresence(name: String) -> PusherPresenceChannel? {
    connection.channel(name) as? PusherPresenceChannel
  }

  /// Those that the server has confirmed on the present connection.
  public var subscribed: [PusherChannel] {
    connection.wantedChannels.elements.filter(\.isSubscribed)
  }
}
