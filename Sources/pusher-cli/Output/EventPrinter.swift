internal import PusherCore

/// Prints events as the settings ask: which, how many, in which shape.
final class EventPrinter {
  private let output: ByteBuffer
  private let format: OutputFormat
  private let filter: FilterMemory?
  private let writer: EventLineWriter
  private let text: EventText
  private let hasTimestamps: Bool
  private let limit: Int
  /// As many bytes may wait to be written.
  private let capacity: Int
  private let wallTime: () -> WallTime
  /// The time that the events of one burst share; asked for when the first of them is printed.
  private var burstTime: WallTime?
  private var usesFastWay: Bool
  /// Events printed, lifecycle lines not among them.
  private(set) var count = 0

  init(
    settings: SubscribeSettings, service: Service, output: ByteBuffer, isTerminal: Bool,
    hasColor: Bool, wallTime: @escaping () -> WallTime
  ) {
    self.output = output
    self.wallTime = wallTime
    format = settings.output
    hasTimestamps = settings.hasTimestamps
    limit = settings.count ?? .max
    capacity = settings.bufferSize
    let filter = EventFilter(include: settings.includedEvents, exclude: settings.excludedEvents)
    self.filter = filter.passesAll ? nil : FilterMemory(filter)
    var style = EventLineStyle()
    style.rawData = settings.keepsRawData
    style.terminator = settings.terminator
    style.forTerminal = isTerminal
    style.palette = hasColor ? .standard : nil
    writer = EventLineWriter(output: output, service: service, style: style)
    text = EventText(output: output, style: style, isPretty: settings.output == .pretty)
    usesFastWay = settings.output == .json && writer.hasFastWay
  }

  /// Whether as many events are printed as were asked for.
  var isDone: Bool { count >= limit }

  /// Whether as many bytes wait to be written as may.
  var isFull: Bool { output.count >= capacity }

  /// Switches the fast way off, for runs that show every message anyway.
  func disableFastWay() {
    usesFastWay = false
  }

  /// The next event begins a new burst, with a time of its own.
  func endBurst() {
    burstTime = nil
  }

  /// Prints any message; with `name` under that event name.
  func print(_ envelope: Envelope, named name: String? = nil) {
    guard filter?.passes(name ?? envelope.eventName) ?? true else { return }
    count += 1
    stamp()
    switch format {
    case .json: writer.write(envelope, named: name)
    case .pretty, .raw: text.write(envelope, named: name, at: burstTime)
    }
  }

  /// Prints what a channel or the watchlist says about itself, as an event among the others.
  func print(event: String, channel: String?, data: JSONValue) {
    guard filter?.passes(event) ?? true else { return }
    count += 1
    printLifecycle(event: event, channel: channel, data: data)
  }

  /// Prints a line about the connection or a subscription; it does not count and is not filtered.
  func printLifecycle(event: String, channel: String?, data: JSONValue) {
    stamp()
    switch format {
    case .json: writer.write(event: event, channel: channel, data: data)
    case .pretty, .raw: text.write(event: event, channel: channel, data: data, at: burstTime)
    }
  }

  private func stamp() {
    guard hasTimestamps || format == .pretty, burstTime == nil else { return }
    let time = wallTime()
    burstTime = time
    if hasTimestamps { writer.setReceivedAt(time.rfc3339) }
  }
}

extension EventPrinter: MessageTap {
  /// Prints an application event of the usual shape by the fast way.
  func take(_ message: ByteView) -> TapVerdict {
    guard usesFastWay, !isDone else { return .declined }
    if hasTimestamps { stamp() }
    switch writer.writeFast(message, filter: filter) {
    case .written:
      count &+= 1
      return count >= limit || output.count >= capacity ? .takenAndFull : .taken
    case .filtered: return .taken
    case .unusual: return .declined
    }
  }
}

extension EventLinePalette {
  /// Keys dim, the event bold, each channel in a colour of its own.
  static let standard = EventLinePalette(
    key: "\u{1B}[2m", event: "\u{1B}[1m",
    channels: [36, 32, 33, 35, 34, 31].map { "\u{1B}[\($0)m" }, reset: "\u{1B}[0m")
}
