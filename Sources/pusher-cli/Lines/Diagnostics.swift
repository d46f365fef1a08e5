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
