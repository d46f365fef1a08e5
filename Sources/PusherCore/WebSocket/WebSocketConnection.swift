/// A WebSocket connection after its handshake (RFC 6455 sections 5 to 8, RFC 7692), in either role.
///
/// It has no socket: the owner puts received bytes into ``input``, sends the bytes of ``output``,
/// and calls ``next()`` until there are no more events. Payloads are checked piece by piece, so
/// that a violation fails at its first byte. Input after a close frame or a failure is dropped.
package final class WebSocketConnection {
  /// A client masks its frames.
  package enum Role: Sendable {
    case client
    case server
  }

  package enum State: Sendable {
    case open
    /// We sent a close frame and wait for the peer's; messages may still come.
    case closing
    /// Both sides closed, or the connection failed; the transport sends the output and ends.
    case closed
  }

  private struct PendingFrame {
    let header: FrameHeader
    /// Payload bytes that are unmasked and checked.
    var done: Int
    /// True if the payload is a whole message, which stays in the input until it is complete.
    let isInPlace: Bool
  }

  private enum Step {
    case needsInput
    case frameDone
    case event(WebSocketEvent)
  }

  package let input: ByteBuffer
  package let output: ByteBuffer
  package private(set) var state = State.open
  /// False to leave the pongs to the receiver of ``WebSocketEvent/ping(_:)``.
  package var answersPings = true
  package private(set) var closeReceived: (code: CloseCode?, reason: String)?

  private let role: Role
  private let limits: WebSocketLimits
  /// Window of compressed messages to the peer: `1 << bits` bytes, `nil` without compression.
  package let readableWindowBits: Int?
  private let shortPathLimit: Int
  /// True if the input begins with a frame header, no message has begun, and frames come unmasked.
  private var mayTakeShortPath: Bool
  private var assembler: MessageAssembler
  private let outgoing: PerMessageDeflate.Direction?
  private var random: any RandomNumberGenerator
  /// Created with the first message that is sent compressed.
  private var deflater: Deflater?
  private var compressed: ByteBuffer?
  /// True after we sent a close frame, which no message may follow.
  private var hasClosed = false
  /// The latest ping that waits because the output is full.
  private var owedPong: [UInt8]?
  private var pending: PendingFrame?
  private var validator = UTF8Validator()
  private var inputHasEnded = false

  /// Maximum capacity that an empty input keeps, in bytes.
  private static let keptInput = 1 << 20
  /// Pongs wait above this size: a peer that pings and does not read must not cost memory.
  private static let pongThreshold = 1 << 20

  /// - Parameters:
  ///   - deflate: The terms of the handshake.
  ///   - random: Draws masks; must be unpredictable for a client.
  ///   - input: May hold bytes that came with the handshake.
  package init(
    role: Role, deflate: PerMessageDeflate? = nil,
    limits: WebSocketLimits = WebSocketLimits(), random: any RandomNumberGenerator,
    input: ByteBuffer? = nil
  ) {
    (self.role, self.limits, self.random) = (role, limits, random)
    self.input = input ?? ByteBuffer()
    // A server has thousands of connections, most of them idle.
    output = ByteBuffer(capacity: role == .server ? 256 : 4096)
    let outgoing = deflate?.outgoing(from: role)
    readableWindowBits = outgoing?.windowBits
    // RFC 7692 section 6 permits no compression, and zlib cannot write every window.
    self.outgoing = outgoing.flatMap { Deflater.windowBits.contains($0.windowBits) ? $0 : nil }
    shortPathLimit = min(limits.frame, limits.message)
    mayTakeShortPath = role == .client
    assembler = MessageAssembler(
      limit: limits.message, incoming: deflate?.outgoing(from: role == .client ? .server : .client))
  }

  /// Adds bytes to the input; a transport reads into ``input`` instead.
  package func receive(_ bytes: [UInt8]) { input.append(bytes) }

  /// After the remaining input, ``next()`` fails unless a close frame came.
  package func inputEnded() { inputHasEnded = true }

  /// Returns the next event, and invalidates the views of the last one; `nil` if input is missing.
  package func next() -> WebSocketEvent? {
    // A server's usual frame: final, text, unmasked, not compressed, shorter than 64 KiB, complete.
    if mayTakeShortPath, input.count >= 4 {
      let bytes = input.view
      var length = unsafe Int(bytes.base[1])
      var size = 2
      if length == 126 {
        length = unsafe Int(bytes.base[2]) &<< 8 | Int(bytes.base[3])
        size = length < 126 ? Int.max &>> 1 : 4
      } else if length > 126 {
        size = Int.max &>> 1
      }
      if unsafe bytes.base[0] == 0x81 && size &+ length <= bytes.count && length <= shortPathLimit {
        let payload = unsafe ByteView(base: bytes.base + size, count: length)
        if UTF8Validator.isValid(payload) {
          input.consume(size &+ length)
          return .text(payload)
        }
      }
    }
    return nextInGeneral()
  }

  @inline(never) private func nextInGeneral() -> WebSocketEvent? {
    if !assembler.isInProgress { assembler.reset() }
    guard state != .closed else {
      input.removeAll()
      return nil
    }
    if let owed = owedPong, output.count <= Self.pongThreshold {
      owedPong = nil
      sendFrame(.pong, owed)
    }
    if input.isEmpty, input.capacity > Self.keptInput { input.removeAll() }
    defer { mayTakeShortPath = role == .client && pending == nil && canBeginMessage }
    do throws(WebSocketError) {
      while true {
        switch try step() {
        case .event(let event): return event
        case .frameDone: continue
        case .needsInput:
          guard inputHasEnded else { return nil }
          let isInside = assembler.isInProgress || pending != nil || !input.isEmpty
          throw .endedWithoutCloseFrame(insideMessage: isInside)
        }
      }
    } catch { return fail(error) }
  }

  /// True if no message has begun, and none must be dropped first.
  private var canBeginMessage: Bool {
    state != .closed && !assembler.isInProgress && !assembler.holdsMessage
  }

  private func step() throws(WebSocketError) -> Step {
    if pending == nil {
      guard let header = try FrameHeader.decode(input.view) else { return .needsInput }
      try check(header)
      if header.opcode.isControl {
        guard input.count >= header.size + header.length else { return .needsInput }
        return try receiveControl(header)
      }
      input.consume(header.size)
      let isInPlace = header.isFinal && header.opcode != .continuation && !header.isCompressed
      if !isInPlace {
        if header.isFinal, header.isCompressed, input.count >= header.length {
          return try receiveWhole(header)
        }
        if header.opcode != .continuation {
          assembler.begin(header.opcode, isCompressed: header.isCompressed)
        }
        try assembler.checkRoom(for: header.length)
      }
      validator = UTF8Validator()
      pending = PendingFrame(header: header, done: 0, isInPlace: isInPlace)
    }
    guard let frame = pending else { return .needsInput }
    return try frame.isInPlace ? continueInPlace(frame) : continueAssembled(frame)
  }

  /// Runs before memory is spent on the payload.
  private func check(_ header: FrameHeader) throws(WebSocketError) {
    if header.isCompressed {
      guard readableWindowBits != nil, header.opcode != .continuation else { throw .reservedBits }
    }
    guard (header.mask == nil) == (role == .client) else {
      throw role == .client ? .maskUnexpected : .maskMissing
    }
    guard !header.opcode.isControl else { return }
    if header.opcode == .continuation {
      guard assembler.isInProgress else { throw .continuationUnexpected }
    } else {
      guard !assembler.isInProgress else { throw .continuationExpected }
    }
    guard header.length <= limits.frame else { throw .frameTooLarge(limit: limits.frame) }
    guard header.isCompressed || header.length <= limits.message else {
      throw .messageTooLarge(limit: limits.message)
    }
  }

  private func continueInPlace(_ frame: PendingFrame) throws(WebSocketError) -> Step {
    let header = frame.header
    let available = min(input.count, header.length)
    let fresh = input.view[frame.done..<available]
    if let mask = header.mask { FrameEncoder.apply(mask, to: fresh, offset: frame.done) }
    guard header.opcode != .text || validator.feed(fresh) else { throw .invalidUTF8 }
    guard available == header.length else {
      pending?.done = available
      return .needsInput
    }
    pending = nil
    let payload = input.view[0..<available]
    input.consume(available)
    guard header.opcode == .text else { return .event(.binary(payload)) }
    guard validator.isComplete else { throw .invalidUTF8 }
    return .event(.text(payload))
  }

  private func continueAssembled(_ frame: PendingFrame) throws(WebSocketError) -> Step {
    let header = frame.header
    let count = min(input.count, header.length - frame.done)
    let piece = input.view[0..<count]
    if let mask = header.mask { FrameEncoder.apply(mask, to: piece, offset: frame.done) }
    try assembler.append(piece)
    input.consume(count)
    guard frame.done + count == header.length else {
      pending?.done += count
      return .needsInput
    }
    pending = nil
    return header.isFinal ? .event(try assembler.finish()) : .frameDone
  }

  private func receiveWhole(_ header: FrameHeader) throws(WebSocketError) -> Step {
    let payload = input.view[0..<header.length]
    if let mask = header.mask { FrameEncoder.apply(mask, to: payload) }
    input.consume(header.length)
    return .event(try assembler.inflate(header.opcode, whole: payload))
  }

  private func receiveControl(_ header: FrameHeader) throws(WebSocketError) -> Step {
    let payload = input.view[header.size..<header.size + header.length]
    if let mask = header.mask { FrameEncoder.apply(mask, to: payload) }
    input.consume(header.size + header.length)
    switch header.opcode {
    case .ping:
      if answersPings { answerPing(payload) }
      return .event(.ping(payload))
    case .pong: return .event(.pong(payload))
    default: return .event(try receiveClose(payload))
    }
  }

  /// RFC 6455 section 5.5.1; the answer repeats the code.
  private func receiveClose(_ payload: ByteView) throws(WebSocketError) -> WebSocketEvent {
    var code: CloseCode?
    var reason = ""
    if payload.count > 0 {
      guard payload.count >= 2 else { throw .closePayloadTooShort }
      let received = CloseCode(rawValue: UInt16(payload[0]) << 8 | UInt16(payload[1]))
      guard received.isValidOnWire else { throw .invalidCloseCode(received.rawValue) }
      let text = payload[2..<payload.count]
      guard UTF8Validator.isValid(text) else { throw .closeReasonNotUTF8 }
      code = received
      reason = text.text
    }
    sendClose(code, reason: "")
    state = .closed
    closeReceived = (code, reason)
    return .closed(code, reason: reason)
  }

  private func fail(_ error: WebSocketError) -> WebSocketEvent {
    if error.closeCode.isValidOnWire { sendClose(error.closeCode, reason: error.description) }
    state = .closed
    return .failed(error)
  }
}

