internal import PusherCore

final class StreamPrinter {
  let core: Printer
  private let writers: LineWriters<EventStreamLineWriter>
  private let until: DataPattern?

  init(
    settings: PrintSettings, output: ByteBuffer, isTerminal: Bool,
    receiver: (any EventReceiver)? = nil, record: ByteBuffer? = nil,
    columns: @escaping () -> Int? = { nil }, wallTime: @escaping () -> WallTime
  ) {
    writers = LineWriters(
      settings, output: output, isTerminal: isTerminal, handsOver: receiver != nil,
      record: record
    ) { EventStreamLineWriter(output: $0, style: $1) }
    core = Printer(
      settings: settings, writers: writers, receiver: receiver, columns: columns,
      wallTime: wallTime)
    until = settings.untilData
  }

  func print(_ event: EventStreamEvent) {
    guard ForeignEventName.needsMark(event.type) else { return printNamed(event) }
    let type = ByteBuffer()
    type.append(ForeignEventName.mark)
    type.append(event.type)
    withExtendedLifetime(type) { printNamed(event.named(type.view)) }
  }

  @inline(__always) private func printNamed(_ event: EventStreamEvent) {
    if let until, until.matches(event.data.text) {
      core.hasMetEnd = true
      return
    }
    let isWanted = core.admit(
      event.type.text, channel: nil, bytes: event.data.count,
      data: event.data.text, record: { writers.recorder?.write(event) },
      judge: { writers.judged?.write(event) }, passes: { $0.passes(event.type) },
      hasField: { $0.find(in: event.data) })
    guard isWanted else { return }
    if core.printsEvents { printCounted(event) }
    core.handOver(HandedEvent(name: event.type.text, id: event.lastEventID.text)) {
      writers.handed?.write(event)
    }
  }

  @inline(__always) private func printCounted(_ event: EventStreamEvent) {
    if let field = core.field { return field.write() }
    if let template = core.template {
      if let plain = template.plain, writers.printed.write(event, by: plain, number: core.count) {
        return
      }
      return core.write(template) { field in
        switch field {
        case .event: event.type.text
        case .id: event.lastEventID.text
        case .data: Printer.text(of: data(of: event))
        case .wire: event.data.text
        default: nil
        }
      } line: {
        writers.printed.write(event)
      }
    }
    switch core.form.output {
    case .json: writers.printed.write(event)
    case .pretty: core.pretty?.write(event: event.type.text, data: data(of: event))
    case .raw: core.raw.write(data(of: event))
    }
  }

  private func data(of event: EventStreamEvent) -> JSONValue {
    (try? JSONParser.parse(event.data)) ?? .string(event.data.text)
  }
}
