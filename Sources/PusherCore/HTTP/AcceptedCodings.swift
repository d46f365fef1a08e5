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
