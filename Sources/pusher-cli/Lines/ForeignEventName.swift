internal import PusherCore

/// Keeps our own lines apart from events of the same names: only we print names that begin with `pusher-cli:`.
///
/// A server may give its events any name. A name with this beginning is printed with `foreign:` before it, so that
/// every line with a name of ours is ours.
enum ForeignEventName {
  /// How the names of our own lines begin.
  static let reserved: StaticString = "pusher-cli:"
  /// The mark before a foreign name that begins so.
  static let mark = "foreign:"

  /// Whether a name, its escapes undone, begins as ours do.
  @inline(__always)
  static func needsMark(_ name: ByteView) -> Bool {
    name.count >= reserved.utf8CodeUnitCount && name.begins(with: reserved)
  }

  /// The name under which an event of others is printed; nil when that is its own.
  ///
  /// - Parameter token: The name as it stands between the quotes of a JSON string.
  static func marked(token: ByteView) -> String? {
    guard let first = token.isEmpty ? nil : token[0], first == 0x70 || first == 0x5C else {
      return nil
    }
    guard !needsMark(token) else { return mark + JSONString.decode(token) }
    // Escapes may spell the same name; for a long name the check costs one copy.
    guard unsafe token.raw.contains(UInt8(ascii: "\\")) else { return nil }
    let name = JSONString.decode(token)
    return name.utf8.starts(with: "\(reserved)".utf8) ? mark + name : nil
  }

  /// The name that an event had before it was printed.
  static func unmarked(_ name: String) -> String {
    let isMarked = name.utf8.starts(with: "\(mark)\(reserved)".utf8)
    return isMarked ? String(name.dropFirst(mark.count)) : name
  }
}
