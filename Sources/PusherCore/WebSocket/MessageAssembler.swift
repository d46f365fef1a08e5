/// Assembles messages that are fragmented or compressed.
///
/// Each piece is inflated, measured and checked on arrival, so that the first bad byte fails at
/// once (RFC 6455 sections 5.4 and 8.1, RFC 7692 section 6.2).
struct MessageAssembler: ~Copyable {
  private let limit: Int
  private let incoming: PerMessageDeflateParameters.Direction?
  /// Created with the first message that needs it; most connections never do.
  private var buffer: ByteBuffer?
  private var inflater: Inflater?
  private var opcode: Opcode?
  private var isCompressed = false
  private var validator = UTF8Validator()

  init(limit: Int, incoming: PerMessageDeflateParameters.Direction?) {
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
