/// Limits for a peer.
package struct WebSocketLimits: Sendable, Equatable {
  /// On the wire, in bytes.
  package var frame: Int
  /// After inflation, in bytes: the sum of the fragments.
  package var message: Int

  package init(frame: Int = 16 << 20, message: Int = 16 << 20) {
    (self.frame, self.message) = (frame, message)
  }
}

/// Views are valid until the next call of ``WebSocketConnection/next()`` or more input.
package enum WebSocketEvent {
  case text(ByteView)
  case binary(ByteView)
  /// The pong is already in the output, if ``WebSocketConnection/answersPings``.
  case ping(ByteView)
  case pong(ByteView)
  /// The answer is already in the output; nothing follows.
  case closed(CloseCode?, reason: String)
  /// A close frame is in the output if one can be sent; nothing follows.
  case failed(WebSocketError)
}

/// RFC 6455 section 7.4 and the IANA registry; Pusher's own codes are 4000 to 4299.
package struct CloseCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  package let rawValue: UInt16

  package init(rawValue: UInt16) { self.rawValue = rawValue }

  package static let normal = CloseCode(rawValue: 1000)
  package static let protocolError = CloseCode(rawValue: 1002)
  package static let unsupportedData = CloseCode(rawValue: 1003)
  /// Never on the wire: a connection that ended without a close frame.
  package static let abnormal = CloseCode(rawValue: 1006)
  package static let invalidData = CloseCode(rawValue: 1007)
  package static let messageTooBig = CloseCode(rawValue: 1009)
  package static let internalError = CloseCode(rawValue: 1011)

  /// Section 7.4.2: a registered code, or 3000 to 4999.
  package var isValidOnWire: Bool {
    switch rawValue {
    case 1000...1003, 1007...1014, 3000...4999: true
    default: false
    }
  }

  package var description: String { String(rawValue) }
}
