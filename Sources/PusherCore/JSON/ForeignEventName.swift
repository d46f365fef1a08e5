/// Keeps our own lines apart from events of the same names: what begins with `pusher-cli:` is said by us alone.
///
/// A server may give its events any name. One that begins so is printed with `foreign:` before it, so that no line with
/// a name of ours was made by anybody else.
package enum ForeignEventName {
  /// How the names of our own lines begin.
  package static let reserved: StaticString = "pusher-cli:"
  /// What is put before a name of others that begins so.
  package static let mark = "foreign:"

  /// Whether a name, its escapes undone, begins as ours do.
  @inline(__always)
  package static func needsMark(_ name: ByteView) -> Bool {
    name.count >= reserved.utf8CodeUnitCount && name.begins(with: reserved)
  }

  /// The name under which an event of others is printed; nil when that is its own.
  ///
  /// - Parameter token: The name as it stands between the quotes of a JSON string.
  package static func marked(token: ByteView) -> String? {
    guard let first = token.isEmpty ? nil : token[0], first == 0x70 || first == 0x5C else {
      return nil
    }
    guard !needsMark(token) else { return mark + JSONString.decode(token) }
    // Escapes may spell the same name; those of a long name that is none cost a copy and no more.
    guard JSONCursor(token).plainRun() < token.count else { return nil }
    let name = JSONString.decode(token)
    return name.utf8.starts(with: "\(reserved)".utf8) ? mark + name : nil
  }

  /// The name that an event had before it was printed.
  package static func unmarked(_ name: String) -> String {
    let isMarked = name.utf8.starts(with: "\(mark)\(reserved)".utf8)
    return isMarked ? String(name.dropFirst(mark.count)) : name
  }
}
