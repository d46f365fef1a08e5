/// A request's line and fields (RFC 9112 section 3).
package struct HTTPRequestHead: Sendable, Equatable {
  package var method: String
  /// A path with query, a whole URI, or `*`.
  package var target: String
  package var headers: HTTPHeaders
  /// 1 for HTTP/1.1, 0 for HTTP/1.0.
  package var minorVersion: Int

  package init(
    method: String, target: String, headers: HTTPHeaders = HTTPHeaders(), minorVersion: Int = 1
  ) {
    (self.method, self.target) = (method, target)
    (self.headers, self.minorVersion) = (headers, minorVersion)
  }

  /// Returns the head's bytes, with the empty line.
  ///
  /// Throws ``HTTPError/invalidPart(_:)`` for a part that could begin another field or request.
  package func encode() throws(HTTPError) -> [UInt8] {
    guard ASCII.isToken(method) else { throw .invalidPart("request method") }
    guard !target.isEmpty, target.utf8.allSatisfy(ASCII.isVisible) else {
      throw .invalidPart("request target")
    }
    return try headers.encode(after: "\(method) \(target) HTTP/1.\(minorVersion)\r\n")
  }
}

/// A response's status line and fields (RFC 9112 section 4).
package struct HTTPResponseHead: Error, Equatable {
  package var status: Int
  package var reason: String
  package var headers: HTTPHeaders
  /// 1 for HTTP/1.1, 0 for HTTP/1.0.
  package var minorVersion = 1

  package init(status: Int, reason: String, headers: HTTPHeaders = HTTPHeaders()) {
    (self.status, self.reason, self.headers) = (status, reason, headers)
  }

  package var isSuccess: Bool { 200..<300 ~= status }

  package func retryAfter(at now: WallTime) -> Duration? {
    headers["Retry-After"].flatMap { HTTPDate.wait($0, now: now) }
  }

  /// Returns the head's bytes, with the empty line; throws like ``HTTPRequestHead/encode()``.
  package func encode() throws(HTTPError) -> [UInt8] {
    guard (100...999).contains(status) else { throw .invalidPart("status") }
    guard reason.utf8.allSatisfy(ASCII.isFieldValue) else { throw .invalidPart("reason") }
    return try headers.encode(after: "HTTP/1.\(minorVersion) \(status) \(reason)\r\n")
  }
}

extension HTTPHeaders {
  fileprivate func encode(after startLine: String) throws(HTTPError) -> [UInt8] {
    let bytes = ByteBuffer(capacity: 512)
    bytes.append(startLine)
    for field in fields {
      let nameStart = bytes.count
      bytes.append(field.name)
      guard ASCII.isToken(bytes.view[nameStart..<bytes.count]) else {
        throw .invalidPart("header name")
      }
      bytes.append(": " as StaticString)
      let valueStart = bytes.count
      bytes.append(field.value)
      guard ASCII.isFieldValue(bytes.view[valueStart..<bytes.count]) else {
        throw .invalidPart("value of header \(field.name)")
      }
      bytes.append("\r\n" as StaticString)
    }
    bytes.append("\r\n" as StaticString)
    return bytes.array
  }
}

package enum HTTPStatus {
  /// Returns whether a later retry may succeed (RFC 9110 section 15.6); 501 and 505 are permanent.
  package static func isTemporary(_ status: Int) -> Bool {
    switch status {
    case 408, 425, 429: true
    case 501, 505: false
    default: status >= 500
    }
  }
}

