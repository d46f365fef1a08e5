/// How a connection stands, in the order and with the numbers that PusherSwift gives the states.
public enum ConnectionState: Int, Sendable, CaseIterable {
  /// The first connection since `connect()` is being made.
  case connecting
  /// The server has greeted the socket.
  case connected
  /// `disconnect()` was called, and the socket is being closed.
  case disconnecting
  /// There is no connection, and none will be made without another `connect()`.
  case disconnected
  /// The connection, or an attempt to get one, was lost, and another attempt follows or is under way.
  case reconnecting

  /// The state's name, such as `"connecting"`.
  public func stringValue() -> String {
    switch self {
    case .connecting: "connecting"
    case .connected: "connected"
    case .disconnecting: "disconnecting"
    case .disconnected: "disconnected"
    case .reconnecting: "reconnecting"
    }
  }
}
