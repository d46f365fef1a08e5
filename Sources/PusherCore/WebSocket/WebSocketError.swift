package enum WebSocketError: Error, Equatable, CustomStringConvertible {
  /// A reserved bit is set that no negotiated extension defines.
  case reservedBits
  case unknownOpcode(UInt8)
  case fragmentedControlFrame
  case controlFrameTooLong
  case maskMissing
  case maskUnexpected
  case lengthNotMinimal
  case lengthOutOfRange
  case continuationUnexpected
  case continuationExpected
  case invalidUTF8
  case closePayloadTooShort
  case invalidCloseCode(UInt16)
  case closeReasonNotUTF8
  case frameTooLarge(limit: Int)
  /// Longer than the limit after inflation.
  case messageTooLarge(limit: Int)
  case invalidCompressedData
  case endedWithoutCloseFrame(insideMessage: Bool)

  /// The code of the answering close frame; ``CloseCode/abnormal`` if none can be sent.
  package var closeCode: CloseCode {
    switch self {
    case .invalidUTF8, .closeReasonNotUTF8, .invalidCompressedData: .invalidData
    case .frameTooLarge, .messageTooLarge: .messageTooBig
    case .endedWithoutCloseFrame: .abnormal
    default: .protocolError
    }
  }

  package var description: String {
    switch self {
    case .reservedBits: "a reserved bit is set"
    case .unknownOpcode(let opcode): "unknown opcode \(opcode)"
    case .fragmentedControlFrame: "a control frame is fragmented"
    case .controlFrameTooLong: "a control frame is longer than 125 bytes"
    case .maskMissing: "a client's frame is not masked"
    case .maskUnexpected: "a server's frame is masked"
    case .lengthNotMinimal: "a frame length is not in its shortest form"
    case .lengthOutOfRange: "a frame length is out of range"
    case .continuationUnexpected: "a continuation frame has no message to continue"
    case .continuationExpected: "a message begins inside another message"
    case .invalidUTF8: "a text message is not valid UTF-8"
    case .closePayloadTooShort: "a close frame has an incomplete close code"
    case .invalidCloseCode(let code): "close code \(code) is not allowed on the wire"
    case .closeReasonNotUTF8: "a close reason is not valid UTF-8"
    case .frameTooLarge(let limit): "a frame is longer than the limit of \(limit) bytes"
    case .messageTooLarge(let limit): "a message is longer than the limit of \(limit) bytes"
    case .invalidCompressedData: "a compressed message cannot be inflated"
    case .endedWithoutCloseFrame(insideMessage: false): "the connection ended without a close frame"
    case .endedWithoutCloseFrame(insideMessage: true):
      "the connection ended without a close frame, inside a message"
    }
  }
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

  /// Section 7.4.2: a registered code, or 3000 to 4999.
  package var isValidOnWire: Bool {
    switch rawValue {
    case 1000...1003, 1007...1014, 3000...4999: true
    default: false
    }
  }

  package var description: String { String(rawValue) }
}
