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
  /// JSON that the message holds as a string, without the escapes.
  private let json = ByteBuffer()
  /// The last found value, as printed.
  private let found = ByteBuffer()
  /// True after joined text, until its line end.
  private var isLineOpen = false
  /// Number of events without the field.
  private(set) var missing = 0

  init(_ path: FieldPath, joins: Bool, output: ByteBuffer, style: EventLineStyle) {
    (self.path, self.joins, self.output, self.style) = (path, joins, output, style)
  }

  /// Keeps the field for ``write()``; returns false without one.
  func find(in data: ByteView) -> Bool {
    found.removeAll()
    if let value = path.value(in: data), keep(value) { return true }
    missing &+= 1
    return false
  }

  func find(in envelope: Envelope) -> Bool {
    if let plain = envelope.plainData { return find(in: plain) }
    json.removeAll()
    if let text = envelope.dataString {
      JSONString.decode(text, into: json)
    } else if let token = envelope.dataToken {
      return find(in: token)
    }
    return find(in: json.view)
  }

  func find(in data: JSONValue) -> Bool {
    json.removeAll()
    JSONWriter.write(data, into: json)
    return find(in: json.view)
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

  /// The events without the field, in words; `nil` if all had it.
  var absence: String? {
    guard missing > 0 else { return nil }
    return "\(Quantities.words(missing, of: "event")) came without the field '\(path.text)'"
  }
}