/// The fields of a head in order (RFC 9110 section 5); names ignore case.
package struct HTTPHeaders: Sendable, Equatable {
  package struct Field: Sendable, Equatable {
    package let name: String
    package let value: String
  }

  package private(set) var fields: [Field] = []

  package init(_ pairs: [(String, String)] = []) {
    for (name, value) in pairs { append(name, value) }
  }

  package var count: Int { fields.count }

  package mutating func append(_ name: String, _ value: String) {
    // Few heads have more fields, and a longer array would move all of them.
    if fields.isEmpty { fields.reserveCapacity(12) }
    fields.append(Field(name: name, value: value))
  }

  package mutating func replace(_ name: String, with value: String) {
    remove(name)
    append(name, value)
  }

  package mutating func remove(_ name: String) {
    fields.removeAll { ASCII.equalIgnoringCase($0.name, name) }
  }

  package subscript(name: String) -> String? {
    fields.first { ASCII.equalIgnoringCase($0.name, name) }?.value
  }

  package func all(_ name: String) -> [String] {
    // Without a list of the fields in between: every request asks for several names.
    var values: [String] = []
    for field in fields where ASCII.equalIgnoringCase(field.name, name) {
      values.append(field.value)
    }
    return values
  }

  /// Returns the non-empty members of comma-separated lists, over all fields of this name,
  /// lower-cased.
  package func tokens(_ name: String) -> [String] { list(name).map { $0.lowercased() } }

  /// Returns the members of a comma-separated list as written, over all fields of this name.
  package func list(_ name: String) -> [String] { all(name).flatMap(Self.list(in:)) }

  private static func list(in value: String) -> [String] {
    value.split(separator: ",").map { ASCII.trimmed($0) }.filter { !$0.isEmpty }
  }

  /// Returns whether ``tokens(_:)`` has `token`; a field is rarely a list, and then not split.
  package func has(_ token: String, in name: String) -> Bool {
    fields.contains {
      ASCII.equalIgnoringCase($0.name, name)
        && (ASCII.equalIgnoringCase($0.value, token)
          || Self.list(in: $0.value).contains { $0.lowercased() == token })
    }
  }
}

/// HTTP's rules for single characters (RFC 9110 section 5.6).
package enum ASCII {
  package static func equalIgnoringCase(_ left: String, _ right: String) -> Bool {
    left.isSame(as: right, by: { lowercased($0) == lowercased($1) })
  }

  /// Returns the text without the bytes at its ends that are blank: a space or a tab, or as given.
  package static func trimmed(
    _ text: Substring, of isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
  ) -> String {
    var bytes = text.utf8
    bytes = bytes.drop(while: isBlank)
    while let last = bytes.last, isBlank(last) { bytes.removeLast() }
    return String(Substring(bytes))
  }

  /// Returns whether a byte is allowed in a token: a method, a field name, a parameter.
  @inline(__always) static func isToken(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    case UInt8(ascii: "!"), UInt8(ascii: "#")...UInt8(ascii: "'"), UInt8(ascii: "*"),
      UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^"),
      UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
      true
    default: false
    }
  }

  static func isToken(_ bytes: ByteView) -> Bool {
    for index in 0..<bytes.count where !isToken(bytes[index]) { return false }
    return !bytes.isEmpty
  }

  package static func isToken(_ text: some StringProtocol) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { isToken($0) }
  }

  /// Returns whether a byte is allowed in a field value: no control character except tab.
  @inline(__always) static func isFieldValue(_ byte: UInt8) -> Bool {
    byte >= 0x20 ? byte != 0x7F : byte == 0x09
  }

  static func isFieldValue(_ bytes: ByteView) -> Bool {
    var index = 0
    while true {
      // Other allowed bytes are rare: tabs and text beyond ASCII.
      index = bytes.printableEnd(from: index)
      guard index < bytes.count else { return true }
      guard isFieldValue(bytes[index]) else { return false }
      index += 1
    }
  }

  /// Returns whether a byte is printable ASCII and not a blank, as in a request target.
  @inline(__always) static func isVisible(_ byte: UInt8) -> Bool { byte > 0x20 && byte < 0x7F }
  private static func lowercased(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }
}

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
    guard ASCII.isFieldValue(reason) else { throw .invalidStatusLine }
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
    guard let first = line.firstIndex(of: 0x20),
      let second = line.firstIndex(of: 0x20, from: first + 1),
      line.count - second - 1 == 8, second > first + 1
    else { throw .invalidRequestLine }
    guard ASCII.isToken(line[0..<first]) else { throw .invalidRequestLine }
    // No blank stands between the two.
    guard line[first + 1..<second].isPrintableASCII else { throw .invalidRequestLine }
    let minor = try Self.minorVersion(line[second + 1..<line.count], else: .invalidRequestLine)
    let headers = try fields(head[next..<length], unfolds: false)
    let result = HTTPRequestHead(
      method: line[0..<first].text(isASCII: true),
      target: line[first + 1..<second].text(isASCII: true), headers: headers, minorVersion: minor)
    buffer.consume(length)
    return result
  }

  private mutating func headLength(_ buffer: ByteBuffer, isStrict: Bool) throws(HTTPError) -> Int? {
    let bytes = buffer.view
    let end = min(bytes.count, limits.bytes)
    while let index = bytes[0..<end].firstIndex(of: 0x0A, from: scanned) {
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
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")), ASCII.isToken(line[0..<colon])
      else {
        throw .invalidHeader
      }
      name = line[0..<colon].text(isASCII: true)
      value = try Self.value(line[colon + 1..<line.count])
    }
  }

  private static func value(_ bytes: ByteView) throws(HTTPError) -> String {
    let isPrintable = bytes.isPrintableASCII
    guard isPrintable || ASCII.isFieldValue(bytes) else { throw .invalidHeader }
    var (start, end) = (0, bytes.count)
    while start < end, isBlank(bytes[start]) { start += 1 }
    while start < end, isBlank(bytes[end - 1]) { end -= 1 }
    return bytes[start..<end].text(isASCII: isPrintable)
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

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
    let end = bytes.firstIndex(of: 0x0A, from: start) ?? bytes.count
    let hasReturn = end > start && bytes[end - 1] == 0x0D
    return (bytes[start..<(hasReturn ? end - 1 : end)], min(end + 1, bytes.count))
  }

  private static func digit(_ byte: UInt8) -> Int? { byte &- 0x30 < 10 ? Int(byte &- 0x30) : nil }
}

