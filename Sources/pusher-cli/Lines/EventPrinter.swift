internal import PusherCore

final class EventPrinter {
  let core: Printer
  private let writers: LineWriters<EventLineWriter>
  /// Template for the fast path; `nil` if `--format` needs the general path.
  private let plainTemplate: LineTemplate?
  /// Switched off for runs that need every message.
  var usesFastWay: Bool
  private(set) var fallbacks = 0

  init(
    settings: PrintSettings, service: PusherService, output: ByteBuffer, isTerminal: Bool,
    receiver: (any EventReceiver)? = nil, record: ByteBuffer? = nil,
    columns: @escaping () -> Int? = { nil }, wallTime: @escaping () -> WallTime
  ) {
    writers = LineWriters(
      settings, output: output, isTerminal: isTerminal, handsOver: receiver != nil,
      record: record
    ) { EventLineWriter(output: $0, service: service, style: $1) }
    core = Printer(
      settings: settings, writers: writers, receiver: receiver, columns: columns,
      wallTime: wallTime)
    let template = core.template
    // Conditions are about the line, which a template does not leave behind.
    plainTemplate = settings.conditions.isEmpty ? template?.plain : nil
    usesFastWay =
      writers.printed.hasFastWay
      && (template == nil ? settings.form.output == .json : plainTemplate != nil)
      && core.field == nil && receiver == nil && record == nil && !settings.printsSummary
      && settings.failConditions.isEmpty
  }

  /// Prints any message, under `name` if given; a foreign name that looks like ours is marked.
  func print(_ envelope: Envelope, named given: String? = nil) {
    let name = given ?? ForeignEventName.marked(token: envelope.eventToken)
    let isWanted = core.admit(
      name ?? envelope.eventName, channel: envelope.channelName, bytes: envelope.byteCount,
      data: envelope.dataText, record: { writers.recorder?.write(envelope, named: name) },
      judge: { writers.judged?.write(envelope, named: name) },
      passes: { $0.passes(name ?? envelope.eventName) }, hasField: { $0.find(in: envelope) })
    guard isWanted else { return }
    if core.printsEvents { printCounted(envelope, named: name) }
    core.handOver(
      HandedEvent(
        name: name ?? envelope.eventName, channel: envelope.channelName,
        userID: envelope.userIDToken.map(JSONString.decode))
    ) { writers.handed?.write(envelope, named: name) }
  }

  func print(repaired event: Envelope) {
    let all = [writers.printed, writers.handed, writers.recorder, writers.judged]
    for writer in all { writer?.marksRepaired = true }
    print(event)
    for writer in all { writer?.marksRepaired = false }
  }

  private func printCounted(_ envelope: Envelope, named name: String?) {
    if let field = core.field { return field.write() }
    if let template = core.template {
      return core.write(template) { field in
        switch field {
        case .event: name ?? envelope.eventName
        case .channel: envelope.channelName
        case .userID: envelope.userIDToken.map(JSONString.decode)
        case .data: Printer.text(of: envelope.data)
        case .wire: envelope.dataText ?? ""
        default: nil
        }
      } line: {
        writers.printed.write(envelope, named: name)
      }
    }
    switch core.form.output {
    case .json: writers.printed.write(envelope, named: name)
    case .pretty:
      core.pretty?.write(envelope, named: name, isRepaired: writers.printed.marksRepaired)
    case .raw: core.raw.write(envelope)
    }
  }

  /// Prints a lifecycle or watchlist event; `members` is the current number of members, if known.
  func print(event: String, channel: String?, data: JSONValue, members: Int? = nil) {
    let isWanted = core.admit(
      event, channel: channel, bytes: JSONWriter.text(data).utf8.count,
      data: Printer.text(of: data),
      record: { writers.recorder?.write(event: event, channel: channel, data: data) },
      judge: { writers.judged?.write(event: event, channel: channel, data: data) },
      passes: { $0.passes(event) }, hasField: { $0.find(in: data) })
    guard isWanted else { return }
    if core.printsEvents {
      if let field = core.field {
        field.write()
      } else {
        core.printLifecycle(event: event, channel: channel, data: data, members: members)
      }
    }
    core.handOver(HandedEvent(name: event, channel: channel)) {
      writers.handed?.write(event: event, channel: channel, data: data)
    }
  }
}

extension EventPrinter: EventSink {
  func take(message: ByteView) -> SinkVerdict {
    guard usesFastWay, !core.isStopped, !core.isDone else { return .declined }
    if core.showsTime { core.stamp() }
    let before = core.output.count
    switch writers.printed.writeFast(
      message, by: plainTemplate, number: core.count &+ 1, filter: core.fastFilter)
    {
    case .written:
      if let conditions = core.conditions, !conditions.passes(core.output.view(from: before)) {
        core.output.truncate(to: before)
        core.noteUnmet()
        return .taken
      }
      core.count &+= 1
      if let channelCounts = core.channelCounts,
        let channel = PlainEventReader.channel(ofTaken: message)
      {
        channelCounts.note(channel)
      }
      return core.count >= core.limit || core.output.count >= core.burstSize
        ? .takenAndFull : .taken
    case .filtered where core.awaitsEvent:
      // The general path decides whether the event ends the run, is printed or is dropped.
      return .declined
    case .filtered:
      core.noteRejected()
      return .taken
    case .unusual:
      fallbacks &+= 1
      return .declined
    }
  }
}

extension ByteBuffer {
  /// The bytes after the first `count`.
  fileprivate func view(from count: Int) -> ByteView {
    let all = view
    return all[count..<all.count]
  }
}
