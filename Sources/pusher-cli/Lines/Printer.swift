internal import PusherCore

/// The writers of a printer: all of one protocol.
struct LineWriters<Writer: LineWriter> {
  let printed: Writer
  /// Writes the line that is handed over next; `nil` where nobody takes events.
  let handed: Writer?
  let handedLine = ByteBuffer(capacity: 64)
  /// Writes every event, printed or not.
  let recorder: Writer?

  init(
    _ settings: PrintSettings, output: ByteBuffer, style: EventLineStyle, handsOver: Bool,
    record: ByteBuffer?, _ make: (ByteBuffer, EventLineStyle) -> Writer
  ) {
    printed = make(output, style)
    handed = handsOver ? make(handedLine, .handed(settings)) : nil
    recorder = record.map { make($0, .handed(settings)) }
  }
}

/// The common part of all printers: which events are wanted, how many, and how much may wait.
final class Printer {
  let output: ByteBuffer
  private let writer: any LineWriter
  private let handedWriter: (any LineWriter)?
  private let handedLine: ByteBuffer
  private let recorder: (any LineWriter)?
  private let record: ByteBuffer?
  let format: OutputFormat
  let filter: FilterMemory?
  /// Passes the events of `--until-event`; `nil` without it.
  private let ending: EventFilter?
  /// The filter of fast paths.
  ///
  /// It also rejects the events of `--until-event`, which the general path decides.
  let fastFilter: FilterMemory?
  /// Prints for people; `nil` in every other form.
  let pretty: PrettyText?
  let raw: RawText
  let style: EventLineStyle
  /// Prints what `--format` asks for, in place of the format.
  let template: TemplateText?
  let hasTimestamps: Bool
  /// Whether somebody sees when events came.
  let showsTime: Bool
  /// What gets the events in place of the output, or besides it.
  let receiver: (any EventReceiver)?
  /// Whether events stand in the output.
  let printsEvents: Bool
  /// Counts the events by name, if that is wanted.
  let tally: EventTally?
  /// Counts the events by channel, if that is wanted.
  let channelCounts: ChannelCounts?
  let limit: Int
  /// Maximum size of output that waits, in bytes.
  let capacity: Int
  /// Size above which output is written before the burst ends, in bytes.
  let burstSize: Int
  private let wallTime: () -> WallTime
  /// The columns of the page, asked for with every burst: a terminal may change its size.
  private let columns: () -> Int?
  private let page: PageSettings
  /// The time that the events of one burst share; asked for when the first of them is printed.
  private(set) var burstTime: WallTime?
  /// Events printed, lifecycle lines not among them.
  var count = 0
  /// Events that the patterns kept out.
  var rejected = 0

  init(
    settings: PrintSettings, style: EventLineStyle, output: ByteBuffer,
    writers: LineWriters<some LineWriter>, receiver: (any EventReceiver)?, record: ByteBuffer?,
    columns: @escaping () -> Int?, wallTime: @escaping () -> WallTime
  ) {
    (self.output, self.record, handedLine) = (output, record, writers.handedLine)
    (writer, handedWriter, recorder) = (writers.printed, writers.handed, writers.recorder)
    self.wallTime = wallTime
    self.columns = columns
    page = settings.page
    self.style = style
    format = settings.output
    template = settings.template.map { TemplateText($0, output: output, style: style) }
    hasTimestamps = settings.hasTimestamps
    self.receiver = receiver
    printsEvents = receiver == nil || settings.printsEvents
    limit = settings.count ?? .max
    tally = settings.printsSummary ? EventTally() : nil
    channelCounts = settings.countedChannels.map { ChannelCounts(limit: $0) }
    capacity = settings.bufferSize
    burstSize = min(settings.bufferSize, OutputQueue.softLimit)
    let filter = EventFilter(include: settings.includedEvents, exclude: settings.excludedEvents)
    self.filter = filter.passesAll ? nil : FilterMemory(filter)
    let untilEvents = settings.untilEvents
    ending = untilEvents.isEmpty ? nil : EventFilter(include: untilEvents)
    let fast = EventFilter(
      include: settings.includedEvents, exclude: settings.excludedEvents + untilEvents)
    fastFilter = untilEvents.isEmpty ? self.filter : FilterMemory(fast)
    let isPretty = settings.output == .pretty && settings.template == nil
    showsTime =
      settings.hasTimestamps || isPretty || settings.template?.usesTime == true || receiver != nil
    pretty = isPretty ? PrettyText(output: output, style: style, page: settings.page) : nil
    raw = RawText(output: output, style: style)
  }

  /// Whether the run has ended, after which no event is printed.
  private(set) var isStopped = false

  /// The run ends: the printer prints nothing more.
  func stop() { isStopped = true }

  /// Whether the event has come that ends the run.
  var hasMetEnd = false

  /// Whether an event can end the run.
  var awaitsEvent: Bool { ending != nil }

  /// Whether as many events are printed as were asked for, or the last one has come.
  var isDone: Bool { count >= limit || hasMetEnd }

  /// Whether the output has its maximum size.
  var isFull: Bool { output.count >= capacity }