/// The three forms of a date in HTTP fields (RFC 9110 section 5.6.7); the day's name is not
/// checked.
package enum HTTPDate {
  /// Parses a date; a year with two digits is never more than 50 years after `now`.
  package static func parse(_ text: String, now: WallTime) -> WallTime? {
    let words = text.split(whereSeparator: { $0 == " " || $0 == "," || $0 == "-" })
    switch words.count {
    case 6 where words[5] == "GMT" && text.contains(","):
      return moment(day: words[1], month: words[2], year: words[3], time: words[4], now)
    case 5 where !text.contains(","):
      return moment(day: words[2], month: words[1], year: words[4], time: words[3], now)
    default: return nil
    }
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  private static func moment(
    day: Substring, month: Substring, year: Substring, time: Substring, _ now: WallTime
  ) -> WallTime? {
    let clock = time.split(separator: ":", omittingEmptySubsequences: false)
    guard let month = months.firstIndex(of: String(month)), let day = number(day, 1...31),
      let shortYear = number(year, 0...9999), year.count == 4 || year.count == 2,
      clock.count == 3, clock.allSatisfy({ $0.count == 2 }), let hour = number(clock[0], 0...23),
      let minute = number(clock[1], 0...59), let second = number(clock[2], 0...60)
    else { return nil }
    func moment(in year: Int64) -> WallTime {
      let days = WallTime.daysSince1970(year: year, month: Int64(month) + 1, day: day)
      let seconds = days * 86_400 + hour * 3600 + minute * 60 + second
      return WallTime(millisecondsSince1970: seconds * 1000)
    }
    guard year.count == 2 else { return moment(in: shortYear) }
    let century = (Int64(now.rfc3339.prefix(4)) ?? 2000) / 100 * 100
    let limit = now.advanced(by: .seconds(50 * 31_557_600))
    let candidates = [century + 100, century, century - 100].map { moment(in: $0 + shortYear) }
    return candidates.first { $0.millisecondsSince1970 <= limit.millisecondsSince1970 }
  }

  private static func number(_ text: Substring, _ range: ClosedRange<Int64>) -> Int64? {
    guard !text.isEmpty, text.utf8.allSatisfy({ $0 &- 0x30 < 10 }), let value = Int64(text),
      range.contains(value)
    else { return nil }
    return value
  }

  /// Parses a `Retry-After` field (RFC 9110 section 10.2.3): seconds or a date; zero for a past
  /// date.
  package static func wait(_ value: String, now: WallTime) -> Duration? {
    if !value.isEmpty, value.utf8.allSatisfy({ $0 &- 0x30 < 10 }) {
      return .seconds(min(Int64(value) ?? .max, 100 * 365 * 86_400))
    }
    guard let then = parse(value, now: now) else { return nil }
    return .milliseconds(max(0, then.millisecondsSince1970 - now.millisecondsSince1970))
  }
}
