/// The state of a connection, in PusherSwift's order and with its numbers.
public enum ConnectionState: Int, Sendable, CaseIterable {
  /// The first connection since `connect()` is being made.
  case connecting
  /// The server has greeted the socket.
  case connected
  /// `disconnect()` was called, and the socket is being closed.
  case disconnecting
  /// There is no connection; only another `connect()` makes one.
  case disconnected
  /// The connection, or an attempt to get one, was lost, and another attempt follows or is under way.
  case reconnecting

  /// The state's name, such as `"connecting"`.
  public func stringValue() -> String { "\(self)" }
}