  /// Whether enough waits to be written at once: more than that leaves the processor's caches before it goes, and what
  /// one read brings compressed can be forty times as long.
  var hasFullBurst: Bool {
    output.count >= burstSize || (record?.count ?? 0) >= burstSize
  }

  /// The next event begins a new burst, with a time of its own.
  func endBurst() {
    burstTime = nil
    hasRecordTime = false
  }

  /// Whether the recorded lines of this burst have their time.
  private var hasRecordTime = false

  /// Takes one event: it is recorded, and counted unless the patterns keep it out.
  ///
  /// - Parameters:
  ///   - bytes: The size of its message or data.
  ///   - record: Writes it for `--record`.
  /// - Returns: Whether it is to be printed.
  @inline(__always)
  func admit(
    _ name: @autoclosure () -> String, channel: @autoclosure () -> String?,
    bytes: @autoclosure () -> Int, record: () -> Void, passes: (FilterMemory) -> Bool
  ) -> Bool {
    if let ending, ending.passes(name()) { hasMetEnd = true }
    if let recorder {
      if !hasRecordTime {
        hasRecordTime = true
        recorder.setReceivedAt(wallTime().rfc3339)
      }
      record()
    }
    guard filter.map(passes) ?? true else {
      rejected &+= 1
      return false
    }
    count &+= 1
    if let tally { tally.note(name(), bytes: bytes()) }
    if let channelCounts, let channel = channel() { channelCounts.note(channel) }
    stamp()
    return true
  }

  /// Takes the time for the burst that begins, when somebody will see it.
  func stamp() {
    guard showsTime, burstTime == nil else { return }
    let time = wallTime()
    burstTime = time
    if hasTimestamps {
      writer.setReceivedAt(time.rfc3339)
      handedWriter?.setReceivedAt(time.rfc3339)
    }
    template?.begin(at: time)
    pretty?.begin(at: time, columns: columns() ?? page.columns)
  }

  /// Hands over the event that was counted last, if there is somebody; `writeLine` writes its line.
  @inline(__always)
  func handOver(
    _ event: @autoclosure () -> HandedEvent, writeLine: () -> Void
  ) {
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

  /// Prints one event by the template; `value` gives the fields that the protocol has, `nil` being none.
  func write(
    _ template: TemplateText, _ value: (FormatTemplate.Field) -> String?, line: () -> Void
  ) {
    template.write(number: count) { field in
      field == .dataField ? Self.field(of: value(.data) ?? "") : value(field)
    } writeLine: {
      line()
    }
  }

  /// Prints a line about the connection or a channel; it does not count and is not filtered.
  ///
  /// - Parameter members: How many are in the channel now, where that is known.
  func printLifecycle(
    event: String, channel: String?, data: JSONValue, members: Int? = nil
  ) {
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
    switch format {
    case .json: writer.write(event: event, channel: channel, data: data)
    case .pretty: pretty?.write(own: event, channel: channel, data: data, members: members)
    case .raw: raw.write(data)
    }
  }

  /// Prints that there was no connection for a while: people are always told, programs when they asked for it.
  func printGap(_ words: GapWords, event: String, data: JSONValue, isAsked: Bool) {
    guard let pretty else {
      if isAsked { printLifecycle(event: event, channel: nil, data: data) }
      return
    }
    guard printsEvents || isAsked else { return }
    stamp()
    pretty.write(gap: words)
  }

  /// Data as the template's `%d` shows it.
  static func text(of data: JSONValue) -> String {
    if case .string(let text) = data { return text }
    return JSONWriter.text(data)
  }

  /// Text as one field of a table whose columns tabulators divide.
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

/// One event for somebody who takes events.
struct HandedEvent: Equatable, Sendable {
  /// The JSON line with its newline.
  var line: [UInt8] = []
  var name: String
  var channel: String?
  var userID: String?
  var id: String?
  /// RFC 3339.
  var receivedAt = ""

  /// Events with the same word here keep their order.
  var lane: String { channel ?? (id == nil ? "" : name) }
}

/// Who takes the events that are printed.
protocol EventReceiver: AnyObject {
  func take(_ event: HandedEvent)
}

extension EventLineStyle {
  /// The style that settings ask for.
  init(_ settings: PrintSettings, isTerminal: Bool) {
    self.init()
    rawData = settings.keepsRawData
    terminator = settings.terminator
    forTerminal = isTerminal
    palette = settings.color.isOn(forTerminal: isTerminal) ? .standard : nil
  }

  /// The style of lines that are handed over.
  static func handed(_ settings: PrintSettings) -> EventLineStyle {
    var style = EventLineStyle()
    style.rawData = settings.keepsRawData
    return style
  }
}

extension EventLinePalette {
  /// Keys dim, the event bold, each channel in a colour of its own.
  static let standard = EventLinePalette(
    key: "\u{1B}[2m", event: "\u{1B}[1m",
    channels: [36, 32, 33, 35, 34, 31].map { "\u{1B}[\($0)m" }, reset: "\u{1B}[0m",
    gap: "\u{1B}[1;33m")
}
