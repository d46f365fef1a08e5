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
  package internal(set) var state = State.open
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
  var sender: FrameSender
  private var assembler: MessageAssembler
  private var pending: PendingFrame?
  private var validator = UTF8Validator()
  private var inputHasEnded = false

  /// Maximum capacity that an empty input keeps, in bytes.
  private static let keptInput = 1 << 20

  /// - Parameters:
  ///   - deflate: The terms of the handshake.
  ///   - random: Draws masks; must be unpredictable for a client.
  ///   - input: May hold bytes that came with the handshake.
  package init(
    role: Role, deflate: PerMessageDeflateParameters? = nil,
    limits: WebSocketLimits = WebSocketLimits(), random: any RandomNumberGenerator,
    input: ByteBuffer? = nil
  ) {
    (self.role, self.limits) = (role, limits)
    self.input = input ?? ByteBuffer()
    // A server has thousands of connections, most of them idle.
    output = ByteBuffer(capacity: role == .server ? 256 : 4096)
    readableWindowBits = deflate?.outgoing(from: role).windowBits
    shortPathLimit = min(limits.frame, limits.message)
    mayTakeShortPath = role == .client
    sender = FrameSender(
      output: output, isClient: role == .client, outgoing: deflate?.outgoing(from: role),
      random: random)
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
    sender.answerOwedPing()
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
    if let mask = header.mask { FrameMask.apply(mask, to: fresh, offset: frame.done) }
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
    if let mask = header.mask { FrameMask.apply(mask, to: piece, offset: frame.done) }
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
    if let mask = header.mask { FrameMask.apply(mask, to: payload) }
    input.consume(header.length)
    return .event(try assembler.inflate(header.opcode, whole: payload))
  }

  private func receiveControl(_ header: FrameHeader) throws(WebSocketError) -> Step {
    let payload = input.view[header.size..<header.size + header.length]
    if let mask = header.mask { FrameMask.apply(mask, to: payload) }
    input.consume(header.size + header.length)
    switch header.opcode {
    case .ping:
      if answersPings { sender.answerPing(payload) }
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
    sender.close(code, reason: "")
    state = .closed
    closeReceived = (code, reason)
    return .closed(code, reason: reason)
  }

  private func fail(_ error: WebSocketError) -> WebSocketEvent {
    if error.closeCode.isValidOnWire { sender.close(error.closeCode, reason: error.description) }
    state = .closed
    return .failed(error)
  }
}

/// Sends messages; each call returns `false`, and sends nothing, after a close frame was sent.
extension WebSocketConnection {
  /// The text must be UTF-8 and must not lie in the output.
  @discardableResult
  package func send(text: ByteView) -> Bool { unsafe sender.send(.text, text.raw) }

  @discardableResult package func send(text: String) -> Bool {
    var text = text
    return text.withUTF8 { unsafe sender.send(.text, UnsafeRawBufferPointer($0)) }
  }

  /// The bytes must not lie in the output.
  @discardableResult
  package func send(binary: ByteView) -> Bool { unsafe sender.send(.binary, binary.raw) }

  @discardableResult package func send(binary: [UInt8]) -> Bool {
    unsafe binary.withUnsafeBytes { unsafe sender.send(.binary, $0) }
  }

  /// Sends a frame that ``FrameEncoder`` wrote in advance, for many clients at once.
  @discardableResult
  package func send(encodedFrame frame: ByteView) -> Bool { sender.sendEncoded(frame) }

  /// The payload has at most 125 bytes, as in ``pong(_:)``.
  @discardableResult
  package func ping(_ payload: [UInt8] = []) -> Bool { sender.sendControl(.ping, payload) }

  /// Sends an unsolicited pong; pings are answered without it.
  @discardableResult
  package func pong(_ payload: [UInt8] = []) -> Bool { sender.sendControl(.pong, payload) }

  /// Begins the close handshake; ``next()`` still returns messages until the peer's close frame.
  ///
  /// A code that is illegal on the wire, such as ``CloseCode/abnormal``, is left out, and the
  /// reason is cut to 123 bytes. A second call does nothing.
  package func close(_ code: CloseCode = .normal, reason: String = "") {
    guard state == .open else { return }
    state = .closing
    sender.close(code, reason: reason)
  }
}
