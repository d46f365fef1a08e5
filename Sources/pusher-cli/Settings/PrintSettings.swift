internal import PusherCore
internal import PusherLines

struct PrintSettings: Equatable, Sendable {
  /// Patterns for the event name; empty for all events.
  var includedEvents: [String]
  var excludedEvents: [String]
  /// All of these must hold for an event.
  var conditions: [WhereClause] = []
  /// Patterns for the event that ends the run with success.
  var untilEvents: [String] = []
  /// Data of the event that ends the run with success.
  var untilData: DataPattern?
  /// Patterns for the event that ends the run with failure.
  var failEvents: [String] = []
  /// One of these ends the run with failure.
  var failConditions: [WhereClause] = []
  var count: Int?
  var form: EventForm
  var printsLifecycle = false
  /// Maximum size of waiting output, in bytes, before the socket stays unread.
  var bufferSize: Int
  var printsSummary = false
  /// False if only the handler gets events.
  var printsEvents = true
  /// True to count the events of each channel, for `--metrics`.
  var countsChannels = false

  var wishes: RunWishes {
    RunWishes(count: count, untilData: untilData?.text, untilEvents: untilEvents)
  }
}

/// The form in which events are printed.
struct EventForm: Equatable, Sendable {
  var output: OutputFormat
  var template: FormatTemplate?
  /// Field of the data that is printed in place of the line.
  var field: FieldPath?
  /// Prints the fields without line ends between them.
  var joinsFields = false
  /// Byte after each event: newline or NUL.
  var terminator = UInt8(ascii: "\n")
  var hasTimestamps = false
  /// Colour on standard output; `auto` means on a terminal.
  var color: ColorChoice
  var page = PageSettings()
}

struct PageSettings: Equatable, Sendable {
  /// Columns if no terminal reports its width.
  var columns = 80
  var isUnicode = false
}

enum OutputFormat: String, CaseIterable, Sendable { case json, pretty, raw }

extension SettingsReader {
  mutating func printing(_ run: RunSettings) throws(UsageError) -> PrintSettings {
    PrintSettings(
      includedEvents: try patterns(.event), excludedEvents: try patterns(.excludeEvent),
      conditions: try conditions(of: .whereExpression), untilEvents: try patterns(.untilEvent),
      untilData: try patterns(.until).last.map(DataPattern.init),
      failEvents: try patterns(.failEvent), failConditions: try conditions(of: .failWhere),
      count: typed.integer(.count), form: try form(),
      printsLifecycle: typed.isOn(.lifecycle), bufferSize: typed.bytes(.buffer),
      printsSummary: typed.isOn(.summary), printsEvents: run.handler?.prints ?? true,
      countsChannels: run.monitor != nil)
  }

  func patterns(_ flag: Flag) throws(UsageError) -> [String] {
    let patterns = typed.texts(flag)
    try Self.check(patterns: patterns, of: flag.spelling)
    return patterns
  }

  static func check(patterns: [String], of origin: String) throws(UsageError) {
    guard let problem = patterns.lazy.compactMap(Glob.problem).first else { return }
    throw UsageError("\(origin): \(problem)")
  }

  /// Returns the conditions of `--where` or `--fail-where`.
  ///
  /// Warns of a regular expression, which `~` does not take.
  mutating func conditions(of flag: Flag) throws(UsageError) -> [WhereClause] {
    var clauses: [WhereClause] = []
    for text in typed.texts(flag) {
      do throws(WhereFault) {
        clauses.append(try WhereClause(text))
      } catch {
        // A long text would fill the screen.
        if case .tooLong = error { throw UsageError("\(flag.spelling): \(error)") }
        throw UsageError("\(flag.spelling) '\(text)': \(error)")
      }
      guard let pattern = clauses.last?.pattern else { continue }
      if pattern.hasPrefix("^") || pattern.hasPrefix(".*") || pattern.hasSuffix("$") {
        warn(
          "\(flag.spelling) '\(text)': ~ takes a pattern such as \"A*\", not a regular expression")
      }
    }
    return clauses
  }

  private func form() throws(UsageError) -> EventForm {
    let output: OutputFormat = try choice(.output)
    let template = try template()
    let field = try field()
    return EventForm(
      output: output, template: template, field: field, joinsFields: typed.isOn(.join),
      terminator: typed.isOn(.null) ? 0 : UInt8(ascii: "\n"),
      hasTimestamps: typed.isOn(.timestamps),
      // A template or a field is for programs, whatever the format.
      color: try color(for: template == nil && field == nil ? output : .raw), page: page)
  }

  private func template() throws(UsageError) -> FormatTemplate? {
    guard let text = typed.text(.format) else { return nil }
    if OutputFormat(rawValue: text) != nil {
      throw UsageError("--format prints its text, here '\(text)': for this format, give -o \(text)")
    }
    do throws(FormatTemplateError) {
      return try FormatTemplate(text)
    } catch { throw UsageError(error.message) }
  }

  private func field() throws(UsageError) -> FieldPath? {
    guard let text = typed.text(.field) else { return nil }
    do throws(FieldPathError) {
      return try FieldPath(text)
    } catch {
      throw UsageError("--field: '\(text)' \(error)")
    }
  }

  private var page: PageSettings {
    var page = PageSettings()
    if let columns = environment["COLUMNS"].flatMap(Quantities.integer), columns > 0 {
      page.columns = columns
    }
    page.isUnicode = environment.isUnicode
    return page
  }
}

extension Environment {
  /// True if the locale's encoding is UTF-8.
  var isUnicode: Bool {
    let name = (self["LC_ALL"] ?? self["LC_CTYPE"] ?? self["LANG"] ?? "").lowercased()
    return name.range(ofBytes: "utf-8") != nil || name.range(ofBytes: "utf8") != nil
  }
}

/// The events that a run waits for; one of them is enough.
struct RunWishes: Equatable, Sendable {
  /// Number of events of `--count`.
  var count: Int?
  /// Text or pattern of `--until`.
  var untilData: String?
  /// Patterns of `--until-event`.
  var untilEvents: [String] = []

  /// True if the run waits for nothing: it ends with its stream or its time.
  var areNone: Bool { count == nil && !awaitEvent }
  /// True if the run waits for a particular event.
  var awaitEvent: Bool { untilData != nil || !untilEvents.isEmpty }
}
