internal import PusherCore

struct LineWriters<Writer: LineWriter> {
  let output: ByteBuffer
  let style: EventLineStyle
  let printed: Writer
  let handed: Writer?
  let handedLine = ByteBuffer(capacity: 64)
  let record: ByteBuffer?
  let recorder: Writer?
  /// Writes the line that the conditions of `--where` and `--fail-where` are about.
  let judged: Writer?
  let judgedLine = ByteBuffer(capacity: 4096)

  init(
    _ settings: PrintSettings, output: ByteBuffer, isTerminal: Bool, handsOver: Bool,
    record: ByteBuffer?, _ make: (ByteBuffer, EventLineStyle) -> Writer
  ) {
    let form = settings.form
    (self.output, self.record) = (output, record)
    style = EventLineStyle(form, isTerminal: isTerminal)
    printed = make(output, style)
    handed = handsOver ? make(handedLine, EventLineStyle()) : nil
    recorder = record.map { make($0, EventLineStyle()) }
    let isJudged = !settings.conditions.isEmpty || !settings.failConditions.isEmpty
    judged = isJudged ? make(judgedLine, EventLineStyle()) : nil
  }
}

/// The common part of all printers: filters, limits and time.
final class Printer {
  let output: ByteBuffer
  private let writer: any LineWriter
  private let handedWriter: (any LineWriter)?
  private let handedLine: ByteBuffer
  private let recorder: (any LineWriter)?
  private let record: ByteBuffer?
  let form: EventForm
  let filter: FilterMemory?
  let conditions: WhereFilter?
  private let judgedLine: ByteBuffer
  private let ending: EventFilter?
  private let failing: EventFilter?
  /// Each is a condition of `--fail-where`.
  private let failConditions: [WhereFilter]
  /// Filter of fast paths; also rejects the events of `--until-event` and `--fail-event`, which
  /// need the general path.
  let fastFilter: FilterMemory?
  let pretty: PrettyText?
  let raw: RawText
  let style: EventLineStyle
  let template: TemplateText?
  let field: FieldText?
  let showsTime: Bool
  /// Gets the events of `--exec` or `--forward`.
  let receiver: (any EventReceiver)?
  /// False if only the receiver gets events.
  let printsEvents: Bool
  let tally: EventTally?
  let channelCounts: ChannelCounts?
  let limit: Int
  /// Maximum size of waiting output, in bytes.
  let capacity: Int
  /// Size above which output is written before the burst ends, in bytes.
  let burstSize: Int
  private let wallTime: () -> WallTime
  /// Returns the current width of the terminal, which may change.
  private let columns: () -> Int?
  /// Time of all events of a burst; taken for the first printed one.
  private(set) var burstTime: WallTime?
  var count = 0
  /// Number of events that `-e`, `-x` or `--where` left out.
  private(set) var rejected = 0
  /// Number of those that only `--where` left out.
  private(set) var unmet = 0

  init(
    settings: PrintSettings, writers: LineWriters<some LineWriter>, receiver: (any EventReceiver)?,
    columns: @escaping () -> Int?, wallTime: @escaping () -> WallTime
  ) {
    (output, style, form) = (writers.output, writers.style, settings.form)
    (record, handedLine) = (writers.record, writers.handedLine)
    (conditions, judgedLine) = (WhereFilter(settings.conditions), writers.judgedLine)
    (writer, handedWriter, recorder) = (writers.printed, writers.handed, writers.recorder)
    (self.wallTime, self.columns, self.receiver) = (wallTime, columns, receiver)
    template = form.template.map { TemplateText($0, output: writers.output, style: writers.style) }
    field = form.field.map {
      FieldText(
        $0, joins: settings.form.joinsFields, output: writers.output, style: writers.style)
    }
    printsEvents = receiver == nil || settings.printsEvents
    limit = settings.count ?? .max
    tally = settings.printsSummary ? EventTally() : nil
    channelCounts = settings.countsChannels ? ChannelCounts() : nil
    capacity = settings.bufferSize
    burstSize = min(settings.bufferSize, OutputQueue.softLimit)
    let filter = EventFilter(include: settings.includedEvents, exclude: settings.excludedEvents)
    self.filter = filter.passesAll ? nil : FilterMemory(filter)
    let (untilEvents, failEvents) = (settings.untilEvents, settings.failEvents)
    ending = untilEvents.isEmpty ? nil : EventFilter(include: untilEvents)
    failing = failEvents.isEmpty ? nil : EventFilter(include: failEvents)
    failConditions = settings.failConditions.compactMap { WhereFilter([$0]) }
    let awaited = untilEvents + failEvents
    let fast = EventFilter(
      include: settings.includedEvents, exclude: settings.excludedEvents + awaited)
    fastFilter = awaited.isEmpty ? self.filter : FilterMemory(fast)
    let isPretty = form.output == .pretty && form.template == nil && form.field == nil
    showsTime = form.hasTimestamps || isPretty || form.template?.usesTime == true || receiver != nil
    pretty = isPretty ? PrettyText(output: output, style: style, page: form.page) : nil
    raw = RawText(output: output, style: style)
  }

