import Foundation

/// The rule on searches in text.
extension TidyRules {
  /// A literal of two characters or more; an escape is one.
  private static let long = #""(?:[^"\\]|\\.){2,}""#

  /// Searches of `String` that walk grapheme clusters, and cost the square of the length for some texts.
  private static let searches: [String] = [
    #"\.contains\("# + long + #"\)"#, #"\.split\(separator: "# + long, #"\.replacing\("# + long,
    #"\.ranges\(of:"#, #"(?<!utf8)\.lastRange\("#,
    #"(?<!utf8)\.lastIndex(?!\(of: (UInt8|quote))[ (]"#,
  ]

  /// A peer's text is searched as bytes.
  static func slowSearches(_ source: TidySource) -> [Finding] {
    guard source.path.hasPrefix("Sources/") else { return [] }
    var found: [Finding] = []
    let lines = source.text.split(separator: "\n", omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      let isComment = line.drop { $0 == " " }.hasPrefix("//")
      let isSlow = searches.contains { line.range(of: $0, options: .regularExpression) != nil }
      guard !isComment, isSlow else { continue }
      found.append(
        source.finding(
          index + 1, "this search walks grapheme clusters: search bytes (ByteSearch.swift, utf8)"))
    }
    return found
  }
}
