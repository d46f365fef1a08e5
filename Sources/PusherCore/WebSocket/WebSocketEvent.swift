/// How much a peer may send.
package struct WebSocketLimits: Sendable, Equatable {
  /// Payload bytes of one frame, as they are on the wire.
  package var frame: Int
  /// Bytes of one message: the sum of its fragments, after inflation.
  package var message: Int

  package init(frame: Int = 16 << 20, message: Int = 16 << 20) {
    self.frame = frame
    self.message = message
  }
}

/// What a peer has sent.
///
/// A view lies in a ``ByteBuffer`` and stays valid until the next call of ``WebSocketConnection/next()``, as long
/// as nothing is added to the connection's input.
package enum WebSocketEvent {
  /// A whole text message, known to be UTF-8.
  case text(ByteView)
  /// A whole binary message.
  case binary(ByteView)
  /// A ping; its pong is already in the output, unless the connection is told to leave that to others.
  case ping(ByteView)
  case pong(ByteView)
  /// A close frame came, with or without a code; the answer is already in the output. Nothing follows.
  case closed(CloseCode?, reason: String)
  /// The peer broke the protocol or vanished; a close frame is in the output if one can be sent. Nothing follows.
  case failed(WebSocketError)
}
