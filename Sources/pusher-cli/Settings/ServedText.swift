/// A text that `serve` prints when it listens, for an application.
enum ServedText: Equatable, Sendable {
  /// Variables of a `.env` file, with the secret.
  case environment
  case snippets

  /// Reads the flags, which exclude each other; `nil` without them.
  init?(_ typed: TypedArguments) {
    if typed.isOn(.printEnv) {
      self = .environment
    } else if typed.isOn(.printSnippets) {
      self = .snippets
    } else {
      return nil
    }
  }
}
