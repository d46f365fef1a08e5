import PusherCore
import TestSupport
import Testing

@testable import PusherLines
@testable import pusher_cli

/// The fast and the general way from a message to its line, side by side.
///
/// The message lies within a larger buffer with other bytes around it, as in a socket's buffer.
final class LineRig {
  struct Outcome {
    let fast: EventTranscoder.Outcome
    /// The line of the general way; `nil` for a malformed message.
    let line: [UInt8]?
  }

  private let input = ByteBuffer(capacity: 1 << 16)
  private let fastOutput = ByteBuffer(capacity: 1 << 16)
  private let generalOutput = ByteBuffer(capacity: 1 << 16)
  private let mixedOutput = ByteBuffer(capacity: 1 << 16)
  private let fast: LineMaker
  private let general: LineMaker
  /// Writes the members one by one, and the data in one pass.
  private let mixed: LineMaker
  private let before = Array("before|".utf8)

  init(receivedAt: String? = nil, terminator: UInt8 = 0x0A) {
    fast = LineMaker(output: fastOutput, service: .pusher, terminator: terminator)
    general = LineMaker(
      output: generalOutput, service: .pusher, terminator: terminator, usesFastWay: false)
    mixed = LineMaker(output: mixedOutput, service: .pusher, terminator: terminator)
    if let receivedAt { for maker in [fast, general, mixed] { maker.setReceivedAt(receivedAt) } }
  }

  /// Runs both ways and checks the properties of every message.
  @discardableResult
  func check(
    _ message: [UInt8], behind: [UInt8] = Array(#""}}]"#.utf8), offset: Int = 0,
    filter: EventFilter? = nil, sourceLocation: SourceLocation = #_sourceLocation
  ) -> Outcome {
    input.removeAll()
    input.append([UInt8](repeating: UInt8(ascii: "{"), count: offset))
    input.append(message)
    input.append(behind)
    let whole = input.array
    let view = input.view[offset..<(offset + message.count)]
    let result = runFast(view, filter: filter)
    let line = runGeneral(view)
    let problem =
      Self.problem(result, fast: fastOutput.array, before: before, line: line)
      ?? (input.array == whole ? nil : "the input has changed")
      ?? line.flatMap { Self.partsProblem($0, view) }
      ?? (line == nil || line == mixedOutput.array ? nil : "data in one pass differs")
    if let problem {
      let text = String(decoding: message, as: UTF8.self)
      let written = fastOutput.view.text
      Issue.record("\(problem): \(text) -> \(written)", sourceLocation: sourceLocation)
    }
    return Outcome(fast: result, line: line)
  }

  @discardableResult
  func check(
    _ message: String, behind: String = #""}}]"#, sourceLocation: SourceLocation = #_sourceLocation
  ) -> Outcome {
    check(Array(message.utf8), behind: Array(behind.utf8), sourceLocation: sourceLocation)
  }

  private func runFast(_ view: ByteView, filter: EventFilter?) -> EventTranscoder.Outcome {
    fastOutput.removeAll()
    fastOutput.append(before)
    return fast.writeFast(view, filter: filter.map(FilterMemory.init))
  }

  private func runGeneral(_ view: ByteView) -> [UInt8]? {
    generalOutput.removeAll()
    do {
      mixedOutput.removeAll()
      general.write(try Envelope(view))
      mixed.write(try Envelope(view))
      return generalOutput.array
    } catch {
      return nil
    }
  }

  /// Checks that the parts of the line are those of the message.
  private static func partsProblem(_ line: [UInt8], _ message: ByteView) -> String? {
    withView(line) { view in
      guard let envelope = try? Envelope(message) else { return "a line of no message" }
      let line = EventLine(view)
      let isRight =
        line.name == envelope.eventName
        && line.channel.map(JSONString.decode) == envelope.channelName
        && line.userID.map(JSONString.decode) == envelope.userIDToken.map(JSONString.decode)
        && line.shownData == envelope.data
      return isRight ? nil : "the line has other parts"
    }
  }

  private static func problem(
    _ result: EventTranscoder.Outcome, fast: [UInt8], before: [UInt8], line: [UInt8]?
  ) -> String? {
    if let line, let problem = StrictJSON.problem(in: line.dropLast()) {
      return "the general line is broken (\(problem))"
    }
    guard result == .written else {
      return fast == before ? nil : "the fast way declined but wrote"
    }
    guard let line else { return "the fast way took a malformed message" }
    return fast == before + line ? nil : "the two lines differ"
  }
}

extension StrictJSON {
  static func problem(in bytes: ArraySlice<UInt8>) -> String? { problem(in: Array(bytes)) }
}

/// A printer into memory, at one time.
struct PrinterRig {
  static let time = WallTime(millisecondsSince1970: 1_763_689_171_121)

  let printer: Printer
  private let output = ByteBuffer()

  init(_ settings: PrintSettings, service: PusherService? = .pusher, isTerminal: Bool = false) {
    printer = Printer(
      settings: settings, service: service, output: output, isTerminal: isTerminal,
      wallTime: { Self.time })
  }

  /// Prints a message by the fast way, or by the general one if that declines.
  ///
  /// - Returns: True for the fast way.
  @discardableResult
  func take(_ message: [UInt8]) -> Bool {
    withView(message) { view in
      guard printer.take(message: view) == .declined else { return true }
      if let envelope = try? Envelope(view) { printer.print(envelope) }
      return false
    }
  }

  /// Prints a message by the general way.
  func takeGenerally(_ message: [UInt8]) {
    Envelope.with(message) { printer.print($0) }
  }

  /// Returns what was printed since the last call.
  func printed() -> String {
    defer { output.removeAll() }
    return output.view.text
  }
}

extension PrintSettings {
  /// Settings that print all events in one form.
  init(_ form: EventForm, conditions: [String] = [], count: Int? = nil) throws {
    self.init(
      includedEvents: [], excludedEvents: [],
      conditions: try conditions.map { try WhereClause($0) },
      count: count, form: form, bufferSize: 16 << 20)
  }
}
