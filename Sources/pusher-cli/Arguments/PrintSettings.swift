/// Which events a command prints, how, and until when.
protocol PrintSettings: Sendable {
  /// Globs on the event's name; empty means all.
  var includedEvents: [String] { get }
  var excludedEvents: [String] { get }
  /// How many printed events end the run with success.
  var count: Int? { get }
  var timeout: Duration? { get }
  var idleTimeout: Duration? { get }
  var output: OutputFormat { get }
  /// What is printed in place of the output format.
  var template: FormatTemplate? { get }
  /// The byte behind each event: newline or NUL.
  var terminator: UInt8 { get }
  var hasTimestamps: Bool { get }
  /// Whether `data` stays the string it was on the wire.
  var keepsRawData: Bool { get }
  var printsLifecycle: Bool { get }
  /// Bytes that may wait for a slow reader before the socket is left unread.
  var bufferSize: Int { get }
  /// Colour on standard output; `auto` means when it is a terminal.
  var color: ColorChoice { get }
}

/// The shape of what a command prints.
enum OutputFormat: String, CaseIterable, Sendable {
  case json
  case pretty
  case raw
}

extension SettingsReader {
  /// The template of `--format`.
  ///
  /// - Throws: ``UsageError`` for one that cannot be read, and beside another format.
  func template() throws(UsageError) -> FormatTemplate? {
    guard let text = typed.text(.format) else { return nil }
    guard typed.text(.output) == nil else {
      throw UsageError("--format and --output exclude each other; give one")
    }
    return try FormatTemplate(text)
  }
}
