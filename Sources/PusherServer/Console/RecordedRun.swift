internal import PusherCore

/// The file of a past run, as `--record` has written it: a JSON object of an entry on each line.
///
/// It is read as far as it is taken, so that a file of any size will do.
final class RecordedRun: ConsoleSource {
  private var file: FileReader?
  private let rest = ByteBuffer()
  private var lineNumber = 0
  private var isOver = false

  /// How much is read at a time.
  private static let portion = 64 << 10
  /// The longest line; a longer one is told as one that cannot be shown.
  private static let lineLimit = 4 << 20

  /// - Throws: ``SystemError`` when the file cannot be opened.
  init(_ path: String) throws(SystemError) {
    file = try FileReader(path)
  }

  var hasMore: Bool { !isOver }

  func fill(_ output: ByteBuffer, upTo limit: Int) -> Bool {
    while output.count < limit, !isOver {
      guard let line = nextLine() else {
        isOver = true
        EventStreamWriter.write(event: "end", data: "{}", to: output)
        break
      }
      lineNumber += 1
      if !line.isEmpty { output.write(entry(line)) }
    }
    // The page keeps what it has, and comes for it again if the answer ends.
    return true
  }

  func close() { file = nil }

  private func entry(_ line: [UInt8]) -> ConsoleFeed.Line {
    let text = String(decoding: line, as: UTF8.self)
    if let value = try? JSONParser.parse(text), value["kind"]?.text != nil {
      return .entry(lineNumber, JSONWriter.text(value))
    }
    let fault: JSONValue = [
      "n": .integer(lineNumber), "kind": "error",
      "reason": .string("line \(lineNumber) of the recording is not an entry"),
    ]
    return .entry(lineNumber, JSONWriter.text(fault))
  }

  /// The next line without its end; `nil` at the end of the file.
  private func nextLine() -> [UInt8]? {
    var searched = 0
    while true {
      let view = rest.view
      for index in searched..<view.count where view[index] == 0x0A {
        let line = view[0..<index].array
        rest.consume(index + 1)
        return line
      }
      searched = view.count
      if searched > Self.lineLimit { return tooLongLine() }
      guard let file, file.read(into: rest, atMost: Self.portion) else {
        guard !rest.isEmpty else { return nil }
        let line = rest.view.array
        rest.removeAll()
        return line
      }
    }
  }

  /// Drops a line that is too long; the text in its place is not an entry.
  private func tooLongLine() -> [UInt8] {
    rest.removeAll()
    while let file, file.read(into: rest, atMost: Self.portion) {
      let view = rest.view
      for index in 0..<view.count where view[index] == 0x0A {
        rest.consume(index + 1)
        return [0x3F]
      }
      rest.removeAll()
    }
    return [0x3F]
  }
}
