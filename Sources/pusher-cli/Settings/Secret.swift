/// An app secret that cannot be printed by accident: every description of it reads `<secret>`.
struct Secret: Equatable, Sendable {
  /// The secret itself, for signing only.
  let revealed: String

  init(_ text: String) {
    revealed = text
  }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  var description: String { "<secret>" }
  var debugDescription: String { "<secret>" }
  /// Empty, so that `dump` and string interpolation of an enclosing value show nothing either.
  var customMirror: Mirror { Mirror(self, children: []) }
}