/// Sends messages; each call returns `false`, and sends nothing, after a close frame was sent.
extension WebSocketConnection {
  /// The text must be UTF-8 and must not lie in the output.
  @discardableResult
  package func send(text: ByteView) -> Bool { unsafe send(.text, text.raw) }

  @discardableResult package func send(text: String) -> Bool {
    var text = text
    return text.withUTF8 { unsafe send(.text, UnsafeRawBufferPointer($0)) }
  }

  @discardableResult package func send(binary: [UInt8]) -> Bool {
    unsafe binary.withUnsafeBytes { unsafe send(.binary, $0) }
  }

  private func send(_ opcode: Opcode, _ payload: UnsafeRawBufferPointer) -> Bool {
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

  /// Sends a frame that ``FrameEncoder`` wrote in advance, for many clients at once.
  @discardableResult package func send(encodedFrame frame: ByteView) -> Bool {
    precondition(role == .server, "a client's frames are masked one by one")
    guard !hasClosed else { return false }
    output.append(frame)
    return true
  }

  /// The payload has at most 125 bytes, as in ``pong(_:)``.
  @discardableResult
  package func ping(_ payload: [UInt8] = []) -> Bool { sendControl(.ping, payload) }

  /// Sends an unsolicited pong; pings are answered without it.
  @discardableResult
  package func pong(_ payload: [UInt8] = []) -> Bool { sendControl(.pong, payload) }

  private func sendControl(_ opcode: Opcode, _ payload: [UInt8]) -> Bool {
    precondition(payload.count <= 125, "a control frame holds at most 125 bytes")
    guard !hasClosed else { return false }
    sendFrame(opcode, payload)
    return true
  }

  /// Pings are answered even after our own close frame (RFC 6455 section 5.5.2).
  private func answerPing(_ payload: ByteView) {
    guard output.count <= Self.pongThreshold else {
      // Section 5.5.3: of several pings only the latest need be answered.
      owedPong = payload.array
      return
    }
    owedPong = nil
    FrameEncoder.frame(.pong, payload: payload, mask: mask(), into: output)
  }

  /// Begins the close handshake; ``next()`` still returns messages until the peer's close frame.
  ///
  /// A code that is illegal on the wire, such as ``CloseCode/abnormal``, is left out, and the
  /// reason is cut to 123 bytes. A second call does nothing.
  package func close(_ code: CloseCode = .normal, reason: String = "") {
    guard state == .open else { return }
    state = .closing
    sendClose(code, reason: reason)
  }

  private func sendClose(_ code: CloseCode?, reason: String) {
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
    sendFrame(.close, payload)
  }

  private func sendFrame(_ opcode: Opcode, _ payload: [UInt8]) {
    FrameEncoder.frame(opcode, payload: payload, mask: mask(), into: output)
  }

  private func mask() -> UInt32? {
    role == .client ? UInt32(truncatingIfNeeded: random.next()) : nil
  }
}

/// Assembles messages that are fragmented or compressed.
///
/// Each piece is inflated, measured and checked on arrival, so that the first bad byte fails at
/// once (RFC 6455 sections 5.4 and 8.1, RFC 7692 section 6.2).
private struct MessageAssembler: ~Copyable {
  private let limit: Int
  private let incoming: PerMessageDeflate.Direction?
  /// Created with the first message that needs it; most connections never do.
  private var buffer: ByteBuffer?
  private var inflater: Inflater?
  private var opcode: Opcode?
  private var isCompressed = false
  private var validator = UTF8Validator()

