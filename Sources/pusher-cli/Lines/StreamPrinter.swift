internal import PusherCore

/// Prints the events of an event stream as the settings ask: which, how many, in which shape.
final class StreamPrinter: Printer {
  private let writer: EventStreamLineWriter
  private lazy var handedWriter = EventStreamLineWriter(
    output: handedLine, style: .handed(settings))
  /// Writes every event, printed or not, for `--record`.
  private let recorder: EventStreamLineWriter?
  private let settings: PrintSettings
  private let until: DataPattern?

  init(
    settings: PrintSettings, until: DataPattern? = nil, output: ByteBuffer, isTerminal: Bool,
    receiver: (any EventReceiver)? = nil, record: ByteBuffer? = nil,
    columns: @escaping () -> Int? = { nil },
    wallTime: @escaping () -> WallTime
  ) {
    let style = EventLineStyle(settings, isTerminal: isTerminal)
    writer = EventStreamLineWriter(output: output, style: style)
    self.settings = settings
    self.until = until
    recorder = record.map { EventStreamLineWriter(output: $0, style: .handed(settings)) }
    let template = settings.template.map { TemplateText($0, output: output, style: style) }
    super.init(
      settings: settings, style: style, template: template, output: output, receiver: receiver,
      record: record, columns: columns, wallTime: wallTime)
  }

  override func setReceivedAt(_ time: String) {
    writer.setReceivedAt(time)
    if receiver != nil { handedWriter.setReceivedAt(time) }
  }

  /// Prints one event if it is wanted; a name like ours gets a mark.
  func print(_ event: EventStreamEvent) {
    guard ForeignEventName.needsMark(event.type) else { return printNamed(event) }
    let type = ByteBuffer()
    type.append(ForeignEventName.mark)
    type.append(event.type)
    withExtendedLifetime(type) { printNamed(event.named(type.view)) }
  }

  @inline(__always)
  private func printNamed(_ event: EventStreamEvent) {
    if let until, until.matches(event.data.text) {
      hasMetEnd = true
      return
    }
    noteEnd(event.type.text)
    if let recorder {
      stampRecord(recorder.setReceivedAt)
      recorder.write(event)
    }
    guard filter?.passes(event.type) ?? true else {
      rejected &+= 1
      return
    }
    count &+= 1
    if let tally { tally.note(event.type.text, bytes: event.data.count) }
    stamp()
    if printsEvents { printCounted(event) }
    handOver(HandedEvent(name: event.type.text, id: event.lastEventID.text)) {
      handedWriter.write(event)
    }
  }

  @inline(__always)
  private func printCounted(_ event: EventStreamEvent) {
    if let template {
      if let plain = template.plain, writer.write(event, by: plain, number: count) { return }
      return write(template) { field in
        switch field {
        case .event: event.type.text
        case .id: event.lastEventID.text
        case .data: Self.text(of: data(of: event))
        case .wire: event.data.text
        default: nil
        }
      } line: {
        writer.write(event)
      }
    }
    switch format {
    case .json: writer.write(event)
    case .pretty: pretty?.write(event: event.type.text, data: data(of: event))
    case .raw: raw.write(data(of: event))
    }
  }

  override func writeLine(event: String, channel: String?, data: JSONValue) {
    writer.write(event: event, data: data)
  }

  private func data(of event: EventStreamEvent) -> JSONValue {
    guard !settings.keepsRawData, let value = try? JSONParser.parse(event.data) else {
      return .string(event.data.text)
    }
    return value
  }
}
