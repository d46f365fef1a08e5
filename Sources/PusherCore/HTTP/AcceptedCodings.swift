// Which content codings a request takes.
extension HTTPRequestHead {
  /// Whether the answer may be gzip; to a request that says nothing of codings it may not.
  ///
  /// Source: RFC 9110 section 12.5.3.
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

  /// Whether a weight says "not acceptable": `q=0`, with up to three zeros behind the point.
  private static func isZero(_ weight: String) -> Bool {
    ["q=0", "q=0.", "q=0.0", "q=0.00", "q=0.000"].contains { weight.isSame(as: $0) }
  }
}
