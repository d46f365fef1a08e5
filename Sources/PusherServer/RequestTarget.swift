internal import PusherCore

/// The target of a request, taken apart.
struct RequestTarget {
  /// The path without query, as it was sent.
  let path: String
  /// The path's parts behind the prefix, percent-decoded; `nil` when the path does not begin with the prefix.
  let segments: [String]?
  /// The query's pairs in their order, decoded.
  let parameters: [(name: String, value: String)]

  /// Takes a target apart; `nil` when its percent-encoding is broken.
  init?(_ target: String, prefix: String) {
    // A proxy's form names the whole URL (RFC 9112 section 3.2.2).
    let local = target.hasPrefix("/") ? target : (try? HTTPURL(parsing: target))?.target ?? target
    let mark = local.firstIndex(of: "?")
    path = String(local[..<(mark ?? local.endIndex)])
    guard let parameters = Self.pairs(mark.map { local[$0...].dropFirst() } ?? "") else {
      return nil
    }
    self.parameters = parameters
    guard path.hasPrefix(prefix + "/") else {
      segments = nil
      return
    }
    var segments: [String] = []
    for part in path.dropFirst(prefix.count + 1).split(separator: "/") {
      guard let decoded = PercentEncoding.decode(String(part)) else { return nil }
      segments.append(decoded)
    }
    self.segments = segments
  }

  /// The value of the first parameter of this name.
  subscript(name: String) -> String? {
    parameters.first { $0.name == name }?.value
  }

  private static func pairs(_ query: Substring) -> [(name: String, value: String)]? {
    var pairs: [(name: String, value: String)] = []
    for pair in query.split(separator: "&") {
      let mark = pair.firstIndex(of: "=") ?? pair.endIndex
      guard let name = decode(pair[..<mark]), let value = decode(pair[mark...].dropFirst()) else {
        return nil
      }
      pairs.append((name, value))
    }
    return pairs
  }

  /// Form libraries write a blank as `+`.
  private static func decode(_ text: Substring) -> String? {
    PercentEncoding.decode(String(text.map { $0 == "+" ? " " : $0 }))
  }
}
