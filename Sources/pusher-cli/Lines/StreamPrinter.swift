internal import PusherCore

/// Prints the events of an event stream as the settings ask: which, how many, in which shape.
final class StreamPrinter {
  let core: Printer
  private let writer: EventStreamLineWriter
  private let handedWriter: EventStreamLineWriter?
  /// Writes every event, printed or not, for `--record`.
  private let recorder: EventStreamLineWriter?
  private let keepsRawData: Bool
  private let until: DataPattern?

  init(
    settings: PrintSettings, until: DataPattern? = nil, output: ByteBuffer, isTerminal: Bool,
    receiver: (any EventReceiver)? = nil, record: ByteBuffer? = nil,
    columns: @escaping () -> Int? = { nil },
    wallTime: @escaping () -> WallTime
  ) {
    let style = EventLineStyle(settings, isTerminal: isTerminal)
    func handing(_ output: ByteBuffer) -> EventStreamLineWriter {
      EventStreamLineWriter(output: output, style: .handed(settings))
    }
    let line = ByteBuffer(capacity: 64)
    writer = EventStreamLineWriter(output: output, style: style)
    handedWriter = receiver == nil ? nil : handing(line)
    recorder = record.map(handing)
    keepsRawData = settings.keepsRawData
    self.until = until
    core = Printer(
      settings: settings, style: style,
      template: settings.template.map { TemplateText($0, output: output, style: style) },
      output: output,
      writers: Printer.Writers(
        printed: writer, handed: handedWriter.map { ($0, line) },
        recorded: recorder.flatMap { writer in record.map { (writer, $0) } }),
      receiver: receiver, columns: columns, wallTime: wallTime)
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
      core.hasMetEnd = true
      return
    }
    let isWanted = core.admit(
      event.type.text, channel: nil, bytes: event.data.count, record: { recorder?.write(event) },
      passes: { $0.passes(event.type) })
    guard isWanted else { return }
    if core.printsEvents { printCounted(event) }
    core.handOver(HandedEvent(name: event.type.text, id: event.lastEventID.text)) {
      handedWriter?.write(event)
    }
  }

  @inline(__always)
  private func printCounted(_ event: EventStreamEvent) {
    if let template = core.template {
      if let plain = template.plain, writer.write(event, by: plain, number: core.count) { return }
      return core.write(template) { field in
        switch field {
        case .event: event.type.text
        case .id: event.lastEventID.text
        case .data: Printer.text(of: data(of: event))
        case .wire: event.data.text
        default: nil
        }
      } line: {
        writer.write(event)
      }
    }
    switch core.format {
    case .json: writer.write(event)
    case .pretty: core.pretty?.write(event: event.type.text, data: data(of: event))
    case .raw: core.raw.write(data(of: event))
    }
  }

  private func data(of event: EventStreamEvent) -> JSONValue {
    guard !keepsRawData, let value = try? JSONParser.parse(event.data) else {
      return .string(event.data.text)
    }
    return value
  }
}
