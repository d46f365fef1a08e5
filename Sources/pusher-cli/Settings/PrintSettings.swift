internal import PusherCore

/// Which events a command prints, how, and until when.
struct PrintSettings: Equatable, Sendable {
  /// Globs on the event's name; empty means all.
  var includedEvents: [String]
  var excludedEvents: [String]
  /// Globs on the name of the event that ends the run with success; empty means none.
  var untilEvents: [String] = []
  /// How many printed events end the run with success.
  var count: Int?
  var timeout: Duration?
  var idleTimeout: Duration?
  var output: OutputFormat
  /// What is printed in place of the output format.
  var template: FormatTemplate?
  /// The byte after each event: newline or NUL.
  var terminator: UInt8
  var hasTimestamps: Bool
  /// Whether `data` stays the string it was on the wire.
  var keepsRawData: Bool
  var printsLifecycle: Bool
  /// Bytes that may wait for a slow reader before the socket is left unread.
  var bufferSize: Int
  /// Colour on standard output; `auto` means when it is a terminal.
  var color: ColorChoice
  /// A command to run once the run is ready.
  var onReady: String?
  /// A descriptor that is told so.
  var readyDescriptor: Int32?
  /// How often the state of the run is told.
  var statsInterval: Duration?
  /// Whether a table of events is told at the end.
  var printsSummary = false
  /// A file that takes the place of standard output.
  var outputFile: String?
  /// A file that gets every event, printed or not.
  var recordFile: String?
  /// How long what was written to it may stay in the system's memory at most.
  var syncInterval: Duration?
  /// A file that is touched while the server is heard.
  var healthFile: String?
  /// Where the run tells how it is.
  var monitor: MonitorSettings?
  /// What gets the events besides the output, or in its place.
  var handler: HandlerSettings?
  /// What `pretty` writes on.
  var page = PageSettings()
}

/// The page on which events stand for people.
struct PageSettings: Equatable, Sendable {
  /// Its columns where there is no terminal that knows them.
  var columns = 80
  /// Whether more than ASCII can be shown.
  var isUnicode = false
}

/// The command of `--exec` and how it is run.
struct HookSettings: Equatable, Sendable {
  /// What a failed command does to the run.
  enum FailureRule: String, CaseIterable, Sendable {
    case `continue`
    case stop
  }

  var command: String
  /// How many may run at once.
  var jobs: Int
  /// How long one may take; `nil` for as long as it likes.
  var timeout: Duration?
  var onFailure: FailureRule
  /// Whether events are printed besides.
  var prints: Bool
}

/// The shape of what a command prints.
enum OutputFormat: String, CaseIterable, Sendable {
  case json
  case pretty
  case raw
}

extension SettingsReader {
  /// What was typed about printing.
  mutating func printing() throws(UsageError) -> PrintSettings {
    let output: OutputFormat = try choice(.output, "PUSHER_CLI_OUTPUT")
    let template = try template()
    let handler = try handler()
    let outputFile = try outputFile(handler)
    return PrintSettings(
      includedEvents: typed.texts(.event), excludedEvents: typed.texts(.excludeEvent),
      untilEvents: typed.texts(.untilEvent), count: typed.integer(.count),
      timeout: typed.duration(.timeout),
      idleTimeout: typed.duration(.idleTimeout),
      output: output, template: template,
      terminator: typed.isOn(.null) ? 0 : UInt8(ascii: "\n"),
      hasTimestamps: typed.isOn(.timestamps), keepsRawData: typed.isOn(.rawData),
      printsLifecycle: typed.isOn(.lifecycle), bufferSize: typed.bytes(.buffer),
      // A template is for programs, whatever the format would have been.
      color: try color(for: template == nil ? output : .raw),
      onReady: typed.text(.onReady), readyDescriptor: try readyDescriptor(),
      statsInterval: typed.duration(.stats), printsSummary: typed.isOn(.summary),
      outputFile: outputFile, recordFile: try recordFile(outputFile),
      syncInterval: typed.duration(.sync),
      healthFile: typed.text(.healthFile), monitor: try monitoring(), handler: handler, page: page)
  }

  /// The file of `--output-file`.
  ///
  /// - Throws: ``UsageError`` where no event would reach it, and for `--sync` without it.
  private mutating func outputFile(_ handler: HandlerSettings?) throws(UsageError) -> String? {
    try typed.require(.sync, with: .outputFile)
    guard let path = typed.text(.outputFile) else { return nil }
    if let handler, !handler.prints {
      throw UsageError("--output-file gets no event beside --exec or --forward: add --tee")
    }
    return path
  }

  /// The file of `--record`.
  ///
  /// - Throws: ``UsageError`` where that is the file of `--output-file`, whose lines would stand there twice.
  private func recordFile(_ outputFile: String?) throws(UsageError) -> String? {
    guard let path = typed.text(.recordEvents) else { return nil }
    if let outputFile, outputFile.utf8.elementsEqual(path.utf8) {
      throw UsageError("--record and --output-file name the same file; give each a file of its own")
    }
    return path
  }

  /// The page that the environment describes.
  private var page: PageSettings {
    var page = PageSettings()
    if let columns = environment["COLUMNS"].flatMap(Quantities.integer), columns > 0 {
      page.columns = columns
    }
    let locale = environment["LC_ALL"] ?? environment["LC_CTYPE"] ?? environment["LANG"] ?? ""
    let name = locale.lowercased()
    page.isUnicode = name.range(ofBytes: "utf-8") != nil || name.range(ofBytes: "utf8") != nil
    return page
  }

  /// The descriptor of `--ready-fd`, which the caller must have opened.
  private func readyDescriptor() throws(UsageError) -> Int32? {
    guard let number = typed.integer(.readyFD) else { return nil }
    let descriptor = Int32(clamping: number)
    guard files.isOpen(descriptor) else {
      throw UsageError(
        "--ready-fd: descriptor \(number) is not open; write \(number)>FILE after the command")
    }
    return descriptor
  }

  /// The template of `--format`.
  ///
  /// - Throws: ``UsageError`` for one that cannot be read, and beside another format.
  private func template() throws(UsageError) -> FormatTemplate? {
    guard let text = typed.text(.format) else { return nil }
    try typed.exclude(.format, .output)
    if typed.isOn(.timestamps) {
      throw UsageError(
        "--format says itself where the time stands: write %t, and leave out --timestamps")
    }
    return try FormatTemplate(text)
  }
}
