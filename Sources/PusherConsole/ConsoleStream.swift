internal import PusherCore
internal import PusherServer

protocol ConsoleSource: AnyObject {
  /// Appends messages until `output` reaches the limit; false at the end of the source.
  func fill(_ output: ByteBuffer, upTo limit: Int) -> Bool
  var hasMore: Bool { get }
  func close()
}

/// A client of `/console/events`: an endless answer in the form of an event stream.
final class ConsoleStream: ConnectionSocket {
  let input: ByteBuffer
  let output = ByteBuffer(capacity: 4096)
  weak var carrier: ServerConnection?
  private let source: any ConsoleSource
  private(set) var isFinished = false
  var isServed: Bool { !isFinished }
  private var hasGreeting = false
  private var nextComment: Instant
  private var onEnd: (ConsoleStream) -> Void

  /// Maximum output waiting in the connection, in bytes; the rest stays in the source.
  private static let outputLimit = 256 << 10
  /// Interval of comments that keep a silent stream alive.
  private static let heartbeat = Duration.seconds(15)

  init(
    _ source: any ConsoleSource, hello: JSONValue, on carrier: ServerConnection, at now: Instant,
    onEnd: @escaping (ConsoleStream) -> Void
  ) {
    (self.source, self.carrier, self.onEnd) = (source, carrier, onEnd)
    input = carrier.input
    nextComment = now.advanced(by: Self.heartbeat)
    output.append(
      HTTPResponseHead(
        status: 200, reason: "OK",
        headers: HTTPHeaders([
          ("Content-Type", EventStreamWriter.contentType), ("Cache-Control", "no-store"),
          ("X-Content-Type-Options", "nosniff"), ("X-Accel-Buffering", "no"),
          ("Connection", "close"),
        ])))
    greet(hello)
  }

  func greet(_ hello: JSONValue) {
    EventStreamWriter.write(event: "hello", data: JSONWriter.text(hello), to: output)
    hasGreeting = true
  }

  var deadline: Instant? { nextComment }

  /// Sends new messages; returns whether more could be sent at once.
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

  /// Drops input after the request.
  func receive(at now: Instant) { input.removeAll() }
  func inputEnded(at now: Instant) { finish() }
  func outputSent(at now: Instant) {}

  func tick(at now: Instant) {
    guard nextComment <= now, !isFinished else { return }
    // A client that reads nothing gets no more comments.
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

final class LiveSource: ConsoleSource {
  private let feed: ServerFeed
  private let instance: StreamInstance
  private let reader: Int
  private var waiting: [ServerFeed.Line] = []
  private var next = 0

  /// Fails if the feed has its maximum number of readers.
  ///
  /// - Parameter start: Place where a reader begins, also one that comes back.
  init?(
    _ feed: ServerFeed, of instance: StreamInstance, from start: ServerFeed.Start, wakeUp: WakeUp
  ) {
    guard let reader = feed.open(wakeUp, from: start) else { return nil }
    (self.feed, self.instance, self.reader) = (feed, instance, reader)
  }

  var hasMore: Bool { next < waiting.count }

  func fill(_ output: ByteBuffer, upTo limit: Int) -> Bool {
    while output.count < limit {
      if next == waiting.count {
        (waiting, next) = (feed.take(reader), 0)
        if waiting.isEmpty { return true }
      }
      output.write(waiting[next], of: instance)
      next += 1
    }
    return true
  }

  func close() { feed.close(reader) }
}

extension ByteBuffer {
  func write(_ line: ServerFeed.Line, of instance: StreamInstance) {
    switch line {
    case .entry(let number, let text):
      EventStreamWriter.write(
        event: "entry", id: instance.messageID(number), data: text, to: self)
    case .dropped(let loss):
      // With an ID, so that a reader who comes back is not told again.
      EventStreamWriter.write(
        event: "dropped", id: instance.messageID(loss.last),
        data: #"{"count":\#(loss.count),"reason":"\#(loss.cause.rawValue)"}"#, to: self)
    }
  }
}

/// One run of the console, which the IDs of its messages name.
///
/// Entry numbers begin anew with each run. An ID is `INSTANCE-NUMBER`, so an ID of an earlier run
/// cannot be taken for one of this run.
struct StreamInstance: Equatable {
  /// 16 hexadecimal digits.
  let id: String

  static func unique() -> StreamInstance { StreamInstance(id: Hex.encode(SecureRandom.bytes(8))) }

  func messageID(_ number: Int) -> String { "\(id)-\(number)" }

  /// Returns the entry's number; `nil` for the ID of another run and for other text.
  func number(of messageID: String) -> Int? {
    guard let digits = messageID.dropping(prefix: id + "-"),
      digits.utf8.allSatisfy({ $0 &- 0x30 < 10 })
    else { return nil }
    return Int(digits)
  }
}
