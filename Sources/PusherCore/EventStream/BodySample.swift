/// The beginning of a body, for a message if the body holds no event.
package struct BodySample: Sendable, Equatable, CustomStringConvertible {
  /// Bytes that are kept, and characters that are shown.
  private static let (sizeLimit, textLimit) = (256, 60)

  private let contentType: String?
  private let format: BodyFormat
  /// Size of the body, in bytes.
  private var count = 0
  private var beginning: [UInt8] = []

  package init(contentType: String?, format: BodyFormat) {
    (self.contentType, self.format) = (contentType, format)
  }

  /// Takes the next bytes of the body.
  package mutating func note(_ bytes: ByteView) {
    count &+= bytes.count
    let room = Self.sizeLimit - beginning.count
    if room > 0 { beginning += bytes[0..<min(room, bytes.count)].array }
  }

  /// True if an event stream was expected, and the first line is none of an event stream.
  package var isForeign: Bool {
    guard format == .eventStream, let first = text.first else { return false }
    let isField = ["data", "event", "id", "retry"].contains { Self.begins(text, with: $0) }
    return first != 0x3A && first != 0x0A && first != 0x0D && !isField
  }

  /// True if the body looks like JSON, which is read as something else.
  package var isForeignJSON: Bool {
    isForeign && (text.first == UInt8(ascii: "{") || text.first == UInt8(ascii: "["))
  }

  /// The kept bytes without a byte order mark.
  private var text: ArraySlice<UInt8> {
    beginning.starts(with: [0xEF, 0xBB, 0xBF]) ? beginning.dropFirst(3) : beginning[...]
  }

  /// Returns true for the name of a field, alone or with a colon (HTML section 9.2.6).
  private static func begins(_ text: ArraySlice<UInt8>, with name: String) -> Bool {
    guard text.starts(with: name.utf8) else { return false }
    let next = text.dropFirst(name.utf8.count).first ?? 0x3A
    return next == 0x3A || next == 0x0A || next == 0x0D
  }

  package var description: String {
    let type = contentType.map { ErrorText.shown($0, limit: 100) } ?? ""
    let named = type.isEmpty ? "without a Content-Type" : "of \(type)"
    guard count > 0 else { return "the answer ended without an event: an empty body \(named)" }
    let words = ErrorText.shown(String(decoding: text, as: UTF8.self), limit: Self.textLimit)
    let isCut = count > beginning.count || words.unicodeScalars.count >= Self.textLimit
    let size = count == 1 ? "1 byte" : "\(count) bytes"
    let start = words.isEmpty ? "" : ", beginning with '\(words)\(isCut ? "…" : "")'"
    return "the answer ended without an event: \(size) \(named)\(start)"
  }
}
