internal import CSystemHiredis
package import PusherCore

/// The answer to a command, or the reason for the lack of one.
package typealias RedisResult = Result<RedisReply, RedisFailure>

/// One answer or push message of Redis, in version 2 of its protocol.
///
/// Source: Redis's page "RESP protocol specification".
package enum RedisReply: Sendable, Equatable {
  case status(String)
  /// An error, such as `WRONGTYPE Operation against a key …`; its first word is the ``errorCode``.
  case error(String)
  case integer(Int64)
  case bytes([UInt8])
  /// A null bulk string or a null array.
  case null
  case array([RedisReply])

  /// The bytes of a bulk string or a simple string.
  package var content: [UInt8]? {
    switch self {
    case .bytes(let bytes): bytes
    case .status(let text): Array(text.utf8)
    case .error, .integer, .null, .array: nil
    }
  }

  package var text: String? { content.map { String(decoding: $0, as: UTF8.self) } }

  package var integer: Int64? { if case .integer(let number) = self { number } else { nil } }

  /// The first word of an error, such as `NOAUTH`, cut to 40 bytes; `nil` for any other reply.
  package var errorCode: String? {
    guard case .error(let text) = self else { return nil }
    let word = text.utf8.prefix { $0 != UInt8(ascii: " ") }
    return String(decoding: word.prefix(40), as: UTF8.self)
  }

  /// True if the server is a read-only replica; older servers say so inside the error of a script.
  var saysReadOnly: Bool {
    guard case .error(let text) = self else { return false }
    return isError("READONLY") || isError("ERR") && text.holds("-READONLY ")
  }

  func isError(_ code: String) -> Bool { errorCode?.isSame(as: code) ?? false }
}

/// Error of the link to Redis, or of one command; no text contains a password.
package enum RedisFailure: Error, Sendable, Equatable, CustomStringConvertible {
  case down
  case closed
  case transport(String, TransportError)
  case ended(String)
  /// The connection that carries messages was lost; with the failure in words.
  case messagesLost(String)
  case noAnswer(String, Duration)
  /// The server at this place rejects the credentials or requires some; with the code of its error.
  case credentials(String, code: String)
  /// The server at this place refused a command; with its error.
  case refused(String, command: String, error: String)
  case violation(String, String)
  /// The server at this place exceeded a limit; the text names the limit.
  case limit(String, String)
  /// The queue or the command exceeds a limit; the text names the limit.
  case overloaded(String)
  case notPrimary(String)
  /// No Sentinel knows a primary of this name; with the reason of the last Sentinel.
  case noPrimary(String, reason: String)

  package var description: String {
    switch self {
    case .down: "not connected to Redis"
    case .closed: "the link to Redis was closed"
    case .transport(let place, let error): "Redis at \(place): \(error)"
    case .ended(let place): "Redis at \(place) closed the connection"
    case .messagesLost(let reason):
      "\(reason) for messages, as it does above its client-output-buffer-limit pubsub"
    case .noAnswer(let place, let time): "Redis at \(place) did not answer for \(time.inWords)"
    case .credentials(let place, let code):
      code.isSame(as: "NOAUTH")
        ? "Redis at \(place) requires a password: add it to the URL"
        : "Redis at \(place) rejected the user or the password (\(code))"
    case .refused(let place, let command, let error):
      "Redis at \(place) refused \(command): \(error)"
    case .violation(let place, let what): "Redis at \(place) broke the protocol: \(what)"
    case .limit(let place, let what): "Redis at \(place): \(what)"
    case .overloaded(let what): "the queue to Redis is full: \(what)"
    case .notPrimary(let place): "Redis at \(place) is a replica, not a primary"
    case .noPrimary(let name, let reason): "no Sentinel knows a primary '\(name)': \(reason)"
    }
  }
}

extension RedisReply {
  /// Text of an error, as a message may show it: visible ASCII, 200 bytes at most, without
  /// `secret`.
  func words(without secret: RedisPassword?) -> String {
    guard case .error(let text) = self else { return "an unexpected answer" }
    var bytes = Array(text.utf8)
    if let secret = secret.map({ Array($0.text.utf8) }), !secret.isEmpty,
      bytes.count >= secret.count
    {
      for start in 0...(bytes.count - secret.count)
      where bytes[start..<(start + secret.count)].elementsEqual(secret) {
        bytes.replaceSubrange(
          start..<(start + secret.count),
          with: repeatElement(UInt8(ascii: "*"), count: secret.count))
      }
    }
    let visible = bytes.prefix(200).map { (0x20..<0x7F).contains($0) ? $0 : UInt8(ascii: "?") }
    return String(decoding: visible, as: UTF8.self)
  }
}

