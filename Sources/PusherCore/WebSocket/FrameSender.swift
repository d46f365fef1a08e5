/// The sending half of a connection: encodes, compresses and masks into the output.
struct FrameSender: ~Copyable {
  let output: ByteBuffer
  private let isClient: Bool
  private let outgoing: PerMessageDeflateParameters.Direction?
  private var random: any RandomNumberGenerator
  /// Made with the first message that is compressed.
  private var deflater: Deflater?
  private var compressed: ByteBuffer?
  /// Whether a close frame was written; no message may follow it.
  private(set) var hasClosed = false
  /// The latest ping that could not be answered because the output was full.
  private var owedPong: [UInt8]?

  /// Bytes of output above which pongs wait: a peer that pings and does not read must not cost memory.
  private static let pongThreshold = 1 << 20

  init(
    output: ByteBuffer, isClient: Bool, outgoing: PerMessageDeflateParameters.Direction?,
    random: any RandomNumberGenerator
  ) {
    (self.output, self.isClient, self.random) = (output, isClient, random)
    // A direction held to a window that zlib cannot write stays uncompressed, as RFC 7692 section 6 permits.
    self.outgoing = outgoing.flatMap { Deflater.windowBits.contains($0.windowBits) ? $0 : nil }
  }

  /// Writes a whole message as one frame; `false` when the connection is closing.
  mutating func send(_ opcode: Opcode, _ payload: UnsafeRawBufferPointer) -> Bool {
    guard !hasClosed else { return false }
    guard let outgoing, payload.count > 0 else {
      unsafe FrameEncoder.frame(opcode, payload: payload, mask: mask(), into: output)
      return true
    }
    let deflater = self.deflater ?? Deflater(windowBits: outgoing.windowBits)
    self.deflater = deflater
    let compressed = self.compressed ?? ByteBuffer()
    self.compressed = compressed
    unsafe deflater.deflate(payload, into: compressed)
    if !outgoing.takesContextOver { deflater.reset() }
    FrameEncoder.frame(
      opcode, payload: compressed.view, isCompressed: true, mask: mask(), into: output)
    compressed.removeAll()
    return true
  }

  /// Writes a control frame with at most 125 bytes; `false` when the connection is closing.
  mutating func sendControl(_ opcode: Opcode, _ payload: [UInt8]) -> Bool {
    precondition(payload.count <= 125, "a control frame holds at most 125 bytes")
    guard !hasClosed else { return false }
    FrameEncoder.frame(opcode, payload: payload, mask: mask(), into: output)
    return true
  }

  /// Appends a frame that was encoded for a client beforehand; `false` when the connection is closing.
  func sendEncoded(_ frame: ByteView) -> Bool {
    precondition(!isClient, "a client's frames are masked one by one")
    guard !hasClosed else { return false }
    output.append(frame)
    return true
  }

  /// Answers a ping, also after our own close frame (RFC 6455 section 5.5.2).
  mutating func answerPing(_ payload: ByteView) {
    guard output.count <= Self.pongThreshold else {
      // Section 5.5.3: of several pings only the latest need be answered.
      owedPong = payload.array
      return
    }
    owedPong = nil
    FrameEncoder.frame(.pong, payload: payload, mask: mask(), into: output)
  }

  /// Answers the ping that had to wait, once the output has room.
  mutating func answerOwedPing() {
    guard let owed = owedPong, output.count <= Self.pongThreshold else { return }
    owedPong = nil
    FrameEncoder.frame(.pong, payload: owed, mask: mask(), into: output)
  }

  /// Writes the close frame, once.
  ///
  /// A code that may not be on the wire stands for a frame without one; a reason is
  /// cut to 123 bytes at a character's end.
  mutating func close(_ code: CloseCode?, reason: String) {
    guard !hasClosed else { return }
    hasClosed = true
    owedPong = nil
    var payload: [UInt8] = []
    if let code, code.isValidOnWire {
      payload = [UInt8(code.rawValue >> 8), UInt8(code.rawValue & 0xFF)]
      for character in reason.unicodeScalars {
        let bytes = Array(String(character).utf8)
        guard payload.count + bytes.count <= 125 else { break }
        payload += bytes
      }
    }
    FrameEncoder.frame(.close, payload: payload, mask: mask(), into: output)
  }

  private mutating func mask() -> UInt32? {
    isClient ? UInt32(truncatingIfNeeded: random.next()) : nil
  }
}
