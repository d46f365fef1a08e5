package import PusherCore

/// Decodes hexadecimal digits; blanks are skipped.
package func wire(_ hex: String) -> [UInt8] {
  let digits = hex.utf8.compactMap { Hex.value(of: $0) }
  return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

package func buffer(_ bytes: [UInt8]) -> ByteBuffer {
  let buffer = ByteBuffer()
  buffer.append(bytes)
  return buffer
}

/// Calls `body` with a view of the bytes, whose buffer lives as long as the call.
@discardableResult
package func withView<R>(_ bytes: [UInt8], _ body: (ByteView) throws -> R) rethrows -> R {
  let buffer = buffer(bytes)
  return try withExtendedLifetime(buffer) { try body(buffer.view) }
}

package func buffer(_ text: String) -> ByteBuffer {
  buffer([UInt8](text.utf8))
}

package func frame(
  _ opcode: Opcode, _ payload: [UInt8], isFinal: Bool = true, isCompressed: Bool = false,
  mask: UInt32? = nil
) -> [UInt8] {
  let output = ByteBuffer()
  FrameEncoder.frame(
    opcode, payload: payload, isFinal: isFinal, isCompressed: isCompressed, mask: mask, into: output
  )
  return output.array
}

package func textFrame(_ text: String, isFinal: Bool = true, mask: UInt32? = nil) -> [UInt8] {
  frame(.text, [UInt8](text.utf8), isFinal: isFinal, mask: mask)
}