/// Parses the bytes of a Redis connection into replies, with hiredis's reader and our limits.
///
/// It builds replies in Swift while hiredis walks the bytes, so hiredis allocates only its buffer.
/// The pointers are safe: only this object owns them, and it frees them in `deinit`. hiredis calls
/// back only from inside a call of this object.
@safe package final class RedisReader {
  package struct Limits: Sendable, Equatable {
    /// Maximum size of one bulk string, and of the whole reply, in bytes.
    package var bytes = 64 << 20
    package var elements = 1_000_000
    /// Maximum size of a line (a simple string, an error, a length), in bytes.
    package var line = 64 << 10

    package init() {}
  }

  private let reader: UnsafeMutablePointer<redisReader>
  private let functions: UnsafeMutablePointer<redisReplyObjectFunctions>
  private let builder: RedisReplyBuilder
  private let place: String
  private let limits: Limits
  private var failure: RedisFailure?

  /// - Parameter place: Names the server in errors.
  package init(of place: String, limits: Limits = Limits()) {
    (self.place, self.limits) = (place, limits)
    builder = RedisReplyBuilder(of: place, limits)
    unsafe functions = .allocate(capacity: 1)
    unsafe functions.initialize(to: RedisReplyBuilder.functions)
    guard let reader = unsafe redisReaderCreateWithFunctions(functions) else {
      preconditionFailure("hiredis is out of memory")
    }
    unsafe self.reader = reader
    unsafe reader.pointee.privdata = Unmanaged.passUnretained(builder).toOpaque()
  }

  deinit {
    unsafe redisReaderFree(reader)
    unsafe functions.deinitialize(count: 1)
    unsafe functions.deallocate()
  }

  /// Maximum number of bytes in one call; hiredis moves the rest of its buffer each time.
  package static let portion = 16 << 10

  /// Takes at most ``portion`` bytes; call ``next()`` for all replies before the next call.
  package func feed(_ bytes: ByteView) {
    guard failure == nil, !bytes.isEmpty else { return }
    precondition(bytes.count <= Self.portion, "fed more than a portion")
    let text = unsafe UnsafeRawPointer(bytes.base).assumingMemoryBound(to: CChar.self)
    let result = unsafe redisReaderFeed(reader, text, bytes.count)
    if result != REDIS_OK { failure = .limit(place, "out of memory for a reply") }
  }

  package func next() throws(RedisFailure) -> RedisReply? {
    if let failure { throw failure }
    do throws(RedisFailure) {
      var object: UnsafeMutableRawPointer?
      let result = unsafe redisReaderGetReply(reader, &object)
      if let failure = builder.failure { throw failure }
      guard result == REDIS_OK else { throw .violation(place, words) }
      guard unsafe object != nil else {
        try checkWaiting()
        return nil
      }
      guard let reply = builder.take() else {
        throw .violation(
          place, "it sent a type of reply that version 2 of the protocol does not have")
      }
      return reply
    } catch {
      failure = error
      throw error
    }
  }

  /// hiredis's description of the error, which quotes one byte at most.
  private var words: String {
    let text = unsafe withUnsafeBytes(of: reader.pointee.errstr) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
    return String(text.unicodeScalars.filter { $0.isASCII && $0.value >= 0x20 })
  }

  /// Checks the first line of an incomplete reply, and the length that it announces.
  private func checkWaiting() throws(RedisFailure) {
    let count = unsafe Int(reader.pointee.len) - Int(reader.pointee.pos)
    guard count > 0, let buffer = unsafe reader.pointee.buf else { return }
    let start = unsafe UnsafeRawPointer(buffer) + Int(reader.pointee.pos)
    let head = unsafe UnsafeRawBufferPointer(start: start, count: min(count, limits.line))
    guard let end = unsafe Self.endOfLine(head) else {
      guard count < limits.line else {
        throw .limit(place, "a line of a reply is longer than \(limits.line >> 10) KiB")
      }
      return
    }
    let digits = unsafe String(decoding: head[..<end], as: UTF8.self)
    if let length = Int(digits) { try builder.check(bytes: length) }
  }

  /// Returns the place of the first CR LF; a CR alone ends no line.
  private static func endOfLine(_ bytes: UnsafeRawBufferPointer) -> Int? {
    var start = 0
    while let place = unsafe bytes[start...].firstIndex(of: UInt8(ascii: "\r")) {
      guard place + 1 < bytes.count else { return nil }
      if unsafe bytes[place + 1] == UInt8(ascii: "\n") { return place }
      start = place + 1
    }
    return nil
  }
}

