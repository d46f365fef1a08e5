internal import PusherCore
internal import PusherLines

/// Writes the program's messages to descriptor 2, each as one line and one `write(2)`.
///
/// A message is `pusher-cli: text`: lower case, no full stop, no time, with `error:` or `warning:`
/// where that applies. Control characters are escaped, so that foreign text cannot break the line
/// or drive a terminal. Standard output is for events only.
struct Diagnostics: Sendable {
  enum Level: Int, Comparable, Sendable {
    case error
    case warning
    /// Changes of the connection and its channels.
    case info
    /// Protocol frames.
    case debug
    static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }

    fileprivate var journalPrefix: String {
      switch self {
      case .error: "<3>"
      case .warning: "<4>"
      case .info, .debug: "<6>"
      }
    }
  }

  let threshold: Level
  let isJournal: Bool
  var paint = MessagePaint.plain
  var trace: TraceFile?
  let emit: @Sendable ([UInt8]) -> Void
}

extension Diagnostics {
  /// Writes messages to descriptor 2.
  ///
  /// `-q` keeps errors only, `-v` adds info, `-vv` adds frames. Without either option a terminal
  /// shows info, and any other output warnings and errors only. `color` decides on the colour of
  /// `error:` and `warning:`; the journal gets none.
  init(
    verbosity: Verbosity, color: ColorChoice, environment: [String: String], trace: TraceFile? = nil
  ) {
    let isTerminal = StandardDescriptors.isTerminal(2)
    let isJournal = StandardDescriptors.isJournal(environment["JOURNAL_STREAM"])
    let paint: MessagePaint = color.isOn(forTerminal: isTerminal) && !isJournal ? .colours : .plain
    // `shared` opens descriptor 2 now: later it may be closed.
    let errors = StandardError.shared
    self.init(
      threshold: Self.threshold(verbosity, isTerminal: isTerminal), isJournal: isJournal,
      paint: paint, trace: trace, emit: { errors.write($0, warning: paint.warning) })
  }

  func error(_ text: String) { say(.error, text, after: paint.error) }
  func warning(_ text: String) { say(.warning, text, after: paint.warning) }
  /// Prints a warning that `-q` does not silence.
  func loudWarning(_ text: String) { say(.warning, text, after: paint.warning, isLoud: true) }
  func info(_ text: String) { say(.info, text) }
  /// Prints a requested answer, which `-q` does not silence.
  func answer(_ text: String) { say(.error, text) }
  /// Prints necessary information such as an address; only `-q` silences it.
  func notice(_ text: String) { say(.warning, text) }

  /// Prints a detail of the run with `-vv`; `--trace` does not get it.
  func detail(_ text: String) { say(.debug, text) }

  func debug(_ text: @autoclosure () -> String) {
    guard showsMessages else { return }
    let text = text()
    say(.debug, text)
    if let problem = trace?.add(text) { warning(problem) }
  }

  var showsMessages: Bool { isShown(.debug) || trace != nil }

  func usage(_ error: UsageError) {
    guard let pointer = error.pointer else { return self.error(error.message) }
    say(.error, error.message)
    emit(Array(((isJournal ? Level.error.journalPrefix : "") + pointer + "\n").utf8))
  }

  func isShown(_ level: Level) -> Bool { level <= threshold }

  private func say(
    _ level: Level, _ text: String, after word: StaticString = "", isLoud: Bool = false
  ) {
    guard isLoud || isShown(level) else { return }
    let prefix = isJournal ? level.journalPrefix : ""
    // `-vv` shows whole protocol messages; all other text from a peer is shortened.
    let shown = level == .debug ? text : Redaction.withoutPasswords(Self.shortened(text))
    emit(Array("\(prefix)pusher-cli: \(word)\(Self.escaped(shown))\n".utf8))
  }
}

/// The words before a message's text, each with a trailing blank.
struct MessagePaint: Sendable {
  let error: StaticString
  let warning: StaticString
  static let plain = MessagePaint(error: "error: ", warning: "warning: ")
  static let colours = MessagePaint(
    error: "\u{1B}[1;31merror:\u{1B}[0m ", warning: "\u{1B}[33mwarning:\u{1B}[0m ")
}

extension Diagnostics {
  static func threshold(_ verbosity: Verbosity, isTerminal: Bool) -> Level {
    switch verbosity {
    case .quiet: .error
    case .normal: isTerminal ? .info : .warning
    case .verbose: .info
    case .frames: .debug
    }
  }

  static let longestMessage = 4096

  static func shortened(_ text: String) -> String {
    guard text.utf8.count > longestMessage else { return text }
    let beginning = text.beginning(bytes: longestMessage)
    return "\(beginning)… (\(text.utf8.count - beginning.utf8.count) more bytes)"
  }

  /// Shortens an app key for messages to a recognisable start, such as `ab12…`.
  static func shortened(key: String) -> String { key.count <= 4 ? key : key.prefix(4) + "…" }

  static func escaped(_ text: String) -> String { TerminalText.escaped(text) }
}

extension String {
  /// The whole characters in the first `bytes` bytes; the string must be at least that long.
  func beginning(bytes: Int) -> Substring {
    var end = utf8.index(startIndex, offsetBy: bytes)
    while end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
    return self[..<end]
  }
}

