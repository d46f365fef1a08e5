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
