internal import PusherCore

/// Prints the events of channels as the settings ask: which, how many, in which shape.
final class EventPrinter {
  let core: Printer
  private let writers: LineWriters<EventLineWriter>
  /// Prints from the line what `--format` asks for.
  private let plainTemplate: LineTemplate?
  private let keepsRawData: Bool
  private var usesFastWay: Bool
  /// Set while events are held: then every message goes the general path, whose end decides.
  var isHeld = false
  /// Messages that the fast path left to the general one.
  private(set) var fallbacks = 0

  init(
    settings: PrintSettings, service: PusherService, output: ByteBuffer, isTerminal: Bool,
    receiver: (any EventReceiver)? = nil, record: ByteBuffer? = nil,
    columns: @escaping () -> Int? = { nil },
    wallTime: @escaping () -> WallTime
  ) {
    let style = EventLineStyle(settings, isTerminal: isTerminal)
    writers = LineWriters(
      settings, output: output, style: style, handsOver: receiver != nil, record: record
    ) { EventLineWriter(output: $0, service: service, style: $1) }
    core = Printer(
      settings: settings, style: style, output: output, writers: writers, receiver: receiver,
      record: record, columns: columns, wallTime: wallTime)
    let template = core.template
    plainTemplate = template?.plain
    usesFastWay =
      writers.printed.hasFastWay && (template.map { $0.plain != nil } ?? (settings.output == .json))
      && receiver == nil && record == nil && !settings.printsSummary
    keepsRawData = settings.keepsRawData
  }

  /// Switches the fast path off, for runs that show every message anyway.
  func disableFastWay() {
    usesFastWay = false
  }

  /// Prints any message; with `name` under that event name, and never under one of our own.
  func print(_ envelope: Envelope, named given: String? = nil) {
    let name = given ?? ForeignEventName.marked(token: envelope.eventToken)
    let isWanted = core.admit(
      name ?? envelope.eventName, channel: envelope.channelName, bytes: envelope.byteCount,
      record: { writers.recorder?.write(envelope, named: name) },
      passes: { $0.passes(name ?? envelope.eventName) })
    guard isWanted else { return }
    if core.printsEvents { printCounted(envelope, named: name) }
    core.handOver(
      HandedEvent(
        name: name ?? envelope.eventName, channel: envelope.channelName,
        userID: envelope.userIDToken.map(JSONString.decode))
    ) {
      writers.handed?.write(envelope, named: name)
    }
  }

  /// Prints an event that stands for one which was missed, as its line says.
  func print(repaired event: Envelope) {
    let all = [writers.printed, writers.handed, writers.recorder]
    for writer in all { writer?.marksRepaired = true }
    print(event)
    for writer in all { writer?.marksRepaired = false }
  }

  private func printCounted(_ envelope: Envelope, named name: String?) {
    if let template = core.template {
      return core.write(template) { field in
        switch field {
        case .event: name ?? envelope.eventName
        case .channel: envelope.channelName
        case .userID: envelope.userIDToken.map(JSONString.decode)
        case .data:
          Printer.text(of: keepsRawData ? .string(envelope.dataText ?? "") : envelope.data)
        case .wire: envelope.dataText ?? ""
        default: nil
        }
      } line: {
        writers.printed.write(envelope, named: name)
      }
    }
    switch core.format {
    case .json: writers.printed.write(envelope, named: name)
    case .pretty:
      core.pretty?.write(envelope, named: name, isRepaired: writers.printed.marksRepaired)
    case .raw: core.raw.write(envelope)
    }
  }

  /// Prints an event of a channel itself or of the watchlist among the others.
  ///
  /// - Parameter members: How many are in the channel now, where that is known.
  func print(event: String, channel: String?, data: JSONValue, members: Int? = nil) {
    let isWanted = core.admit(
      event, channel: channel, bytes: JSONWriter.text(data).utf8.count,
      record: { writers.recorder?.write(event: event, channel: channel, data: data) },
      passes: { $0.passes(event) })
    guard isWanted else { return }
    if core.printsEvents {
      core.printLifecycle(event: event, channel: channel, data: data, members: members)
    }
    core.handOver(HandedEvent(name: event, channel: channel)) {
      writers.handed?.write(event: event, channel: channel, data: data)
    }
  }
}

extension EventPrinter: FeedTap {
  /// Prints an application event of the usual shape by the fast path.
  func take(message: ByteView) -> TapVerdict {
    guard usesFastWay, !isHeld, !core.isStopped, !core.isDone else { return .declined }
    if core.showsTime { core.stamp() }
    switch writers.printed.writeFast(
      message, by: plainTemplate, number: core.count &+ 1, filter: core.fastFilter)
    {
    case .written:
      core.count &+= 1
      if let channelCounts = core.channelCounts,
        let channel = PlainEventReader.channel(ofTaken: message)
      {
        channelCounts.note(channel)
      }
      return core.count >= core.limit || core.output.count >= core.burstSize
        ? .takenAndFull : .taken
    case .filtered where core.awaitsEvent:
      // Whether it ends the run, is printed or left out, the general path says.
      return .declined
    case .filtered:
      core.rejected &+= 1
      return .taken
    case .unusual:
      fallbacks &+= 1
      return .declined
    }
  }
}
