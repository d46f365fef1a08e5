/// Reads a message's body: counted, chunked, or up to the connection's end (RFC 9112 section 6).
package struct HTTPBodyReader: Sendable {
  private enum Framing: Equatable {
    case counted(left: Int)
    case chunkSize
    case chunkData(left: Int)
    case chunkEnd
    case trailers(used: Int)
    case untilClose
    case complete
  }

  private static let lineLimit = 4096
  private static let trailerLimit = 65_536
  private var framing: Framing
  private let limit: Int
  private var received = 0

  /// Starts the body of a response to `requestMethod`, with at most `limit` bytes.
  ///
  /// Throws for both lengths at once, differing lengths, or an encoding other than chunked. Accepts
  /// chunks in HTTP/1.0, as curl and browsers do.
  package init(
    _ head: HTTPResponseHead, requestMethod: String, limit: Int = 16 << 20
  ) throws(HTTPError) {
    self.limit = limit
    if requestMethod == "HEAD" || head.status < 200 || head.status == 204 || head.status == 304 {
      framing = .complete
    } else {
      framing = try Self.framing(head.headers, allowsChunks: true) ?? .untilClose
      try checkCount()
    }
  }

  /// Starts the body of a request, empty unless a field gives a length; at most `limit` bytes.
  package init(_ head: HTTPRequestHead, limit: Int = 16 << 20) throws(HTTPError) {
    self.limit = limit
    // RFC 9112 section 6.1: HTTP/1.0 has no chunks, so the framing is faulty.
    framing = try Self.framing(head.headers, allowsChunks: head.minorVersion >= 1) ?? .complete
    try checkCount()
  }

  package var isComplete: Bool { framing == .complete }

  /// True if only the end of the connection ends the body.
  package var endsWithConnection: Bool { framing == .untilClose }

  /// Moves received bytes from `source` to `body`, drops trailers; returns true at the body's end.
  package mutating func read(
    from source: ByteBuffer, into body: ByteBuffer
  ) throws(HTTPError) -> Bool {
    while true {
      switch framing {
      case .complete: return true
      case .untilClose:
        _ = try move(Int.max, from: source, into: body)
        return false
      case .counted(let left):
        let rest = left - (try move(left, from: source, into: body))
        framing = rest == 0 ? .complete : .counted(left: rest)
        if rest > 0 { return false }
      case .chunkData(let left):
        let rest = moveChunks(left, from: source, into: body)
        framing = rest == 0 ? .chunkEnd : .chunkData(left: rest)
        if rest > 0 { return false }
      case .chunkSize, .chunkEnd, .trailers:
        guard try readLine(from: source) else { return false }
      }
    }
  }

  /// Completes a body without a length, else throws ``HTTPError/endedEarly``.
  package mutating func inputEnded() throws(HTTPError) {
    switch framing {
    case .complete: return
    case .untilClose: framing = .complete
    default: throw .endedEarly
    }
  }

  private mutating func move(
    _ most: Int, from source: ByteBuffer, into body: ByteBuffer
  ) throws(HTTPError) -> Int {
    let count = min(most, source.count)
    guard count <= limit - received else { throw .bodyTooLarge(limit: limit) }
    body.append(source.view[0..<count])
    source.consume(count)
    received += count
    return count
  }

  /// Moves the data of a chunk, and of chunks after it with usual heads; returns the missing rest.
  ///
  /// The size of each chunk was compared with the limit.
  private mutating func moveChunks(
    _ first: Int, from source: ByteBuffer, into body: ByteBuffer
  ) -> Int {
    let view = source.view
    body.reserve(view.count)
    var (left, place) = (first, 0)
    while true {
      let count = min(left, view.count &- place)
      unsafe body.tail.update(from: view.base + place, count: count)
      body.commit(count)
      received &+= count
      place &+= count
      left &-= count
      guard left == 0, let next = usualChunk(in: view, at: place) else { break }
      (left, place) = (next.size, next.place)
    }
    source.consume(place)
    return left
  }

  /// Parses a chunk's end with the next chunk's size, if both are complete and in the usual form.
  ///
  /// Returns that size and the place of its data. The reads may reach into the padding after the
  /// view; the last condition excludes that.
  @inline(__always)
  private func usualChunk(in view: ByteView, at start: Int) -> (size: Int, place: Int)? {
    let bytes = unsafe UnsafeRawPointer(view.base)
    let lineEnd: UInt16 = 0x0A0D
    guard unsafe bytes.loadUnaligned(fromByteOffset: start, as: UInt16.self) == lineEnd else {
      return nil
    }
    var size = 0
    var end = start &+ 2
    while end < start &+ 10, let digit = unsafe Hex.value(of: view.base[end]) {
      size = size &<< 4 | Int(digit)
      end &+= 1
    }
    guard size > 0, size <= limit &- received,
      unsafe bytes.loadUnaligned(fromByteOffset: end, as: UInt16.self) == lineEnd,
      end &+ 2 <= view.count
    else { return nil }
    return (size, end &+ 2)
  }

  private mutating func readLine(from source: ByteBuffer) throws(HTTPError) -> Bool {
    let view = source.view
    let most = min(view.count, Self.lineLimit)
    var end = 0
    while end < most, unsafe view.base[end] != 0x0A { end &+= 1 }
    guard end < Self.lineLimit else { throw .chunkLineTooLong(limit: Self.lineLimit) }
    guard end < view.count else { return false }
    guard end > 0, view[end - 1] == 0x0D else { throw .invalidChunk }
    let line = view[0..<end - 1]
    switch framing {
    case .chunkSize:
      let size = try chunkSize(line)
      framing = size == 0 ? .trailers(used: 0) : .chunkData(left: size)
    case .trailers(let used):
      guard used + end < Self.trailerLimit else {
        throw .trailersTooLarge(limit: Self.trailerLimit)
      }
      for index in 0..<line.count where !ASCII.isFieldValue(line[index]) { throw .invalidChunk }
      framing = line.isEmpty ? .complete : .trailers(used: used + end + 1)
    default:
      guard line.isEmpty else { throw .invalidChunk }
      framing = .chunkSize
    }
    source.consume(end + 1)
    return true
  }

  /// Parses a hexadecimal size; skips an extension after `;` (RFC 9112 section 7.1.1).
  private func chunkSize(_ line: ByteView) throws(HTTPError) -> Int {
    var size = 0
    var index = 0
    while index < line.count, let digit = Hex.value(of: line[index]) {
      guard size <= Int.max >> 5 else { throw .bodyTooLarge(limit: limit) }
      size = size << 4 | Int(digit)
      index += 1
    }
    guard index > 0 else { throw .invalidChunk }
    while index < line.count, line[index] == 0x20 || line[index] == 0x09 { index += 1 }
    guard index == line.count || line[index] == UInt8(ascii: ";") else { throw .invalidChunk }
    for rest in index..<line.count where !ASCII.isFieldValue(line[rest]) { throw .invalidChunk }
    guard size <= limit - received else { throw .bodyTooLarge(limit: limit) }
    return size
  }

  private func checkCount() throws(HTTPError) {
    guard case .counted(let count) = framing, count > limit else { return }
    throw .bodyTooLarge(limit: limit)
  }

  /// Returns the framing given by the fields; `nil` if they give none.
  private static func framing(
    _ headers: HTTPHeaders, allowsChunks: Bool
  ) throws(HTTPError) -> Framing? {
    let lengths = headers.all("Content-Length")
    guard headers["Transfer-Encoding"] == nil else {
      guard lengths.isEmpty else { throw .ambiguousBodyLength }
      guard allowsChunks, headers.tokens("Transfer-Encoding") == ["chunked"] else {
        throw .unsupportedTransferEncoding
      }
      return .chunkSize
    }
    guard !lengths.isEmpty else { return nil }
    // Nearly all messages have one number; parsing a list costs more.
    let isNumber = lengths.count == 1 && lengths[0].utf8.allSatisfy { $0 &- 0x30 < 10 }
    let values = isNumber ? lengths : headers.list("Content-Length")
    guard let first = values.first else { throw .invalidContentLength }
    for value in values {
      guard value.utf8.allSatisfy({ $0 &- 0x30 < 10 }) else { throw .invalidContentLength }
      guard value == first else { throw .conflictingContentLength }
    }
    guard let count = Int(first) else { throw .invalidContentLength }
    return count == 0 ? .complete : .counted(left: count)
  }
}

