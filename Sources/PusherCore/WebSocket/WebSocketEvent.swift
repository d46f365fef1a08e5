/// Limits for a peer.
package struct WebSocketLimits: Sendable, Equatable {
  /// Maximum payload of one frame on the wire, in bytes.
  package var frame: Int
  /// Maximum size of one message after inflation, in bytes: the sum of its fragments.
  package var message: Int

  package init(frame: Int = 16 << 20, message: Int = 16 << 20) {
    self.frame = frame
    self.message = message
  }
}

/// An event from the peer.
///
/// A view lies in a ``ByteBuffer``, and is valid until the next call of
/// ``WebSocketConnection/next()`` or the next addition to the connection's input.
package enum WebSocketEvent {
  /// A complete text message, checked as UTF-8.
  case text(ByteView)
  /// A complete binary message.
  case binary(ByteView)
  /// A ping; its pong is already in the output, unless ``WebSocketConnection/answersPings`` is
  /// false.
  case ping(ByteView)
  case pong(ByteView)
  /// A close frame came, with or without a code; the answer is already in the output. Nothing follows.
  case closed(CloseCode?, reason: String)
  /// The peer broke the protocol or vanished; a close frame is in the output if one can be sent. Nothing follows.
  case failed(WebSocketError)
}

/// Reason for a close (RFC 6455 section 7.4 and the IANA registry); Pusher's own codes are 4000 to
/// 4299.
package struct CloseCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  package let rawValue: UInt16

  package init(rawValue: UInt16) {
    self.rawValue = rawValue
  }

  package static let normal = CloseCode(rawValue: 1000)
  package static let goingAway = CloseCode(rawValue: 1001)
  package static let protocolError = CloseCode(rawValue: 1002)
  package static let unsupportedData = CloseCode(rawValue: 1003)
  /// A close frame without a code; never on the wire.
  package static let noStatus = CloseCode(rawValue: 1005)
  /// A connection that ended without a close frame; never on the wire.
  package static let abnormal = CloseCode(rawValue: 1006)
  package static let invalidData = CloseCode(rawValue: 1007)
  package static let messageTooBig = CloseCode(rawValue: 1009)
  package static let internalError = CloseCode(rawValue: 1011)

  /// True if a close frame may carry the code (section 7.4.2): a registered code, or 3000 to 4999.
  package var isValidOnWire: Bool {
    switch rawValue {
    case 1000...1003, 1007...1014, 3000...4999: true
    default: false
    }
  }

  package var description: String { String(rawValue) }
}
