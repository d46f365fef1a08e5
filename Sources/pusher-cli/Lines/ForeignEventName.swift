internal import PusherCore

/// Distinguishes the program's own lines: only their names begin with `pusher-cli:`.
///
/// A server may send any name; one with this prefix is printed with `foreign:` before it.
enum ForeignEventName {
  static let reserved: StaticString = "pusher-cli:"
  static let mark = "foreign:"

  /// Returns true if an unescaped name has the reserved prefix.
  @inline(__always) static func needsMark(_ name: ByteView) -> Bool {
    name.count >= reserved.utf8CodeUnitCount && name.begins(with: reserved)
  }

  /// Returns the marked name of a foreign event, given as a JSON token; `nil` if it needs no mark.
  static func marked(token: ByteView) -> String? {
    guard let first = token.isEmpty ? nil : token[0], first == 0x70 || first == 0x5C else {
      return nil
    }
    guard !needsMark(token) else { return mark + JSONString.decode(token) }
    // Escapes may spell the reserved prefix; the check of a long name costs one copy.
    guard unsafe token.raw.contains(UInt8(ascii: "\\")) else { return nil }
    let name = JSONString.decode(token)
    return name.utf8.starts(with: "\(reserved)".utf8) ? mark + name : nil
  }

  static func unmarked(_ name: String) -> String {
    let isMarked = name.utf8.starts(with: "\(mark)\(reserved)".utf8)
    return isMarked ? String(name.dropFirst(mark.count)) : name
  }
}