  init(limit: Int, incoming: PerMessageDeflate.Direction?) {
    (self.limit, self.incoming) = (limit, incoming)
  }

  var isInProgress: Bool { opcode != nil }

  /// True while a finished message is not dropped yet.
  var holdsMessage: Bool { opcode == nil && buffer?.isEmpty == false }

  mutating func begin(_ opcode: Opcode, isCompressed: Bool) {
    (self.opcode, self.isCompressed) = (opcode, isCompressed)
    validator = UTF8Validator()
  }

  /// Compressed payload is checked later.
  func checkRoom(for length: Int) throws(WebSocketError) {
    guard !isCompressed, length > limit - (buffer?.count ?? 0) else { return }
    throw .messageTooLarge(limit: limit)
  }

  mutating func append(_ piece: ByteView) throws(WebSocketError) {
    let message = messageBuffer()
    let before = message.count
    if isCompressed {
      do {
        try messageInflater().inflate(piece, into: message, limit: limit)
      } catch {
        // The bytes inflated before this failure may hold an earlier one.
        try validate(from: before)
        throw Self.failure(error)
      }
    } else {
      message.append(piece)
    }
    try validate(from: before)
  }

  /// Ends the message; the view is valid until ``reset()``.
  mutating func finish() throws(WebSocketError) -> WebSocketEvent {
    let message = messageBuffer()
    if isCompressed {
      let before = message.count
      do {
        try messageInflater().finishMessage(into: message, limit: limit)
      } catch {
        // The inflated bytes count first, as in a message that comes whole.
        try validate(from: before)
        throw Self.failure(error)
      }
      if incoming?.takesContextOver == false { inflater?.reset() }
      try validate(from: before)
    }
    let isText = opcode == .text
    opcode = nil
    guard isText else { return .binary(message.view) }
    guard validator.isComplete else { throw .invalidUTF8 }
    return .text(message.view)
  }

