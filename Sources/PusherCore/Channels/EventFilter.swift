/// Selects events by their printed names.
///
/// Laravel Echo puts a dot or a backslash before a complete name (`.order.created`,
/// `\App\Events\OrderShipped`), which the server does not send. So a pattern with this mark matches
/// the name with and without it.
package struct EventFilter: Sendable, Equatable {
  private let included: [Glob]
  private let excluded: [Glob]

  /// A wanted name matches one of `included`, or any if it is empty, and none of `excluded`.
  package init(include included: [String] = [], exclude excluded: [String] = []) {
    self.included = included.flatMap(Self.globs)
    self.excluded = excluded.flatMap(Self.globs)
  }

  private static func globs(_ pattern: String) -> [Glob] {
    let bytes = pattern.utf8
    guard let first = bytes.first, first == UInt8(ascii: ".") || first == UInt8(ascii: "\\") else {
      return [Glob(pattern)]
    }
    let isDoubled = first == UInt8(ascii: "\\") && bytes.dropFirst().first == first
    let rest = bytes.dropFirst(isDoubled ? 2 : 1)
    // A mark alone is not a name.
    return rest.isEmpty
      ? [Glob(pattern)] : [Glob(pattern), Glob(String(decoding: rest, as: UTF8.self))]
  }

  package var passesAll: Bool { included.isEmpty && excluded.isEmpty }

  package func passes(_ name: String) -> Bool {
    (included.isEmpty || included.contains { $0.matches(name) })
      && !excluded.contains { $0.matches(name) }
  }
}
