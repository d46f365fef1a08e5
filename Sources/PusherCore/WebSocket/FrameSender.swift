/// The sending half of a connection: encodes, compresses and masks into the output.
struct FrameSender: ~Copyable {
  let output: ByteBuffer
  private let isClient: Bool
  private let outgoing: PerMessageDeflateParameters.Direction?
  private var random: any RandomNumberGenerator
  /// Created with the first compressed message.
  private var deflater: Deflater?
  private var compressed: ByteBuffer?
  /// True after a close frame, which no message may follow.
  private(set) var hasClosed = false
  /// The latest ping that waits because the output is full.
  private var owedPong: [UInt8]?

  /// Pongs wait above this size: a peer that pings and does not read must not cost memory.
  private static let pongThreshold = 1 << 20

  init(
    output: ByteBuffer, isClient: Bool, outgoing: PerMessageDeflateParameters.Direction?,
    random: any RandomNumberGenerator
  ) {
    (self.output, self.isClient, self.random) = (output, isClient, random)
    // RFC 7692 section 6 permits no compression, and zlib cannot write every window.
    self.outgoing = outgoing.flatMap { Deflater.windowBits.contains($0.windowBits) ? $0 : nil }
  }

  /// Returns `false` if the connection is closing, like the other methods that send.
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

  mutating func sendControl(_ opcode: Opcode, _ payload: [UInt8]) -> Bool {
    precondition(payload.count <= 125, "a control frame holds at most 125 bytes")
    guard !hasClosed else { return false }
    FrameEncoder.frame(opcode, payload: payload, mask: mask(), into: output)
    return true
  }

  func sendEncoded(_ frame: ByteView) -> Bool {
    precondition(!isClient, "a client's frames are masked one by one")
    guard !hasClosed else { return false }
    output.append(frame)
    return true
  }

  /// Pings are answered even after our own close frame (RFC 6455 section 5.5.2).
  mutating func answerPing(_ payload: ByteView) {
    guard output.count <= Self.pongThreshold else {
      // Section 5.5.3: of several pings only the latest need be answered.
      owedPong = payload.array
      return
    }
    owedPong = nil
    FrameEncoder.frame(.pong, payload: payload, mask: mask(), into: output)
  }

  mutating func answerOwedPing() {
    guard let owed = owedPong, output.count <= Self.pongThreshold else { return }
    owedPong = nil
    FrameEncoder.frame(.pong, payload: owed, mask: mask(), into: output)
  }

  /// A code that is illegal on the wire is left out; a long reason is cut at a character's end.
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