/// Builds a reply from hiredis's parts, and refuses parts above a limit before they take memory.
private final class RedisReplyBuilder {
  private let place: String
  private let limits: RedisReader.Limits
  private var open: [(missing: Int, elements: [RedisReply])] = []
  private var done: RedisReply?
  private var bytes = 0
  private var elements = 0
  private(set) var failure: RedisFailure?

  init(of place: String, _ limits: RedisReader.Limits) {
    (self.place, self.limits) = (place, limits)
  }

  func take() -> RedisReply? {
    defer {
      open = []
      done = nil
      bytes = 0
      elements = 0
    }
    return open.isEmpty ? done : nil
  }

  /// Throws an error if this number of further bytes exceeds the limit of the reply.
  func check(bytes more: Int) throws(RedisFailure) {
    guard more <= limits.bytes - bytes else {
      throw .limit(place, "a reply is larger than \(limits.bytes >> 20) MiB")
    }
  }

  private func add(_ reply: RedisReply) -> Bool {
    var reply = reply
    while let last = open.indices.last {
      open[last].elements.append(reply)
      open[last].missing -= 1
      if open[last].missing > 0 { return true }
      reply = .array(open.removeLast().elements)
    }
    done = reply
    return true
  }

  private func add(_ text: UnsafeRawBufferPointer, type: Int32) -> Bool {
    do throws(RedisFailure) {
      try check(bytes: text.count)
    } catch {
      failure = error
      return false
    }
    bytes += text.count
    switch type {
    case REDIS_REPLY_STATUS: return add(.status(unsafe String(decoding: text, as: UTF8.self)))
    case REDIS_REPLY_ERROR: return add(.error(unsafe String(decoding: text, as: UTF8.self)))
    default: return add(.bytes(unsafe [UInt8](text)))
    }
  }

  private func open(count: Int) -> Bool {
    guard count <= limits.elements - elements else {
      failure = .limit(place, "a reply has more than \(limits.elements) elements")
      return false
    }
    elements += count
    if count == 0 { return add(.array([])) }
    open.append((count, []))
    return true
  }

  // MARK: Callbacks of hiredis

  /// Stands for the built object; hiredis never looks inside.
  private static func object(_ isMade: Bool) -> UnsafeMutableRawPointer? {
    unsafe isMade ? UnsafeMutableRawPointer(bitPattern: 1) : nil
  }

  private static func of(_ task: UnsafePointer<redisReadTask>?) -> RedisReplyBuilder? {
    guard let owner = unsafe task?.pointee.privdata else { return nil }
    return unsafe Unmanaged<RedisReplyBuilder>.fromOpaque(owner).takeUnretainedValue()
  }

  /// Callbacks with which hiredis builds replies; a callback without memory ends the program.
  static var functions: redisReplyObjectFunctions {
    var functions = redisReplyObjectFunctions()
    unsafe functions.createString = { task, text, count in
      let bytes = unsafe UnsafeRawBufferPointer(start: text, count: Int(count))
      let type = unsafe task?.pointee.type ?? 0
      let isMade = unsafe RedisReplyBuilder.of(task)?.add(bytes, type: type) ?? false
      return unsafe RedisReplyBuilder.object(isMade)
    }
    // The number's type differs between versions of hiredis.
    unsafe functions.createArray = { task, count in
      let isMade = unsafe RedisReplyBuilder.of(task)?.open(count: Int(count)) ?? false
      return unsafe RedisReplyBuilder.object(isMade)
    }
    unsafe functions.createInteger = { task, number in
      unsafe RedisReplyBuilder.object(
        RedisReplyBuilder.of(task)?.add(.integer(Int64(number))) ?? false)
    }
    unsafe functions.createNil = { task in
      unsafe RedisReplyBuilder.object(RedisReplyBuilder.of(task)?.add(.null) ?? false)
    }
    unsafe functions.freeObject = { _ in }
    return functions
  }
}
