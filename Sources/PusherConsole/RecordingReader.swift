internal import PusherCore
internal import PusherServer

/// Reads the lines of a recording, one JSON object per line.
///
/// It works in portions of bounded size. Any thread may ask for a portion, one thread at a time.
package struct RecordingReader {
  struct Portion: Sendable {
    var lines: [ServerFeed.Line] = []
    var isLast = false
  }

  private let file: FileReader
  private let rest = ByteBuffer()
  /// Number of bytes in ``rest`` without a line end.
  private var searched = 0
  private var lineNumber = 0
  /// True while the rest of an overlong line is dropped.
  private var skipsLine = false
  private static let readSize = 64 << 10
  private static let portionSize = 1 << 20
  /// A portion ends when its lines reach this size, in bytes.
  package static let linesSize = 256 << 10
  /// Maximum size of a line, in bytes; a longer line becomes an error entry.
  package static let lineLimit = 4 << 20

  init(_ file: FileReader) { self.file = file }

  /// Returns the next lines; none if the portion had only blank lines.
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

  /// Returns the next complete line without its end; `nil` if more input is needed.
  private mutating func takeLine() -> [UInt8]? {
    let view = rest.view
    while searched < view.count, view[searched] != 0x0A { searched += 1 }
    guard searched < view.count else {
      if view.count > Self.lineLimit { skipsLine = true }
      if skipsLine {
        rest.removeAll()
        searched = 0
      }
      return nil
    }
    // Text in place of an overlong line; no valid entry.
    let line = skipsLine ? [0x3F] : view[0..<searched].array
    skipsLine = false
    rest.consume(searched + 1)
    searched = 0
    return line
  }

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