  private(set) var isStopped = false
  /// Stops printing; joined fields get their line end.
  func stop() {
    isStopped = true
    field?.end()
  }

  var hasMetEnd = false
  /// The event of `--fail-event` or `--fail-where` that came, in words.
  private(set) var failure: (words: String, option: Flag)?
  var awaitsEvent: Bool { ending != nil || failing != nil }
  var isDone: Bool { count >= limit || hasMetEnd || failure != nil }
  var isFull: Bool { output.count >= capacity }

  /// True if enough output waits for an early write: one compressed read can expand forty times.
  ///
  /// More output would leave the processor's caches before it is written.
  var hasFullBurst: Bool { output.count >= burstSize || (record?.count ?? 0) >= burstSize }

  /// Ends the burst: the next event gets a new time.
  func endBurst() {
    burstTime = nil
    hasRecordTime = false
  }

  private var hasRecordTime = false

  /// Records an event, filters it, counts it and takes the time.
  ///
  /// - Parameters:
  ///   - bytes: Size of the message or data.
  ///   - data: The data for people, or `nil` without data.
  ///   - record: Writes the event for `--record`.
  ///   - judge: Writes the event's line for `--where` and `--fail-where`.
  ///   - hasField: Finds the field of `--field`.
  /// - Returns: True if the event is to be printed.
  @inline(__always) func admit(
    _ name: @autoclosure () -> String, channel: @autoclosure () -> String?,
    bytes: @autoclosure () -> Int, data: @autoclosure () -> String?, record: () -> Void,
    judge: () -> Void, passes: (FilterMemory) -> Bool, hasField: (FieldText) -> Bool
  ) -> Bool {
    let failure = failureOption(name(), judge)
    if failure == nil, let ending, ending.passes(name()) { hasMetEnd = true }
    if let recorder {
      if !hasRecordTime {
        hasRecordTime = true
        recorder.setReceivedAt(wallTime().rfc3339)
      }
      record()
    }
    if let failure {
      let words = "the server sent '\(name())'" + (data().map { ": \($0)" } ?? "")
      self.failure = (words, failure)
      return false
    }
    guard filter.map(passes) ?? true else {
      noteRejected()
      return false
    }
    guard conditions.map({ meets($0, judge) }) ?? true else {
      noteUnmet()
      return false
    }
    if let field, !hasField(field) { return false }
    count &+= 1
    if let tally { tally.note(name(), bytes: bytes()) }
    if let channelCounts, let channel = channel() { channelCounts.note(channel) }
    stamp()
    return true
  }

  /// Returns the option that makes this event a failure.
  @inline(__always) private func failureOption(
    _ name: @autoclosure () -> String, _ judge: () -> Void
  ) -> Flag? {
    if let failing, failing.passes(name()) { return .failEvent }
    if !failConditions.isEmpty, failConditions.contains(where: { meets($0, judge) }) {
      return .failWhere
    }
    return nil
  }

  func noteRejected() { rejected &+= 1 }

  func noteUnmet() {
    rejected &+= 1
    unmet &+= 1
  }

  private func meets(_ conditions: WhereFilter, _ writeLine: () -> Void) -> Bool {
    judgedLine.removeAll()
    defer { judgedLine.removeAll() }
    writeLine()
    return conditions.passes(judgedLine.view)
  }

  func stamp() {
    guard showsTime, burstTime == nil else { return }
    let time = wallTime()
    burstTime = time
    if form.hasTimestamps {
      writer.setReceivedAt(time.rfc3339)
      handedWriter?.setReceivedAt(time.rfc3339)
    }
    template?.begin(at: time)
    pretty?.begin(at: time, columns: columns() ?? form.page.columns)
  }

  /// Passes the last counted event to the receiver, if any; `writeLine` writes its line.
  @inline(__always) func handOver(_ event: @autoclosure () -> HandedEvent, writeLine: () -> Void) {
    if let receiver { handOver(event(), to: receiver, writeLine) }
  }

  private func handOver(
    _ event: HandedEvent, to receiver: any EventReceiver, _ writeLine: () -> Void
  ) {
    var event = event
    handedLine.removeAll()
    writeLine()
    event.line = handedLine.array
    event.receivedAt = burstTime?.rfc3339 ?? ""
    handedLine.removeAll()
    receiver.take(event)
  }

  func write(
    _ template: TemplateText, _ value: (FormatTemplate.Field) -> String?, line: () -> Void
  ) {
    template.write(number: count) { field in
      field == .dataField ? Self.field(of: value(.data) ?? "") : value(field)
    } writeLine: {
      line()
    }
  }

