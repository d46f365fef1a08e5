import Foundation

/// The rule on text searches.
extension TidyRules {
  /// A literal of at least two characters; an escape counts as one.
  private static let long = #""(?:[^"\\]|\\.){2,}""#

  /// Searches of `String` that walk grapheme clusters; some texts make them quadratic.
  private static let searches: [String] = [
    #"\.contains\("# + long + #"\)"#, #"\.split\(separator: "# + long, #"\.replacing\("# + long,
    #"\.ranges\(of:"#, #"(?<!utf8)\.lastRange\("#,
    #"(?<!utf8)\.lastIndex(?!\(of: (UInt8|quote))[ (]"#,
  ]

  /// Requires byte searches in peers' text.
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
