internal import PusherCore

/// Writes text in lines of a maximum width, and continues long text on indented lines.
///
/// Nothing is left out. The text must have no control characters.
struct PageWriter {
  let output: ByteBuffer
  let width: Int
  let palette: EventLinePalette?
  private(set) var column = 0
  var room: Int { width - column }

  mutating func newLine(indent: Int) {
    output.append(UInt8(ascii: "\n"))
    column = 0
    advance(to: indent)
  }

  mutating func advance(to column: Int) {
    while self.column < column {
      output.append(UInt8(ascii: " "))
      self.column += 1
    }
  }

  /// Begins a cell after two blanks, or on a new line if this one lacks room.
  mutating func beginCell(_ columns: Int, indent: Int) {
    if column + 2 + columns <= width {
      advance(to: column + 2)
    } else {
      newLine(indent: indent)
    }
  }

  mutating func fold(_ text: String, indent: Int, in colour: String?) {
    guard let palette, let colour else { return fold(text, indent: indent) }
    output.append(colour)
    fold(text, indent: indent)
    output.append(palette.reset)
  }

  /// Writes text, broken after blanks where possible; further lines begin at `indent`.
  mutating func fold(_ text: String, indent: Int) {
    let whole = TextWidth.columns(text)
    if whole <= room {
      output.append(text)
      column += whole
      return
    }
    let scalars = text.unicodeScalars
    var start = scalars.startIndex
    while start < scalars.endIndex {
      var end = start
      var columns = 0
      var isBlank = false
      while end < scalars.endIndex, !isBlank || scalars[end] == " " {
        isBlank = scalars[end] == " "
        columns += TextWidth.columns(scalars[end])
        end = scalars.index(after: end)
      }
      put(scalars[start..<end], columns, indent)
      start = end
    }
  }

  private mutating func put(_ word: Substring.UnicodeScalarView, _ columns: Int, _ indent: Int) {
    guard columns > room else {
      output.append(String(word))
      column += columns
      return
    }
    if columns <= width - indent, column > indent {
      newLine(indent: indent)
      return put(word, columns, indent)
    }
    for scalar in word {
      let columns = TextWidth.columns(scalar)
      if columns > room { newLine(indent: indent) }
      for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter { output.append(byte) }
      column += columns
    }
  }
}

/// Lays JSON out for people: on one line if it fits, else folded.
extension PageWriter {
  /// Maximum depth of folding, so that indentation cannot multiply the output.
  private static let deepest = 16

  static func line(_ value: JSONValue, columns: Int) -> String? {
    var budget = columns * 3
    guard isShort(value, &budget) else { return nil }
    if value.text?.utf8.dropLast().contains(UInt8(ascii: "\n")) == true { return nil }
    let line = shown(value)
    return TextWidth.columns(line) <= columns ? line : nil
  }

  static func json(_ value: JSONValue) -> String {
    let buffer = ByteBuffer(capacity: 64)
    JSONWriter.write(value, into: buffer, forTerminal: true)
    return buffer.view.text
  }

  private static func shown(_ value: JSONValue) -> String {
    if case .string(let text) = value { return TerminalText.escaped(text) }
    return json(value)
  }

  /// Subtracts the size of a value, in bytes, from the budget; stops when none is left.
  private static func isShort(_ value: JSONValue, _ budget: inout Int) -> Bool {
    switch value {
    case .null, .bool: budget -= 4
    case .number(let digits): budget -= digits.utf8.count
    case .string(let text): budget -= text.utf8.count
    case .array(let elements):
      budget -= elements.count + 1
      for element in elements where budget >= 0 { _ = isShort(element, &budget) }
    case .object(let members):
      budget -= 4 * members.count + 1
      for member in members where budget >= 0 {
        budget -= member.name.utf8.count
        _ = isShort(member.value, &budget)
      }
    }
    return budget >= 0
  }

  /// Writes data that does not fit on one line; its lines begin at the current column.
  mutating func writeFolded(_ data: JSONValue, indent: Int) {
    guard case .string(let text) = data else {
      return writeIndented(data, before: "", indent: indent, depth: 0)
    }
    for (index, line) in text.unicodeScalars.split(
      separator: "\n", omittingEmptySubsequences: false
    ).enumerated() {
      if index > 0 { newLine(indent: line.isEmpty ? 0 : indent) }
      fold(TerminalText.escaped(String(line)), indent: indent)
    }
  }

  private mutating func writeIndented(
    _ value: JSONValue, named name: String? = nil, before tail: StaticString, indent: Int,
    depth: Int
  ) {
    let line = ByteBuffer(capacity: 64)
    if let name {
      JSONString.encode(name, into: line, forTerminal: true)
      line.append(": " as StaticString)
    }
    let start = line.count
    let inner = min(indent + 2, width / 2)
    let isWhole = depth == Self.deepest || Self.isScalar(value)
    var budget = room * 3
    // The whole data does not fit on one line.
    if isWhole || depth > 0 && Self.isShort(value, &budget) {
      JSONWriter.write(value, into: line, forTerminal: true)
      line.append(tail)
      let text = line.view.text
      if isWhole || TextWidth.columns(text) <= room { return fold(text, indent: inner) }
      line.truncate(to: start)
    }
    let (members, elements) = (value.members, value.elements ?? [])
    line.append(members == nil ? "[" : "{" as StaticString)
    fold(line.view.text, indent: inner)
    let last = (members?.count ?? elements.count) - 1
    for index in 0...last {
      newLine(indent: inner)
      writeIndented(
        members?[index].value ?? elements[index], named: members?[index].name,
        before: index < last ? "," : "", indent: inner, depth: depth + 1)
    }
    newLine(indent: indent)
    line.removeAll()
    line.append(members == nil ? "]" : "}" as StaticString)
    line.append(tail)
    fold(line.view.text, indent: indent)
  }

  private static func isScalar(_ value: JSONValue) -> Bool {
    switch value {
    case .array(let elements): elements.isEmpty
    case .object(let members): members.isEmpty
    default: true
    }
  }
}

/// Width of text in columns of a terminal (Unicode Standard Annex 11).
///
/// `wcwidth(3)` depends on the locale of the process, and the program has none. So this is its rule
/// with Unicode's tables: marks, joiners and the second half of a Hangul syllable take no column.
/// Ideographs, kana, Hangul, full width forms and emoji take two, everything else one. The parts of
/// a joined picture count one by one.
enum TextWidth {
  static func columns(_ text: String) -> Int {
    // Most text is ASCII and needs no scalars.
    if text.holdsOnly(0...0x7F) { return text.utf8.count }
    return text.unicodeScalars.reduce(0) { $0 + columns($1) }
  }

  static func columns(_ scalar: Unicode.Scalar) -> Int {
    if scalar.value < 0x300 { return 1 }
    if isWide(scalar.value) { return isMark(scalar) ? 0 : 2 }
    if isMark(scalar) { return 0 }
    // The letters of flags are emoji, but each alone is narrow.
    return scalar.properties.isEmojiPresentation && !(0x1F1E6...0x1F1FF).contains(scalar.value)
      ? 2 : 1
  }

  private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: true
    default: (0x1160...0x11FF).contains(scalar.value)
    }
  }

  /// Blocks of wide characters; emoji outside them have a property.
  private static func isWide(_ value: UInt32) -> Bool {
    switch value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97F,
      0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60,
      0xFFE0...0xFFE6, 0x16FE0...0x18CFF, 0x1AFF0...0x1B2FF, 0x1F200...0x1F265, 0x20000...0x3FFFD:
      true
    default: false
    }
  }
}