extension HTTPHeaders {
  /// Returns the decoder of a body with these fields; `nil` for a body without a coding.
  package func contentDecoder() throws(HTTPError) -> ContentDecoder? {
    let codings = tokens("Content-Encoding").filter { $0 != "identity" }
    guard let coding = codings.first else { return nil }
    guard codings.count == 1, let decoder = ContentDecoder(coding: coding) else {
      throw .unknownCoding(codings.joined(separator: ", "))
    }
    return decoder
  }

  /// Returns a received body without its content coding and its byte order mark.
  ///
  /// Servers compress answers unasked, and some do not say so. `body` may be cut; the result is
  /// cut at `limit` bytes if `isCut`, and is otherwise an error.
  package func decoded(_ body: [UInt8], limit: Int, isCut: Bool = false) throws(HTTPError)
    -> [UInt8]
  {
    var bytes = body
    let isUnnamed = body.starts(with: [0x1F, 0x8B, 0x08]) && self["Content-Encoding"] == nil
    if let decoder = isUnnamed ? ContentDecoder(coding: "gzip") : try contentDecoder() {
      let (input, output) = (ByteBuffer(capacity: body.count), ByteBuffer())
      input.append(body)
      do throws(ContentDecoder.InvalidData) {
        while output.count <= limit,
          try decoder.decode(from: input, into: output, atMost: 65_536)
        {}
      } catch { throw .invalidCoding }
      guard isCut || output.count <= limit else { throw .bodyTooLarge(limit: limit) }
      bytes = output.array
    }
    return bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
  }
}

extension HTTPRequestHead {
  /// True if the response may be gzip (RFC 9110 section 12.5.3); false without `Accept-Encoding`.
  package var takesGzip: Bool {
    var others = false
    for choice in headers.tokens("Accept-Encoding") {
      let parts = choice.split(separator: ";", maxSplits: 1).map { ASCII.trimmed($0) }
      let isWanted = parts.count == 1 || !Self.isZero(parts[1])
      switch parts.first {
      case "gzip", "x-gzip": return isWanted
      case "*": others = isWanted
      default: break
      }
    }
    return others
  }

  /// Returns whether a weight means "not acceptable": `q=0`, with at most three decimal zeros.
  private static func isZero(_ weight: String) -> Bool {
    ["q=0", "q=0.", "q=0.0", "q=0.00", "q=0.000"].contains { weight.isSame(as: $0) }
  }
}
