/// The program's messages to people, on descriptor 2: one line and one `write(2)` a message.
///
/// The voice: `pusher-cli: text`, lower case, no full stop, no time, `error:` and `warning:` only where they
/// are. Control characters of foreign text are escaped, so that a message stays one line and cannot drive
/// a terminal. Standard output belongs to events alone.
struct Diagnostics: Sendable {
  /// How much a message matters.
  enum Level: Int, Comparable, Sendable {
    case error
    case warning
    /// Events of the connection and its channels.
    case info
    /// Protocol frames.
    case debug

    static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }

    /// The priority systemd's journal reads at the start of a line.
    fileprivate var journalPrefix: String {
      switch self {
      case .error: "<3>"
      case .warning: "<4>"
      case .info, .debug: "<6>"
      }
    }
  }

  /// The least important level that is still said.
  let threshold: Level
  private let isJournal: Bool
  private let paint: MessagePaint
  /// Where protocol messages go besides, with `--trace`.
  private let trace: TraceFile?
  private let emit: @Sendable ([UInt8]) -> Void

  /// A voice for tests, or for a descriptor 2 that was examined.
  init(
    threshold: Level, isJournal: Bool, paint: MessagePaint = .plain, trace: TraceFile? = nil,
    emit: @escaping @Sendable ([UInt8]) -> Void
  ) {
    self.threshold = threshold
    self.paint = paint
    self.trace = trace
    self.isJournal = isJournal
    self.emit = emit
  }

  /// The voice on descriptor 2.
  ///
  /// `-q` leaves errors, `-v` adds what happens, `-vv` the frames. Without either a terminal shows what
  /// happens, and anything else warnings and errors only. `color` says whether the words of errors and warnings are
  /// coloured; for the journal they never are.
  init(
    verbosity: Verbosity, color: ColorChoice, environment: [String: String],
    trace: TraceFile? = nil
  ) {
    let isTerminal = StandardDescriptors.isTerminal(2)
    let isJournal = StandardDescriptors.isJournal(environment["JOURNAL_STREAM"])
    let paint: MessagePaint =
      color.isOn(forTerminal: isTerminal) && !isJournal ? .colours : .plain
    // It takes its descriptor now: later there may be none.
    let errors = StandardError.shared
    self.init(
      threshold: Self.threshold(verbosity, isTerminal: isTerminal),
      isJournal: isJournal, paint: paint, trace: trace,
      emit: { errors.write($0, warning: paint.warning) })
  }

  func error(_ text: String) { say(.error, text, after: paint.error) }
  func warning(_ text: String) { say(.warning, text, after: paint.warning) }
  /// A warning that nothing silences.
  func loudWarning(_ text: String) { say(.warning, text, after: paint.warning, isLoud: true) }
  func info(_ text: String) { say(.info, text) }
  /// The answer to a question; nothing silences it.
  func answer(_ text: String) { say(.error, text) }
  /// What the user must know to go on, such as an address; only `-q` silences it.
  func notice(_ text: String) { say(.warning, text) }

  /// Something about the run itself that only `-vv` asks for; a trace is for messages.
  func detail(_ text: String) { say(.debug, text) }

  /// A protocol frame or the like; `text` is made only when it will be said.
  func debug(_ text: @autoclosure () -> String) {
    guard showsMessages else { return }
    let text = text()
    say(.debug, text)
    if let problem = trace?.add(text) { warning(problem) }
  }

  /// Whether protocol messages are shown.
  var showsMessages: Bool { isSaid(.debug) || trace != nil }

  /// A mistake of the caller, with a line that points to help if there is one.
  func usage(_ error: UsageError) {
    guard let pointer = error.pointer else { return self.error(error.message) }
    say(.error, error.message)
    emit(Array(((isJournal ? Level.error.journalPrefix : "") + pointer + "\n").utf8))
  }

  /// Whether messages of this level come out.
  func isSaid(_ level: Level) -> Bool { level <= threshold }

  private func say(
    _ level: Level, _ text: String, after word: StaticString = "", isLoud: Bool = false
  ) {
    guard isLoud || isSaid(level) else { return }
    let prefix = isJournal ? level.journalPrefix : ""
    // Protocol messages are what -vv asks for, whole; everything else from a peer is shortened.
    let shown = level == .debug ? text : Redaction.withoutPasswords(Self.shortened(text))
    emit(Array("\(prefix)pusher-cli: \(word)\(Self.escaped(shown))\n".utf8))
  }
}

/// The words before the text of a message, with the blank after them.
struct MessagePaint: Sendable {
  let error: StaticString
  let warning: StaticString

  static let plain = MessagePaint(error: "error: ", warning: "warning: ")
  /// Errors are red and bold, warnings yellow.
  static let colours = MessagePaint(
    error: "\u{1B}[1;31merror:\u{1B}[0m ", warning: "\u{1B}[33mwarning:\u{1B}[0m ")
}

extension Diagnostics {
  /// The threshold `-q` and `-v` ask for.
  static func threshold(_ verbosity: Verbosity, isTerminal: Bool) -> Level {
    switch verbosity {
    case .quiet: .error
    case .normal: isTerminal ? .info : .warning
    case .verbose: .info
    case .frames: .debug
    }
  }

  /// The longest message that is shown whole, in bytes.
  static let longestMessage = 4096

  /// A message that is not endless: its beginning, and how much was left out.
  static func shortened(_ text: String) -> String {
    guard text.utf8.count > longestMessage else { return text }
    let beginning = text.beginning(bytes: longestMessage)
    return "\(beginning)… (\(text.utf8.count - beginning.utf8.count) more bytes)"
  }

  /// An app key as messages show it: enough to know it again, such as `ab12…`.
  static func shortened(key: String) -> String {
    key.count <= 4 ? key : key.prefix(4) + "…"
  }

  /// The text with control characters, line separators and direction marks written as `\u{…}`.
  static func escaped(_ text: String) -> String {
    // Most text is printing ASCII, and its bytes need not be made scalars.
    if text.utf8.allSatisfy({ 0x20..<0x7F ~= $0 }) { return text }
    guard text.unicodeScalars.contains(where: isDangerous) else { return text }
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case _ where isDangerous(scalar):
        result += "\\u{\(String(scalar.value, radix: 16))}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  private static func isDangerous(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0: true
    case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
  }
}

extension String {
  /// The whole characters of the first bytes, which must be there.
  func beginning(bytes: Int) -> Substring {
    var end = utf8.index(startIndex, offsetBy: bytes)
    while end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
    return self[..<end]
  }
}
