/// A mistake of the caller: what was wrong, where, and what to do.
///
/// It ends the program with status 2.
/// Messages follow the program's voice: lower case, one line, no full stop. They never hold a secret.
struct UsageError: Error, Equatable {
  /// What was wrong and what to do.
  let message: String
  /// A second line that points to the help; only mistakes in the command line's form have one.
  let pointer: String?

  /// A setting that is missing or wrong.
  init(_ message: String) {
    self.message = message
    self.pointer = nil
  }

  /// A word the command line's grammar has no place for.
  init(_ message: String, helpFor command: Command?) {
    self.message = message
    let words = ["pusher-cli", command?.rawValue, "--help"].compactMap { $0 }
    self.pointer = "Try '\(words.joined(separator: " "))'."
  }
}
