internal import PusherCore

/// Prints one field of each event's data: `--field`, with `--join` as one running text.
///
/// A field is found before its event counts, and written later, because an event without the field
/// is left out.
final class FieldText {
  private let path: FieldPath
  private let joins: Bool
  private let output: ByteBuffer
  private let style: EventLineStyle
  /// The last found value, as printed.
  private let found = ByteBuffer()
  /// True after joined text, until its line end.
  private var isLineOpen = false
  /// Number of events without the field.
  private var missing = 0
  /// The beginning of an event without the field: the first that reports an error, else the last.
  private let sample = ByteBuffer()
  /// True if an event without the field is an object with a member `error`.
  private(set) var holdsError = false
  private let errorPath = try? FieldPath("error")

  init(_ path: FieldPath, joins: Bool, output: ByteBuffer, style: EventLineStyle) {
    (self.path, self.joins, self.output, self.style) = (path, joins, output, style)
  }

  /// Keeps the field for ``write()``; returns false without one.
  ///
  /// - Parameter source: The data as it came.
  func find(in data: ByteView, source: () -> String?) -> Bool {
    found.removeAll()
    if let value = path.value(in: data), keep(value) { return true }
    missing &+= 1
    guard !holdsError else { return false }
    let error = errorPath?.value(in: data)
    holdsError = error.map { !$0.equals("null") && !$0.equals("false") } ?? false
    sample.removeAll()
    sample.append(Array((source() ?? "").utf8.prefix(Diagnostics.longestMessage)))
    return false
  }

  private func keep(_ value: ByteView) -> Bool {
    guard value[0] == UInt8(ascii: "\"") else {
      // Servers of language models send null where a piece of the answer has no text.
      if joins, value.equals("null") { return false }
      // A found value is valid, so this cannot fail.
      return (try? JSONCompactor.copy(value, into: found, forTerminal: style.forTerminal)) != nil
    }
    let text = value[1..<(value.count - 1)]
    if style.forTerminal {
      found.append(Diagnostics.escaped(JSONString.decode(text), keepsLayout: joins))
    } else {
      JSONString.decode(text, into: found)
    }
    return true
  }

  func write() {
    output.append(found.view)
    if joins {
      if !found.isEmpty { isLineOpen = true }
    } else {
      output.append(style.terminator)
    }
  }

  /// Ends the line of joined text, if there is any.
  func end() {
    guard isLineOpen else { return }
    isLineOpen = false
    output.append(style.terminator)
  }

  /// Returns the events without the field, in words; `nil` if all had it.
  ///
  /// - Parameter isQuoted: Quotes one of them. An event that reports an error is always quoted.
  func absence(isQuoted: Bool) -> String? {
    guard missing > 0 else { return nil }
    let text = "\(Quantities.words(missing, of: "event")) came without the field '\(path.text)'"
    guard isQuoted || holdsError else { return text }
    return text + (missing == 1 ? ": " : ", one of them: ") + sample.view.text
  }
}