  /// Inflates a message of one compressed frame; the view is valid until ``reset()``.
  mutating func inflate(
    _ opcode: Opcode, whole payload: ByteView
  ) throws(WebSocketError) -> WebSocketEvent {
    let message = messageBuffer()
    let inflater = messageInflater()
    do {
      try inflater.inflateMessage(payload, into: message, limit: limit)
    } catch {
      // The bytes inflated before this failure may hold an earlier one.
      validator = UTF8Validator()
      guard opcode != .text || validator.feed(message.view) else { throw .invalidUTF8 }
      throw Self.failure(error)
    }
    if incoming?.takesContextOver == false { inflater.reset() }
    guard opcode == .text else { return .binary(message.view) }
    guard UTF8Validator.isValid(message.view) else { throw .invalidUTF8 }
    return .text(message.view)
  }

  mutating func reset() { buffer?.removeAll() }

  private mutating func validate(from start: Int) throws(WebSocketError) {
    guard opcode == .text, let message = buffer else { return }
    guard validator.feed(message.view[start..<message.count]) else { throw .invalidUTF8 }
  }

  private mutating func messageBuffer() -> ByteBuffer {
    let made = buffer ?? ByteBuffer(capacity: 65_536)
    buffer = made
    return made
  }

  private mutating func messageInflater() -> Inflater {
    let made = inflater ?? Inflater(windowBits: incoming?.windowBits ?? 15)
    inflater = made
    return made
  }

  private static func failure(_ failure: Inflater.Failure) -> WebSocketError {
    switch failure {
    case .invalidData: .invalidCompressedData
    case .outputLimit(let limit): .messageTooLarge(limit: limit)
    }
  }
}

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
