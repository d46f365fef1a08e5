package struct HTTPHeadLimits: Sendable, Equatable {
  /// Maximum size of the head with its empty line, in bytes.
  package var bytes: Int
  package var headers: Int

  package init(bytes: Int = 65_536, headers: Int = 256) {
    (self.bytes, self.headers) = (bytes, headers)
  }
}

/// Parses request and response heads (RFC 9112 sections 2 to 5) in place.
///
/// Requests are parsed strictly, because two lenient readers may see different messages (section
/// 11.2): lines that end with LF alone and folded fields are errors. In responses both are
/// accepted, as in curl and Node (sections 2.2 and 5.2). A value of this type scans a head that
/// comes byte by byte only once.
package struct HTTPHeadParser: Sendable {
  private let limits: HTTPHeadLimits
  private var scanned = 0

  package init(limits: HTTPHeadLimits = HTTPHeadLimits()) { self.limits = limits }

  /// Takes one response head off the front of `buffer`; `nil` while it is incomplete.
  ///
  /// Between calls that return `nil`, only append to `buffer`.
  package mutating func response(from buffer: ByteBuffer) throws(HTTPError) -> HTTPResponseHead? {
    guard let length = try headLength(buffer, isStrict: false) else { return nil }
    let head = buffer.view[0..<length]
    let (line, next) = Self.line(of: head, from: 0)
    guard line.count >= 12, line.begins(with: "HTTP/"), line[8] == 0x20 else {
      throw .invalidStatusLine
    }
    let minor = try Self.minorVersion(line[0..<8], else: .invalidStatusLine)
    var status = 0
    for index in 9..<12 {
      guard let digit = Self.digit(line[index]) else { throw .invalidStatusLine }
      status = status * 10 + digit
    }
    guard status >= 100, line.count == 12 || line[12] == 0x20 else { throw .invalidStatusLine }
    let reason = line[min(13, line.count)..<line.count]
    for index in 0..<reason.count where !ASCII.isFieldValue(reason[index]) {
      throw .invalidStatusLine
    }
    let headers = try fields(head[next..<length], unfolds: true)
    var result = HTTPResponseHead(status: status, reason: reason.text, headers: headers)
    result.minorVersion = minor
    buffer.consume(length)
    return result
  }

  /// Like ``response(from:)``, but skips interim responses (RFC 9110 section 15.2); 101 is final.
  package mutating func finalResponse(
    from buffer: ByteBuffer
  ) throws(HTTPError) -> HTTPResponseHead? {
    while let head = try response(from: buffer) {
      if head.status == 101 || !(100..<200).contains(head.status) { return head }
    }
    return nil
  }

  /// Takes one request head off the front of `buffer`, like ``response(from:)``.
  package mutating func request(from buffer: ByteBuffer) throws(HTTPError) -> HTTPRequestHead? {
    // Skips empty lines before a request (RFC 9112 section 2.2).
    while scanned == 0, buffer.view.begins(with: "\r\n") { buffer.consume(2) }
    if scanned == 0, buffer.count == 1, buffer.view[0] == 0x0D { return nil }
    guard let length = try headLength(buffer, isStrict: true) else { return nil }
    let head = buffer.view[0..<length]
    let (line, next) = Self.line(of: head, from: 0)
    guard let first = Self.index(of: 0x20, in: line, from: 0),
      let second = Self.index(of: 0x20, in: line, from: first + 1),
      line.count - second - 1 == 8, first > 0, second > first + 1
    else { throw .invalidRequestLine }
    for index in 0..<first where !ASCII.isToken(line[index]) { throw .invalidRequestLine }
    for index in first + 1..<second where !ASCII.isVisible(line[index]) {
      throw .invalidRequestLine
    }
    let minor = try Self.minorVersion(line[second + 1..<line.count], else: .invalidRequestLine)
    let headers = try fields(head[next..<length], unfolds: false)
    let result = HTTPRequestHead(
      method: line[0..<first].text, target: line[first + 1..<second].text, headers: headers,
      minorVersion: minor)
    buffer.consume(length)
    return result
  }

  private mutating func headLength(_ buffer: ByteBuffer, isStrict: Bool) throws(HTTPError) -> Int? {
    let bytes = buffer.view
    let end = min(bytes.count, limits.bytes)
    while let index = Self.index(of: 0x0A, in: bytes[0..<end], from: scanned) {
      scanned = index + 1
      let hasReturn = index > 0 && bytes[index - 1] == 0x0D
      guard hasReturn || !isStrict else { throw .bareLineFeed }
      let lineEnd = hasReturn ? index - 1 : index
      guard lineEnd > 0, bytes[lineEnd - 1] == 0x0A else { continue }
      scanned = 0
      return index + 1
    }
    scanned = end
    guard bytes.count < limits.bytes else { throw .headTooLarge(limit: limits.bytes) }
    return nil
  }

  private func fields(_ lines: ByteView, unfolds: Bool) throws(HTTPError) -> HTTPHeaders {
    var headers = HTTPHeaders()
    var name: String?
    var value = ""
    var start = 0
    while true {
      let (line, next) = Self.line(of: lines, from: start)
      start = next
      if line.count > 0, line[0] == 0x20 || line[0] == 0x09 {
        guard unfolds, name != nil else { throw .obsoleteLineFolding }
        let more = try Self.value(line)
        if !value.isEmpty && !more.isEmpty { value += " " }
        value += more
        continue
      }
      if let name { headers.append(name, value) }
      guard line.count > 0 else { return headers }
      guard headers.count < limits.headers else { throw .tooManyHeaders(limit: limits.headers) }
      guard let colon = Self.index(of: UInt8(ascii: ":"), in: line, from: 0), colon > 0 else {
        throw .invalidHeader
      }
      for index in 0..<colon where !ASCII.isToken(line[index]) { throw .invalidHeader }
      name = line[0..<colon].text
      value = try Self.value(line[colon + 1..<line.count])
    }
  }

  private static func value(_ bytes: ByteView) throws(HTTPError) -> String {
    for index in 0..<bytes.count where !ASCII.isFieldValue(bytes[index]) { throw .invalidHeader }
    return ASCII.trimmed(bytes.text[...])
  }

  private static func minorVersion(
    _ version: ByteView, else malformed: HTTPError
  ) throws(HTTPError) -> Int {
    guard version.begins(with: "HTTP/"), version[6] == UInt8(ascii: "."),
      let major = digit(version[5]), let minor = digit(version[7])
    else { throw malformed }
    guard major == 1 else { throw .unsupportedVersion }
    return min(minor, 1)
  }

  /// Returns the line from `start`, without its CR LF or LF, and the start of the next line.
  private static func line(of bytes: ByteView, from start: Int) -> (ByteView, next: Int) {
    let end = index(of: 0x0A, in: bytes, from: start) ?? bytes.count
    let hasReturn = end > start && bytes[end - 1] == 0x0D
    return (bytes[start..<(hasReturn ? end - 1 : end)], min(end + 1, bytes.count))
  }

  private static func index(of byte: UInt8, in bytes: ByteView, from start: Int) -> Int? {
    var index = start
    // Each index lies inside the view, so the view's own check can be left out.
    while index < bytes.count {
      if unsafe bytes.base[index] == byte { return index }
      index &+= 1
    }
    return nil
  }

  private static func digit(_ byte: UInt8) -> Int? { byte &- 0x30 < 10 ? Int(byte &- 0x30) : nil }
}