  /// Prints a lifecycle line, which is neither counted nor filtered.
  func printLifecycle(event: String, channel: String?, data: JSONValue, members: Int? = nil) {
    stamp()
    if let template {
      return write(template) { field in
        switch field {
        case .event: event
        case .channel: channel
        case .data, .wire: Self.text(of: data)
        default: nil
        }
      } line: {
        writer.write(event: event, channel: channel, data: data)
      }
    }
    switch form.output {
    case .json: writer.write(event: event, channel: channel, data: data)
    case .pretty: pretty?.write(own: event, channel: channel, data: data, members: members)
    case .raw: raw.write(data)
    }
  }

  /// Prints a gap: `pretty` always shows it, other formats with `--lifecycle`.
  func printGap(_ words: GapWords, event: String, data: JSONValue, isAsked: Bool) {
    guard let pretty else {
      if isAsked { printLifecycle(event: event, channel: nil, data: data) }
      return
    }
    guard printsEvents || isAsked else { return }
    stamp()
    pretty.write(gap: words)
  }

  static func text(of data: JSONValue) -> String {
    if case .string(let text) = data { return text }
    return JSONWriter.text(data)
  }

  static func field(of text: String) -> String {
    var field = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": field += "\\\\"
      case "\t": field += "\\t"
      case "\n": field += "\\n"
      case "\r": field += "\\r"
      default: field.unicodeScalars.append(scalar)
      }
    }
    return field
  }
}

struct HandedEvent: Equatable, Sendable {
  /// The JSON line, with its newline.
  var line: [UInt8] = []
  var name: String
  var channel: String?
  var userID: String?
  var id: String?
  var receivedAt = ""

  /// Events of the same lane keep their order.
  var lane: String { channel ?? (id == nil ? "" : name) }
}

protocol EventReceiver: AnyObject { func take(_ event: HandedEvent) }

extension EventLineStyle {
  init(_ form: EventForm, isTerminal: Bool) {
    self.init(
      terminator: form.terminator, forTerminal: isTerminal,
      palette: form.color.isOn(forTerminal: isTerminal) ? .standard : nil)
  }
}

extension EventLinePalette {
  /// Dim keys, bold events, one colour per channel.
  static let standard = EventLinePalette(
    key: "\u{1B}[2m", event: "\u{1B}[1m",
    channels: [36, 32, 33, 35, 34, 31].map { "\u{1B}[\($0)m" }, reset: "\u{1B}[0m",
    gap: "\u{1B}[1;33m")
}

/// Counts printed events and their bytes by name, for `--summary`.
final class EventTally {
  private struct NameCount {
    var events = 0
    var bytes = 0
  }

  private var rows = NameTable<NameCount>()
  private var others = NameCount()
  private var total = NameCount()
  /// Maximum number of names, which a peer chooses; further events are counted together.
  static let mostNames = 1000

  func note(_ name: String, bytes: Int) {
    Self.count(bytes, &total)
    if rows[name] == nil, rows.count >= Self.mostNames {
      Self.count(bytes, &others)
    } else {
      Self.count(bytes, &rows[name, default: NameCount()])
    }
  }

  private static func count(_ bytes: Int, _ row: inout NameCount) {
    row.events += 1
    row.bytes += bytes
  }

  var lines: [String] {
    var shown = rows.names.map { ($0, rows[$0] ?? NameCount()) }
    shown.sort { ($1.1.bytes, $0.0) < ($0.1.bytes, $1.0) }
    if others.events > 0 { shown.append(("(all other names)", others)) }
    shown.append(("(all)", total))
    let events = Self.column("events", shown.map(\.1.events))
    let bytes = Self.column("bytes", shown.map(\.1.bytes))
    let names = ["event"] + shown.map(\.0)
    return zip(zip(events, bytes), names).map { "\($0.0)  \($0.1)  \($1)" }
  }

  private static func column(_ heading: String, _ numbers: [Int]) -> [String] {
    let cells = [heading] + numbers.map(String.init)
    let width = cells.map(\.count).max() ?? 0
    return cells.map { String(repeating: " ", count: width - $0.count) + $0 }
  }
}

/// Prints only the data of events: `-o raw`; a string has no quotes.
struct RawText {
  let output: ByteBuffer
  let style: EventLineStyle
  func write(_ envelope: Envelope) { write(envelope.shownData) }

  func write(_ data: JSONValue) {
    if case .string(let text) = data {
      output.append(style.forTerminal ? Diagnostics.escaped(text) : text)
    } else {
      JSONWriter.write(data, into: output, forTerminal: style.forTerminal)
    }
    output.append(style.terminator)
  }
}

extension Envelope {
  /// The data as people see it.
  var shownData: JSONValue { base64Token.map { .string($0.text) } ?? data }
}
