internal import PusherCore

/// A WebSocket that is opened only to say why it is closed: browsers show their page no status of a refused upgrade.
final class RefusedSocket {
  let connection: WebSocketConnection
  /// Until when the client may answer the close frame.
  let deadline: Instant
  private(set) var isFinished = false

  init(
    _ connection: WebSocketConnection, code: PusherCode, reason: String, limits: ServerLimits,
    text: MessageText, at now: Instant
  ) {
    self.connection = connection
    deadline = now.advanced(by: limits.closeTimeout)
    connection.send(text: text.error(code: code, message: reason))
    connection.close(code.closeCode, reason: reason)
  }

  /// Drops what the client sends, until it has answered.
  func receive() {
    while let event = connection.next() {
      switch event {
      case .closed, .failed: isFinished = true
      case .text, .binary, .ping, .pong: break
      }
    }
  }
}
