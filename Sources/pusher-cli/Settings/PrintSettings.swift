internal import PusherCore

/// Which events a command prints, how, and how many.
struct PrintSettings: Equatable, Sendable {
  /// Globs on the event's name; empty means all.
  var includedEvents: [String]
  var excludedEvents: [String]
  /// Globs on the name of the event that ends the run with success; empty means none.
  var untilEvents: [String] = []
  /// How many printed events end the run with success.
  var count: Int?
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
  /// Whether a table of events is told at the end.
  var printsSummary = false
  /// Whether events stand in the output.
  var printsEvents = true
  /// Maximum number of channels whose events are counted; `nil` if none are.
  var countedChannels: Int?
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

/// The shape of what a command prints.
enum OutputFormat: String, CaseIterable, Sendable {
  case json
  case pretty
  case raw
}

extension SettingsReader {
  /// What was typed about printing, for a run with these settings.
  mutating func printing(_ run: RunSettings) throws(UsageError) -> PrintSettings {
    let output: OutputFormat = try choice(.output)
    let template = try template()
    return PrintSettings(
      includedEvents: typed.texts(.event), excludedEvents: typed.texts(.excludeEvent),
      untilEvents: typed.texts(.untilEvent), count: typed.integer(.count),
      output: output, template: template,
      terminator: typed.isOn(.null) ? 0 : UInt8(ascii: "\n"),
      hasTimestamps: typed.isOn(.timestamps), keepsRawData: typed.isOn(.rawData),
      printsLifecycle: typed.isOn(.lifecycle), bufferSize: typed.bytes(.buffer),
      // A template is for programs, whatever the format would have been.
      color: try color(for: template == nil ? output : .raw),
      printsSummary: typed.isOn(.summary), printsEvents: run.handler?.prints ?? true,
      countedChannels: run.monitor?.channels, page: page)
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

  /// The template of `--format`.
  ///
  /// - Throws: ``UsageError`` for one that cannot be read.
  private func template() throws(UsageError) -> FormatTemplate? {
    try typed.text(.format).map(FormatTemplate.init)
  }
}