/// Writes to descriptor 2; a reader that has stopped reading cannot block the program.
///
/// A message waits briefly for room. Without room it is dropped, and so are later ones until there
/// is room again. The next message is preceded by the number of dropped ones. A line is one
/// `write(2)` up to the size that a pipe takes as a whole.
final class StandardError: @unchecked Sendable {
  // Sendable: only the main thread uses it, but ``Diagnostics`` holds it and must be Sendable.
  static let shared = StandardError(2)

  /// `nil` if descriptor 2 is closed: messages are dropped.
  private let descriptor: OutputDescriptor?
  private var isStalled = false
  /// True if the last line was cut, so that the next one needs a newline first.
  private var isCut = false
  private var leftOut = 0

  /// Maximum wait of a message, in milliseconds, and its number of turns.
  private static let patience: Int32 = 200
  private static let turns = 20
  /// Maximum size of a write that does not block after `poll` reports room.
  private static let pieceSize = 4096

  init(_ descriptor: Int32) { self.descriptor = OutputDescriptor(descriptor, enlargesPipe: false) }

  /// Writes a whole line, or counts it as dropped; a failure cannot be reported.
  func write(_ line: [UInt8], warning: StaticString = MessagePaint.plain.warning) {
    guard let descriptor else { return }
    var bytes = isCut ? [UInt8(ascii: "\n")] : []
    if leftOut > 0 {
      bytes += "pusher-cli: \(warning)\(leftOut) messages were dropped: nobody read them\n".utf8
    }
    // Size of the report about dropped lines, which is made once these bytes are written.
    let told = bytes.count
    bytes += line
    var rest = bytes[...]
    var turns = isStalled ? 1 : Self.turns
    while !rest.isEmpty {
      let outcome = unsafe rest.prefix(Self.pieceSize).withUnsafeBytes {
        unsafe descriptor.write($0)
      }
      switch outcome {
      case .written(let count): rest = rest.dropFirst(count)
      case .failed, .unopened: return
      case .wouldBlock:
        turns -= 1
        guard turns > 0 else { return leaveOut(written: bytes.count - rest.count, told: told) }
        wait(for: descriptor)
      }
    }
    isStalled = false
    isCut = false
    leftOut = 0
  }

  /// Drops a line; the next one ends a part that was written.
  private func leaveOut(written: Int, told: Int) {
    isStalled = true
    // The report of dropped lines ends with a newline.
    isCut = written > 0 ? written != told : isCut
    if written >= told { leftOut = 0 }
    leftOut += 1
  }

  /// Waits briefly for room, never without end: a terminal may report room and accept nothing.
  private func wait(for descriptor: OutputDescriptor) {
    let pause = Self.patience / Int32(Self.turns)
    if SystemCalls.hasRoom(descriptor.number, milliseconds: pause) {
      SystemCalls.pause(milliseconds: 1)
    }
  }
}

extension Redaction {
  /// Replaces user and password of each URL, also a malformed one, by `…`.
  ///
  /// Inside quotes, which hold the user's text, everything up to the last `@` is hidden.
  static func withoutPasswords(_ text: String) -> String {
    let bytes = Array(text.utf8)
    guard bytes.contains(UInt8(ascii: "@")) else { return text }
    var result: [UInt8] = []
    var index = 0
    while index < bytes.count {
      if let hidden = userInformation(in: bytes, at: index) {
        result += "…".utf8
        index = hidden
      } else {
        result.append(bytes[index])
        index += 1
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// Returns the place of the `@` that ends user information at `start`, if any.
  private static func userInformation(in bytes: [UInt8], at start: Int) -> Int? {
    let quote = UInt8(ascii: "'")
    let isBehindScheme = start >= 3 && bytes[(start - 3)..<start].elementsEqual("://".utf8)
    let isBehindQuote = start >= 1 && bytes[start - 1] == quote
    guard isBehindScheme || isBehindQuote else { return nil }
    var opening = start - 4
    while isBehindScheme, opening >= 0, (bytes[opening] | 0x20) &- 0x61 < 26 { opening -= 1 }
    let isQuoted = isBehindQuote || opening >= 0 && bytes[opening] == quote
    let rest = bytes[start...]
    // The user's text may contain a quote, so the last quote ends it.
    let end =
      isQuoted
      ? rest.lastIndex(of: quote) : rest.firstIndex { $0 <= 0x20 || "'\"/".utf8.contains($0) }
    let place = rest[..<(end ?? bytes.count)]
    guard let at = place.lastIndex(of: UInt8(ascii: "@")), at > start else { return nil }
    let information = place[..<at]
    // The form that messages recommend.
    guard !information.elementsEqual("KEY:SECRET".utf8) else { return nil }
    guard !isBehindScheme else { return at }
    // Without a scheme it is `USER:PASSWORD@…`; the loop reaches a URL with a scheme later.
    let isPair = information.contains(UInt8(ascii: ":")) && information.first != UInt8(ascii: ":")
    let isWord = information.allSatisfy { $0 > 0x20 && $0 != UInt8(ascii: "/") }
    return isPair && isWord && end != nil ? at : nil
  }
}
