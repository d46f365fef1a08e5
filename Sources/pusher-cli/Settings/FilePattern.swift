internal import PusherCore

/// The path of `--output-file` with `%c` or `%e`, which stands for the channel or the event.
struct FilePattern: Equatable, Sendable {
  let text: String
  let isOfChannel: Bool
  /// Maximum number of open files.
  let openLimit: Int
  /// Maximum number of different files in one run, apart from ``shared``.
  var fileLimit: Int { openLimit * 100 }
  /// Empty, or with a slash at its end.
  let folder: String
  private let start: String
  private let rest: String
  /// Maximum size of a name inside a file's name, in bytes.
  static let nameLimit = 100

  /// Reads a path; `nil` for a path without `%c` and `%e`.
  init?(_ text: String, openLimit: Int) throws(UsageError) {
    let (channels, events) = (text.pieces(separatedBy: "%c"), text.pieces(separatedBy: "%e"))
    isOfChannel = channels.count > 1
    let pieces = isOfChannel ? channels : events
    guard pieces.count > 1 else { return nil }
    guard channels.count + events.count == 3, !pieces[1].holds("/") else {
      throw UsageError(
        "--output-file: give %c or %e once, in the name of the file, as in 'events/%c.jsonl'")
    }
    (self.text, self.openLimit) = (text, openLimit)
    (start, rest) = (String(pieces[0]), String(pieces[1]))
    let slash = pieces[0].utf8.lastIndex(of: UInt8(ascii: "/"))
    folder = slash.map { String(pieces[0][...$0]) } ?? ""
  }

  /// Returns the path for a name; two names never share one.
  ///
  /// The name is percent-encoded. A longer one ends with `%x` and its SHA-256. The digits are
  /// capitals up to F, so `%none`, `%empty`, `%other` and `%x` are no encoding.
  func path(of name: String?) -> String {
    guard let name else { return start + "%none" + rest }
    let bytes = Array(name.utf8)
    var safe = PercentEncoding.encodeForFile(bytes.prefix(Self.nameLimit + 1))
    if safe.isEmpty { safe = "%empty" }
    if safe.utf8.count > Self.nameLimit {
      safe = safe.prefix(Self.nameLimit - 66) + "%x" + Hex.encode(Digest.sha256(bytes))
    }
    return start + safe + rest
  }

  /// The file of all names after the limit.
  var shared: String { start + "%other" + rest }
}
