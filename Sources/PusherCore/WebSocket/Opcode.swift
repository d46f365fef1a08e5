/// The kind of a frame (RFC 6455 section 5.2); four bits.
package struct Opcode: RawRepresentable, Hashable, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  package static let continuation = Opcode(rawValue: 0)
  package static let text = Opcode(rawValue: 1)
  package static let binary = Opcode(rawValue: 2)
  package static let close = Opcode(rawValue: 8)
  package static let ping = Opcode(rawValue: 9)
  package static let pong = Opcode(rawValue: 10)

  /// Whether it is a control frame, which is not part of a message.
  package var isControl: Bool { rawValue & 8 != 0 }

  /// Whether the RFC defines it.
  package var isKnown: Bool { rawValue <= 2 || (8...10).contains(rawValue) }
}
