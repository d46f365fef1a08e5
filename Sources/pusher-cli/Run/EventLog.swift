internal import PusherCore
internal import PusherLines
internal import PusherServer

/// Prints the events of `serve` in the format of `subscribe`.
///
/// A slow reader does not block the server: events above the limit are dropped, with a warning.
final class EventLog {
  private let loop: EventLoop
  private let diagnostics: Diagnostics
  private let output: OutputQueue
  private let maker: LineMaker
  private let style: EventLineStyle
  private let hasTimestamps: Bool
  private let message = ByteBuffer()
  /// The buffer in which each line is made; the output's own if the style changes nothing.
  private let lines: ByteBuffer
  private var lost = 0
  private(set) var failure: ExitStatus?

  private static let queueLimit = 16 << 20

  init(
    _ settings: ServeSettings, _ descriptor: OutputDescriptor, loop: EventLoop,
    diagnostics: Diagnostics
  ) {
    (self.loop, self.diagnostics) = (loop, diagnostics)
    hasTimestamps = settings.hasTimestamps
    output = OutputQueue(descriptor: descriptor, limit: Self.queueLimit)
    style = EventLineStyle(forTerminal: descriptor.isTerminal)
    lines = style.isPlain ? output.buffer : ByteBuffer(capacity: 4096)
    maker = LineMaker(output: lines, service: settings.server.service)
    output.onFailure = { [weak self] in self?.outputFailed($0) }
    loop.add(output)
    loop.beforeWait { [weak self] in self?.flush() }
  }

  func add(_ event: ServerLogEvent) {
    switch event {
    case .event(let name, let channel, let data, _, _):
      print(MessageText.event(name: name, channel: channel, data: data))
    case .clientEvent(_, _, _, let message, _, _): print(message)
    default: break
    }
  }

  func flush() { output.flush() }

  private func print(_ text: String) {
    guard failure == nil else { return }
    guard output.buffer.count < Self.queueLimit else {
      if lost == 0 {
        diagnostics.warning("the reader of standard output is slow: events are dropped")
      }
      lost += 1
      return
    }
    if lost > 0 {
      diagnostics.warning("dropped \(Quantities.words(lost, of: "event"))")
      lost = 0
    }
    message.removeAll()
    message.append(text)
    guard let envelope = try? Envelope(message.view) else { return }
    if hasTimestamps { maker.setReceivedAt(SystemClock.wall().rfc3339) }
    maker.write(envelope, named: ForeignEventName.marked(token: envelope.eventToken))
    guard lines !== output.buffer else { return }
    style.write(EventLine(lines.view), to: output.buffer)
    lines.removeAll()
  }

  private func outputFailed(_ failure: OutputQueue.Failure) {
    self.failure = diagnostics.outcome(of: failure)
    loop.stop()
  }
}
