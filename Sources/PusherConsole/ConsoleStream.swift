internal import PusherCore
internal import PusherServer

/// Lines of a stream; `isLast` at the end of a recording.
typealias Portion = (lines: [ServerFeed.Line], isLast: Bool)

/// A client of `/console/events`: an endless answer in the form of an event stream.
final class ConsoleStream: ConnectionSocket {
  let input: ByteBuffer
  let output = ByteBuffer(capacity: 4096)
  weak var carrier: ServerConnection?
  /// Returns the lines that are ready, maybe none; `nil` if no more can come.
  private let take: () -> Portion?
  private let instance: String
  private var portion: Portion = ([], false)
  /// Index of the next line of the portion.
  private var next = 0
  /// True after the end of a recording; the answer goes on, because the page would reconnect.
  private var isOver = false
  private(set) var isFinished = false
  var isServed: Bool { !isFinished }
  private var hasGreeting = false
  private var nextComment: Instant
  private var onEnd: (ConsoleStream) -> Void

  /// Maximum output waiting in the connection, in bytes; the rest stays in ``portion`` and the
  /// source.
  private static let outputLimit = 256 << 10
  /// Interval of comments that keep a silent stream alive.
  private static let heartbeat = Duration.seconds(15)

  init(
    of instance: String, hello: JSONValue, on carrier: ServerConnection, at now: Instant,
    take: @escaping () -> Portion?, onEnd: @escaping (ConsoleStream) -> Void
  ) {
    (self.take, self.instance, self.carrier, self.onEnd) = (take, instance, carrier, onEnd)
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
    if !fill() { finish() }
    // An output that is not full has taken all that there is.
    let isFull = output.count >= Self.outputLimit
    guard output.count > before || hasGreeting || isFinished else { return false }
    hasGreeting = false
    nextComment = now.advanced(by: Self.heartbeat)
    carrier.flush(at: now)
    return isFull && !isFinished && output.isEmpty
  }

  /// Writes lines until the output is full; false at the end of the source.
  private func fill() -> Bool {
    while output.count < Self.outputLimit, !isOver {
      if next < portion.lines.count {
        write(portion.lines[next])
        next += 1
      } else if portion.isLast {
        isOver = true
        EventStreamWriter.write(event: "end", data: "{}", to: output)
      } else {
        guard let taken = take() else { return false }
        (portion, next) = (taken, 0)
        if taken.lines.isEmpty, !taken.isLast { return true }
      }
    }
    return true
  }

  private func write(_ line: ServerFeed.Line) {
    switch line {
    case .entry(let number, let text):
      EventStreamWriter.write(
        event: "entry", id: "\(instance)-\(number)", data: text, to: output)
    case .dropped(let count, let last, let cause):
      // With an ID, so that a reader who comes back is not told again.
      EventStreamWriter.write(
        event: "dropped", id: "\(instance)-\(last)",
        data: #"{"count":\#(count),"reason":"\#(cause.rawValue)"}"#, to: output)
    }
  }

  /// Drops input after the request.
  func receive(at now: Instant) { input.removeAll() }
  func inputEnded(at now: Instant) { finish() }

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
    onEnd(self)
  }
}

/// A file of a past run, written by `--record`.
///
/// Another thread reads one portion at a time, after the earlier portion is sent. So the file may
/// have any size, and a slow disk does not delay the server.
final class RecordedRun {
  private let feed: ServerFeed
  /// Number of lines that the reader has already.
  private let known: Int
  private let wakeUp: WakeUp
  private let reader: Locked<RecordingReader>
  /// The portion that the thread has read.
  private let answer = Locked<Portion?>(nil)
  private var isReading = false

  /// Fails if the file cannot be opened, or if `feed` has its maximum number of readers.
  init?(_ path: String, _ feed: ServerFeed, after known: Int, wakeUp: WakeUp) {
    guard let file = try? FileReader(path), feed.openRecording() else { return nil }
    (self.feed, self.known, self.wakeUp) = (feed, known, wakeUp)
    reader = Locked(RecordingReader(file))
  }

  func take() -> Portion? {
    let taken = answer.withLock { answer in
      defer { answer = nil }
      return answer
    }
    if var taken {
      isReading = false
      taken.lines.removeAll { if case .entry(let number, _) = $0 { number <= known } else { true } }
      if !taken.lines.isEmpty || taken.isLast { return taken }
    }
    if !isReading {
      isReading = DetachedThread.start(name: "pusher-record") { [reader, answer, wakeUp] in
        let portion = reader.withLock { $0.next() }
        answer.withLock { $0 = portion }
        wakeUp.signal()
      }
    }
    // Without a thread there are no more lines.
    return isReading ? ([], false) : nil
  }

  func close() { feed.closeRecording() }
}

/// Reads the lines of a recording, one JSON object per line.
///
/// It works in portions of bounded size. Any thread may ask for a portion, one thread at a time.
package struct RecordingReader {
  private let file: FileReader
  private let rest = ByteBuffer()
  /// Number of bytes in ``rest`` without a line end.
  private var searched = 0
  private var lineNumber = 0
  /// True while the rest of an overlong line is dropped.
  private var skipsLine = false
  private static let readSize = 64 << 10
  private static let portionSize = 1 << 20
  /// A portion ends when its lines reach this size, in bytes.
  package static let linesSize = 256 << 10
  /// Maximum size of a line, in bytes; a longer line becomes an error entry.
  package static let lineLimit = 4 << 20

  init(_ file: FileReader) { self.file = file }

  /// Returns the next lines; none if the portion had only blank lines.
  mutating func next() -> Portion {
    var portion: Portion = ([], false)
    var (read, size) = (0, 0)
    while size < Self.linesSize {
      if let line = takeLine() {
        lineNumber += 1
        guard !line.isEmpty else { continue }
        let text = entry(line)
        size += text.utf8.count
        portion.lines.append(.entry(lineNumber, text))
        continue
      }
      guard read < Self.portionSize else { break }
      let before = rest.count
      guard file.read(into: rest, atMost: Self.readSize) else {
        addLast(to: &portion)
        break
      }
      read += rest.count - before
    }
    return portion
  }

  /// Returns the next complete line without its end; `nil` if more input is needed.
  private mutating func takeLine() -> [UInt8]? {
    let view = rest.view
    while searched < view.count, view[searched] != 0x0A { searched += 1 }
    guard searched < view.count else {
      if view.count > Self.lineLimit { skipsLine = true }
      if skipsLine {
        rest.removeAll()
        searched = 0
      }
      return nil
    }
    // Text in place of an overlong line; no valid entry.
    let line = skipsLine ? [0x3F] : view[0..<searched].array
    skipsLine = false
    rest.consume(searched + 1)
    searched = 0
    return line
  }

  private mutating func addLast(to portion: inout Portion) {
    portion.isLast = true
    guard skipsLine || !rest.isEmpty else { return }
    lineNumber += 1
    portion.lines.append(.entry(lineNumber, entry(skipsLine ? [0x3F] : rest.view.array)))
    rest.removeAll()
  }

  private func entry(_ line: [UInt8]) -> String {
    let text = String(decoding: line, as: UTF8.self)
    if let value = try? JSONParser.parse(text), value["kind"]?.text != nil {
      return JSONWriter.text(value)
    }
    let fault: JSONValue = [
      "n": .integer(lineNumber), "kind": "error",
      "reason": .string("line \(lineNumber) of the recording is not an entry"),
    ]
    return JSONWriter.text(fault)
  }
}
