import PusherCore
import TestSupport

/// Compares event streams (HTML section 9.2) with a simple reader of the same section, and checks
/// their lines.
///
/// Input: a byte of choices, a byte that cuts, then the server's bytes. The cuts must change
/// nothing. Without limits the events match the simple reader's. Each line is one JSON value, the
/// same by both ways.
func fuzzEventStream(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  var input = FuzzInput(start, count)
  let (choices, cut) = input.choicesAndCut()
  let bytes = input.bytes
  let whole = StreamRun(choices, [bytes])
  let other = StreamRun(choices, pieces(of: bytes, cut: cut))
  require(whole.events == other.events, "the events differ with the cut")
  require(whole.error == other.error, "the error differs with the cut")
  require(whole.parser.lastEventID == other.parser.lastEventID, "the id differs with the cut")
  require(
    whole.parser.reconnectionTime == other.parser.reconnectionTime,
    "the reconnection time differs with the cut")
  if choices & 1 == 0 {
    let plain = PlainReader(bytes)
    require(whole.error == nil, "an error without a limit")
    require(whole.events == plain.events, "\(whole.events) instead of \(plain.events)")
    require(whole.parser.lastEventID == plain.lastEventID, "the last event ID")
    require(whole.parser.reconnectionTime == plain.reconnectionTime, "the reconnection time")
  }
  return 0
}

private struct Event: Equatable {
  var type: String
  var data: String
  var id: String
}

private final class StreamRun {
  let parser: EventStreamParser
  private(set) var events: [Event] = []
  private(set) var error: EventStreamError?
  private let limits: EventStreamLimits
  private let lines: StreamLines

  init(_ choices: UInt8, _ pieces: [[UInt8]]) {
    limits = choices & 1 == 0 ? EventStreamLimits() : EventStreamLimits(line: 24, event: 32)
    parser = EventStreamParser(limits: limits)
    lines = StreamLines(forTerminal: choices & 4 != 0)
    do throws(EventStreamError) {
      for piece in pieces {
        parser.input.append(piece)
        while let event = try parser.next() { take(event) }
      }
    } catch { self.error = error }
  }

  private func take(_ event: EventStreamEvent) {
    require(event.data.count <= limits.event, "data beyond the limit")
    for part in [event.type, event.data, event.lastEventID] {
      require(UTF8Validator.isValid(part), "a part that is not UTF-8")
    }
    lines.check(event)
    events.append(Event(type: event.type.text, data: event.data.text, id: event.lastEventID.text))
  }
}

/// The standard's own steps on the whole text, one after the other.
private struct PlainReader {
  private(set) var events: [Event] = []
  private(set) var lastEventID = ""
  private(set) var reconnectionTime: Int?
  private var data = ""
  private var type = ""
  private var id = ""

  init(_ bytes: [UInt8]) {
    var scalars = Array(String(decoding: bytes, as: UTF8.self).unicodeScalars)[...]
    if scalars.first == "\u{FEFF}" { scalars = scalars.dropFirst() }
    while let end = scalars.firstIndex(where: { $0 == "\n" || $0 == "\r" }) {
      take(Array(scalars[..<end]))
      let isPair = scalars[end] == "\r" && end + 1 < scalars.endIndex && scalars[end + 1] == "\n"
      scalars = scalars[(end + (isPair ? 2 : 1))...]
    }
  }

  private mutating func take(_ line: [Unicode.Scalar]) {
    guard !line.isEmpty else { return dispatch() }
    let colon = line.firstIndex(of: ":") ?? line.endIndex
    var value = line[colon...].dropFirst()
    if value.first == " " { value = value.dropFirst() }
    switch Self.text(line[..<colon]) {
    case "data": data += Self.text(value) + "\n"
    case "event": type = Self.text(value)
    case "id": if !value.contains("\0") { id = Self.text(value) }
    case "retry":
      guard !value.isEmpty, value.allSatisfy({ ("0"..."9").contains($0) }) else { return }
      reconnectionTime = Int(Self.text(value)) ?? .max
    default: break
    }
  }

  private mutating func dispatch() {
    lastEventID = id
    if !data.isEmpty {
      data.unicodeScalars.removeLast()
      events.append(Event(type: type.isEmpty ? "message" : type, data: data, id: id))
    }
    data = ""
    type = ""
  }

  private static func text(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
    String(String.UnicodeScalarView(scalars))
  }
}
