/// Channels that a client wants.
public struct PusherChannels: Sendable {
  private let connection: PusherConnection

  init(_ connection: PusherConnection) { self.connection = connection }

  /// Channels by name, as of now; names are ASCII, so that `String` keys distinguish them.
  public var channels: [String: PusherChannel] {
    Dictionary(connection.wantedChannels.elements.map { ($0.name, $0) }) { $1 }
  }

  /// Returns the channel with this name, prefix included; `nil` if it is not wanted.
  public func find(name: String) -> PusherChannel? { connection.channel(name) }

  /// Returns the presence channel with this name, prefix included; `nil` if there is none.
  public func findPresence(name: String) -> PusherPresenceChannel? {
    connection.channel(name) as? PusherPresenceChannel
  }

  /// Channels that the server has confirmed on the current connection.
  public var subscribed: [PusherChannel] {
    connection.wantedChannels.elements.filter(\.isSubscribed)
  }
}
