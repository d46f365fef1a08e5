internal import PusherCore

extension SettingsReader {
  /// Returns the patterns of `--event` and the like.
  func patterns(_ flag: Flag) throws(UsageError) -> [String] {
    let texts = typed.texts(flag)
    // A long text would fill the screen.
    guard texts.allSatisfy({ $0.utf8.count <= Glob.longestText }) else {
      throw UsageError("--\(flag.name): the pattern is longer than \(Glob.longestText) bytes")
    }
    return texts
  }

  /// Returns the conditions of `--where`.
  func conditions() throws(UsageError) -> [WhereClause] {
    try typed.texts(.whereExpression).map { (text: String) throws(UsageError) in
      do throws(WhereFault) {
        return try WhereClause(text)
      } catch {
        switch error {
        // A long text would fill the screen.
        case .tooLong, .patternTooLong: throw UsageError("--where: \(error)")
        default: throw UsageError("--where '\(text)': \(error)")
        }
      }
    }
  }
}
