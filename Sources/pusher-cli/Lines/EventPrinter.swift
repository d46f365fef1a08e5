internal import PusherCore

/// Prints the events of channels as the settings ask: which, how many, in which shape.
final class EventPrinter: Printer {
  private let writer: EventLineWriter
  private lazy var handedWriter = EventLineWriter(
    output: handedLine, service: service, style: .handed(settings))
  /// Writes every event, printed or not, for `--record`.
  private let recorder: EventLineWriter?
  /// Prints from the line what `--format` asks for.
  private let plainTemplate: LineTemplate?
  private let service: PusherService
  private let settings: PrintSettings
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
    writer = EventLineWriter(output: output, service: service, style: style)
    let template = settings.template.map { TemplateText($0, output: output, style: style) }
    plainTemplate = template?.plain
    usesFastWay =
      writer.hasFastWay && (template.map { $0.plain != nil } ?? (settings.output == .json))
      && receiver == nil && record == nil && !settings.printsSummary
    recorder = record.map {
      EventLineWriter(output: $0, service: service, style: .handed(settings))
    }
    (self.service, self.settings) = (service, settings)
    super.init(
      settings: settings, style: style, template: template, output: output, receiver: receiver,
      record: record, columns: columns, wallTime: wallTime)
  }

  /// Switches the fast path off, for runs that show every message anyway.
  func disableFastWay() {
    usesFastWay = false
  }

  /// Every message now goes the general path, where the end is seen.
  override func stop() {
    disableFastWay()
  }

  override func setReceivedAt(_ time: String) {
    writer.setReceivedAt(time)
    if receiver != nil { handedWriter.setReceivedAt(time) }
  }

  /// Prints any message; with `name` under that event name, and never under one of our own.
  func print(_ envelope: Envelope, named given: String? = nil) {
    let name = given ?? ForeignEventName.marked(token: envelope.eventToken)
    noteEnd(name ?? envelope.eventName)
    if let recorder {
      stampRecord(recorder.setReceivedAt)
      recorder.write(envelope, named: name)
    }
    guard filter?.passes(name ?? envelope.eventName) ?? true else {
      rejected &+= 1
      return
    }
    count += 1
    if let tally { tally.note(name ?? envelope.eventName, bytes: envelope.byteCount) }
    if let channelCounts, let channel = envelope.channelName { channelCounts.note(channel) }
    stamp()
    if printsEvents { printCounted(envelope, named: name) }
    handOver(
      HandedEvent(
        name: name ?? envelope.eventName, channel: envelope.channelName,
        userID: envelope.userIDToken.map(JSONString.decode))
    ) {
      handedWriter.write(envelope, named: name)
    }
  }

  /// Prints an event that stands for one which was missed, as its line says.
  func print(repaired event: Envelope) {
    writer.marksRepaired = true
    handedWriter.marksRepaired = true
    recorder?.marksRepaired = true
    print(event)
    writer.marksRepaired = false
    handedWriter.marksRepaired = false
    recorder?.marksRepaired = false
  }

  private func printCounted(_ envelope: Envelope, named name: String?) {
    if let template {
      return write(template) { field in
        switch field {
        case .event: name ?? envelope.eventName
        case .channel: envelope.channelName
        case .userID: envelope.userIDToken.map(JSONString.decode)
        case .data: Self.text(of: style.rawData ? .string(envelope.dataText ?? "") : envelope.data)
        case .wire: envelope.dataText ?? ""
        default: nil
        }
      } line: {
        writer.write(envelope, named: name)
      }
    }
    switch format {
    case .json: writer.write(envelope, named: name)
    case .pretty: pretty?.write(envelope, named: name, isRepaired: writer.marksRepaired)
    case .raw: raw.write(envelope)
    }
  }

  /// Prints an event of a channel itself or of the watchlist among the others.
  ///
  /// - Parameter members: How many are in the channel now, where that is known.
  func print(event: String, channel: String?, data: JSONValue, members: Int? = nil) {
    noteEnd(event)
    if let recorder {
      stampRecord(recorder.setReceivedAt)
      recorder.write(event: event, channel: channel, data: data)
    }
    guard filter?.passes(event) ?? true else {
      rejected &+= 1
      return
    }
    count += 1
    if let tally { tally.note(event, bytes: JSONWriter.text(data).utf8.count) }
    if let channelCounts, let channel { channelCounts.note(channel) }
    stamp()
    if printsEvents {
      printLifecycle(event: event, channel: channel, data: data, members: members)
    }
    handOver(HandedEvent(name: event, channel: channel)) {
      handedWriter.write(event: event, channel: channel, data: data)
    }
  }

  override func writeLine(event: String, channel: String?, data: JSONValue) {
    writer.write(event: event, channel: channel, data: data)
  }
}

extension EventPrinter: FeedTap {
  /// Prints an application event of the usual shape by the fast path.
  func take(message: ByteView) -> TapVerdict {
    guard usesFastWay, !isHeld, !isDone else { return .declined }
    if showsTime { stamp() }
    switch writer.writeFast(message, by: plainTemplate, number: count &+ 1, filter: fastFilter) {
    case .written:
      count &+= 1
      if let channelCounts, let channel = PlainEventReader.channel(ofTaken: message) {
        channelCounts.note(channel)
      }
      return count >= limit || output.count >= burstSize ? .takenAndFull : .taken
    case .filtered where awaitsEvent:
      // Whether it ends the run, is printed or left out, the general path says.
      return .declined
    case .filtered:
      rejected &+= 1
      return .taken
    case .unusual:
      fallbacks &+= 1
      return .declined
    }
  }
}
