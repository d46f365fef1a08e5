internal import PusherCore

/// Where a stream of the console gets its messages.
protocol ConsoleSource: AnyObject {
  /// Appends messages until `output` has enough; false when there is nothing more, ever.
  func fill(_ output: ByteBuffer, upTo limit: Int) -> Bool
  /// Whether more is there already.
  var hasMore: Bool { get }
  func close()
}

/// One client of `/console/events`: an answer that does not end, in the form of an event stream.
final class ConsoleStream: ConnectionSocket {
  let input: ByteBuffer
  let output = ByteBuffer(capacity: 4096)
  weak var carrier: ServerConnection?
  private let source: any ConsoleSource
  private(set) var isFinished = false
  var isServed: Bool { !isFinished }
  /// Whether the greeting waits to be sent.
  private var hasGreeting = false
  private var nextComment: Instant
  private var onEnd: (ConsoleStream) -> Void

  /// How much waits in the connection at most; the rest waits where it comes from.
  private static let outputLimit = 256 << 10
  /// How often a silent stream shows that it lives.
  private static let heartbeat = Duration.seconds(15)

  init(
    _ source: any ConsoleSource, hello: JSONValue, on carrier: ServerConnection, at now: Instant,
    onEnd: @escaping (ConsoleStream) -> Void
  ) {
    (self.source, self.carrier, self.onEnd) = (source, carrier, onEnd)
    input = carrier.input
    nextComment = now.advanced(by: Self.heartbeat)
    output.append(
      "HTTP/1.1 200 OK\r\nContent-Type: \(EventStreamWriter.contentType)\r\n"
        + "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
        + "X-Accel-Buffering: no\r\nConnection: close\r\n\r\n")
    greet(hello)
  }

  /// Tells what the server is.
  func greet(_ hello: JSONValue) {
    EventStreamWriter.write(event: "hello", data: JSONWriter.text(hello), to: output)
    hasGreeting = true
  }

  /// When to show that it lives.
  var deadline: Instant? { nextComment }

  /// Sends what has come; answers whether more waits that could go at once.
  func flush(at now: Instant) -> Bool {
    guard !isFinished, let carrier else { return false }
    let before = output.count
    if !source.fill(output, upTo: Self.outputLimit) { finish() }
    guard output.count > before || hasGreeting || isFinished else { return false }
    hasGreeting = false
    nextComment = now.advanced(by: Self.heartbeat)
    carrier.flush(at: now)
    return !isFinished && output.isEmpty && source.hasMore
  }

  /// What a client sends after its request counts for nothing.
  func receive(at now: Instant) { input.removeAll() }

  func inputEnded(at now: Instant) { finish() }

  func outputSent(at now: Instant) {}

  func tick(at now: Instant) {
    guard nextComment <= now, !isFinished else { return }
    // A client that takes nothing gets no more of them.
    if output.isEmpty { EventStreamWriter.writeComment(to: output) }
    nextComment = now.advanced(by: Self.heartbeat)
  }

  func stop(at now: Instant) { finish() }

  func lost(reason: String, at now: Instant) { finish() }

  private func finish() {
    guard !isFinished else { return }
    isFinished = true
    source.close()
    onEnd(self)
  }
}

/// What happens now.
final class LiveSource: ConsoleSource {
  private let feed: ConsoleFeed
  private let reader: Int
  private var waiting: [ConsoleFeed.Line] = []
  private var next = 0

  /// `nil` when too many look on.
  init?(_ feed: ConsoleFeed, wakeUp: WakeUp) {
    guard let reader = feed.open(wakeUp) else { return nil }
    (self.feed, self.reader) = (feed, reader)
  }

  var hasMore: Bool { next < waiting.count }

  func fill(_ output: ByteBuffer, upTo limit: Int) -> Bool {
    while output.count < limit {
      if next == waiting.count {
        (waiting, next) = (feed.take(reader), 0)
        if waiting.isEmpty { return true }
      }
      output.write(waiting[next])
      next += 1
    }
    return true
  }

  func close() { feed.close(reader) }
}

extension ByteBuffer {
  /// Appends a line of the feed as a message.
  func write(_ line: ConsoleFeed.Line) {
    switch line {
    case .entry(let number, let text):
      EventStreamWriter.write(event: "entry", id: String(number), data: text, to: self)
    case .dropped(let count):
      EventStreamWriter.write(event: "dropped", data: "{\"count\":\(count)}", to: self)
    }
  }
}
