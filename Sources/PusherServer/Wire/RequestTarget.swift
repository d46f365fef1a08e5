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
    let bytes = ByteBuffer(capacity: target.utf8.count)
    bytes.append(Self.local(target))
    let text = bytes.view
    let mark = text.firstIndex(of: UInt8(ascii: "?")) ?? text.count
    let path = text[0..<mark]
    self.path = path.text
    guard let parameters = Self.pairs(text[min(mark + 1, text.count)..<text.count]) else {
      return nil
    }
    self.parameters = parameters
    guard path.begins(with: "/" as StaticString) else {
      segments = nil
      return
    }
    var segments: [String] = []
    for part in Self.parts(of: path, separatedBy: UInt8(ascii: "/")) {
      guard let decoded = PercentEncoding.decode(part, isForm: false) else { return nil }
      segments.append(decoded)
    }
    self.segments = segments
  }

  package static let none = RequestTarget()

  private init() { (path, segments, parameters) = ("", nil, []) }

  package static func path(of target: String) -> String {
    let text = local(target)
    return text.utf8.firstIndex(of: UInt8(ascii: "?")).map { String(text[..<$0]) } ?? text
  }

  /// Host and port of a target that is a whole URL (RFC 9112 section 3.2.2); `nil` for a path.
  fileprivate static func authority(of target: String) -> String? {
    guard !target.begins(with: "/") else { return nil }
    return (try? HTTPURL(parsing: target))?.authority
  }

  /// Requests through a proxy name the whole URL (RFC 9112 section 3.2.2).
  private static func local(_ target: String) -> String {
    target.begins(with: "/") ? target : (try? HTTPURL(parsing: target))?.target ?? target
  }

  package subscript(name: String) -> String? {
    parameters.first { $0.name.isSame(as: name) }?.value
  }

  private static func pairs(_ query: ByteView) -> [(name: String, value: String)]? {
    var pairs: [(name: String, value: String)] = []
    for pair in parts(of: query, separatedBy: UInt8(ascii: "&")) {
      let mark = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.count
      let value = pair[min(mark + 1, pair.count)..<pair.count]
      guard let name = PercentEncoding.decode(pair[0..<mark], isForm: true),
        let value = PercentEncoding.decode(value, isForm: true)
      else { return nil }
      pairs.append((name, value))
    }
    return pairs
  }

  /// Returns the parts that are not empty.
  private static func parts(of text: ByteView, separatedBy separator: UInt8) -> [ByteView] {
    var parts: [ByteView] = []
    var start = 0
    while start < text.count {
      let end = text.firstIndex(of: separator, from: start) ?? text.count
      if end > start { parts.append(text[start..<end]) }
      start = end + 1
    }
    return parts
  }
}

extension HTTPRequestHead {
  /// Hosts that the request names: the one of a target that is a whole URL, then each `Host` field.
  var hosts: [String] {
    (RequestTarget.authority(of: target).map { [$0] } ?? []) + headers.all("Host")
  }
}
