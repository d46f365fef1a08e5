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
    let isKept = !text.dialect.sendsCloseFrames && code == .overQuota
    // Reverb keeps a connection for which it has no room; here it ends when a live one would be asked for a sign of life.
    deadline = now.advanced(by: isKept ? limits.activityTimeout : limits.closeTimeout)
    connection.send(text: text.error(code: code, message: reason))
    guard text.dialect.sendsCloseFrames else {
      isFinished = !isKept
      return
    }
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
