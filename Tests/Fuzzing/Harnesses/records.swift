import PusherCore
import TestSupport

/// Reads JSON lines, JSON text sequences (RFC 7464) and documents, compares lines with a simple
/// reader, and checks the printed lines.
///
/// Input: a byte of choices, a byte that cuts, then the body. The cuts must change nothing, and no
/// byte may be lost. Each line is one JSON value, the same by both ways.
func fuzzRecords(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  var input = FuzzInput(start, count)
  let (choices, cut) = input.choicesAndCut()
  let bytes = input.bytes
  let whole = BodyRun(choices, [bytes])
  let other = BodyRun(choices, pieces(of: bytes, cut: cut))
  require(whole.data == other.data, "the events differ with the cut")
  require(whole.error == other.error, "the error differs with the cut")
  require(whole.isCut == other.isCut, "the rest differs with the cut")
  guard choices & 1 == 0 else { return 0 }
  require(whole.error == nil, "an error without a limit")
  if whole.format == .lines { compareLines(whole, bytes) }
  // Bytes that are not UTF-8 are replaced.
  if String(validating: bytes, as: UTF8.self) != nil, !whole.isCut {
    require(
      significant(whole.data.flatMap(\.utf8)) == significant(withoutMark(bytes)),
      "a byte was lost or added")
  }
  return 0
}

private let blanks: [UInt8] = [0x20, 0x09, 0x0A, 0x0D]

/// Returns the bytes that no reader may lose: all but white space and separators.
private func significant(_ bytes: some Sequence<UInt8>) -> [UInt8] {
  bytes.filter { !blanks.contains($0) && $0 != 0x1E }
}

private func withoutMark(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
  bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
}

/// Compares with the complete lines of the text, one after the other.
private func compareLines(_ run: BodyRun, _ bytes: [UInt8]) {
  let lines = withoutMark(bytes).split(separator: 0x0A, omittingEmptySubsequences: false).map {
    line in
    var line = line.drop { $0 == 0x1E }.drop { blanks.contains($0) }
    while let last = line.last, blanks.contains(last) { line.removeLast() }
    return text(line)
  }
  let complete = lines.dropLast().filter { !$0.isEmpty }
  let rest = lines.last ?? ""
  let expected = complete + (run.isCut || rest.isEmpty ? [] : [rest])
  require(run.data == expected, "\(run.data) instead of \(expected)")
}

private final class BodyRun {
  private(set) var data: [String] = []
  private(set) var error: EventStreamError?
  private(set) var isCut = false
  let format: BodyFormat
  private let limits: EventStreamLimits
  private let parser: EventStreamParser
  private let lines: StreamLines

  init(_ choices: UInt8, _ pieces: [[UInt8]]) {
    limits = choices & 1 == 0 ? EventStreamLimits() : EventStreamLimits(line: 24, event: 32)
    format = [BodyFormat.lines, .textSequence, .document, .lines][Int(choices >> 2 & 3)]
    lines = StreamLines(forTerminal: choices & 32 != 0)
    parser = EventStreamParser(limits: limits)
    parser.begin(format)
    do throws(EventStreamError) {
      for piece in pieces {
        parser.input.append(piece)
        try readEvents()
      }
      // An empty body was never read.
      try readEvents()
      if parser.endBody(isMarked: choices & 2 == 0) { try readEvents() }
      isCut = parser.isInsideEvent
    } catch { self.error = error }
  }

  private func readEvents() throws(EventStreamError) {
    while let event = try parser.next() { take(event) }
  }

  private func take(_ event: EventStreamEvent) {
    require(event.data.count <= limits.event, "data beyond the limit")
    require(!event.data.isEmpty && UTF8Validator.isValid(event.data), "data that is not UTF-8")
    require(event.type.equals("message"), "another name")
    lines.check(event)
    data.append(event.data.text)
  }
}
