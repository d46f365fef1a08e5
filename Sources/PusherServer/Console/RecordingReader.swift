internal import PusherCore

/// Reads the lines of a recording: a JSON object of an entry on each.
///
/// It reads and parses in portions of bounded size, each on whichever thread asks; one thread at a time.
package struct RecordingReader {
  /// What one portion brings.
  struct Portion: Sendable {
    var lines: [ConsoleFeed.Line] = []
    /// Whether the file is over.
    var isLast = false
  }

  private let file: FileReader
  private let rest = ByteBuffer()
  /// How many bytes of ``rest`` hold no line end.
  private var searched = 0
  private var lineNumber = 0
  /// Whether the rest of a line that is too long is dropped.
  private var skipsLine = false

  /// Maximum size of one read, in bytes.
  private static let readSize = 64 << 10
  /// Maximum that one portion reads, in bytes.
  private static let portionSize = 1 << 20
  /// Size of a portion's lines above which it ends, in bytes.
  package static let linesSize = 256 << 10
  /// Maximum size of a line, in bytes; a longer one is told as one that cannot be shown.
  package static let lineLimit = 4 << 20

  init(_ file: FileReader) {
    self.file = file
  }

  /// The next lines, which may be none where nothing but blank lines was read.
  mutating func next() -> Portion {
    var portion = Portion()
    var (read, size) = (0, 0)
    while size < Self.linesSize {
      if let line = takeLine() {
        lineNumber += 1
        guard !line.isEmpty else { continue }
        let text = entry(line)
        size += text.utf8.count
        portion.lines.append(.entry(lineNumber, text))
        continue
      }
      guard read < Self.portionSize else { break }
      let before = rest.count
      guard file.read(into: rest, atMost: Self.readSize) else {
        addLast(to: &portion)
        break
      }
      read += rest.count - before
    }
    return portion
  }

  /// The next line that is complete, without its end; `nil` when more has to be read.
  private mutating func takeLine() -> [UInt8]? {
    let view = rest.view
    while searched < view.count, view[searched] != 0x0A { searched += 1 }
    guard searched < view.count else {
      if view.count > Self.lineLimit {
        skipsLine = true
        rest.removeAll()
        searched = 0
      } else if skipsLine {
        rest.removeAll()
        searched = 0
      }
      return nil
    }
    // The text in place of a line that is too long is not an entry.
    let line = skipsLine ? [0x3F] : view[0..<searched].array
    skipsLine = false
    rest.consume(searched + 1)
    searched = 0
    return line
  }

  /// The line at the end of the file may lack its end.
  private mutating func addLast(to portion: inout Portion) {
    portion.isLast = true
    guard skipsLine || !rest.isEmpty else { return }
    lineNumber += 1
    portion.lines.append(.entry(lineNumber, entry(skipsLine ? [0x3F] : rest.view.array)))
    rest.removeAll()
  }

  private func entry(_ line: [UInt8]) -> String {
    let text = String(decoding: line, as: UTF8.self)
    if let value = try? JSONParser.parse(text), value["kind"]?.text != nil {
      return JSONWriter.text(value)
    }
    let fault: JSONValue = [
      "n": .integer(lineNumber), "kind": "error",
      "reason": .string("line \(lineNumber) of the recording is not an entry"),
    ]
    return JSONWriter.text(fault)
  }
}
