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

/// Why a connection is closed (RFC 6455 section 7.4 and the IANA registry); Pusher's own codes are 4000 to 4299.
package struct CloseCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  package let rawValue: UInt16

  package init(rawValue: UInt16) {
    self.rawValue = rawValue
  }

  package static let normal = CloseCode(rawValue: 1000)
  package static let goingAway = CloseCode(rawValue: 1001)
  package static let protocolError = CloseCode(rawValue: 1002)
  package static let unsupportedData = CloseCode(rawValue: 1003)
  /// Stands for a close frame without a code; never on the wire.
  package static let noStatus = CloseCode(rawValue: 1005)
  /// Stands for a connection that ended without a close frame; never on the wire.
  package static let abnormal = CloseCode(rawValue: 1006)
  package static let invalidData = CloseCode(rawValue: 1007)
  package static let messageTooBig = CloseCode(rawValue: 1009)
  package static let internalError = CloseCode(rawValue: 1011)

  /// Whether a close frame may carry it (section 7.4.2): a registered code, or one of 3000 to 4999.
  package var isValidOnWire: Bool {
    switch rawValue {
    case 1000...1003, 1007...1014, 3000...4999: true
    default: false
    }
  }

  package var description: String { String(rawValue) }
}
