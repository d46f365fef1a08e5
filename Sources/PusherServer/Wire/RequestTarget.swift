internal import PusherCore

package struct RequestTarget {
  /// Path without the query, as sent.
  let path: String
  /// Percent-decoded parts of the path; `nil` if it does not begin with a slash.
  let segments: [String]?
  /// Pairs of the query in their order, decoded.
  let parameters: [(name: String, value: String)]

  /// Parses a target; `nil` if its percent-encoding is invalid.
  package init?(_ target: String) {
    let (path, query) = Self.halves(target)
    self.path = String(path)
    guard let parameters = Self.pairs(query) else { return nil }
    self.parameters = parameters
    guard self.path.begins(with: "/") else {
      segments = nil
      return
    }
    var segments: [String] = []
    for part in Array(self.path.utf8).split(separator: UInt8(ascii: "/")) {
      guard let decoded = PercentEncoding.decode(part) else { return nil }
      segments.append(decoded)
    }
    self.segments = segments
  }

  package static let none = RequestTarget()

  private init() { (path, segments, parameters) = ("", nil, []) }

  package static func path(of target: String) -> String { String(halves(target).path) }

  /// Host and port of a target that is a whole URL (RFC 9112 section 3.2.2); `nil` for a path.
  fileprivate static func authority(of target: String) -> String? {
    guard !target.begins(with: "/") else { return nil }
    return (try? HTTPURL(parsing: target))?.authority
  }

  /// Splits path and query by bytes: every request needs it, and characters are slow.
  private static func halves(_ target: String) -> (path: Substring, query: Substring) {
    // Requests through a proxy name the whole URL (RFC 9112 section 3.2.2).
    let local =
      target.begins(with: "/") ? target : (try? HTTPURL(parsing: target))?.target ?? target
    guard let mark = local.utf8.firstIndex(of: UInt8(ascii: "?")) else { return (local[...], "") }
    return (local[..<mark], local[local.utf8.index(after: mark)...])
  }

  package subscript(name: String) -> String? {
    parameters.first { $0.name.isSame(as: name) }?.value
  }

  private static func pairs(_ query: Substring) -> [(name: String, value: String)]? {
    var pairs: [(name: String, value: String)] = []
    // Copied to a new string first, because iterating over a substring's bytes is slow.
    let bytes = Array(String(query).utf8)
    var start = 0
    while start < bytes.count {
      var end = start
      var mark: Int?
      while end < bytes.count, bytes[end] != UInt8(ascii: "&") {
        if mark == nil, bytes[end] == UInt8(ascii: "=") { mark = end }
        end += 1
      }
      if end > start {
        guard let name = PercentEncoding.decodeForm(bytes[start..<(mark ?? end)]),
          let value = PercentEncoding.decodeForm(bytes[(mark.map { $0 + 1 } ?? end)..<end])
        else { return nil }
        pairs.append((name, value))
      }
      start = end + 1
    }
    return pairs
  }
}

extension HTTPRequestHead {
  /// Hosts that the request names: the one of a target that is a whole URL, then each `Host` field.
  var hosts: [String] {
    (RequestTarget.authority(of: target).map { [$0] } ?? []) + headers.all("Host")
  }
}
