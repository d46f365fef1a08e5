internal import PusherCore
internal import PusherServer

/// A file of a past run, written by `--record`.
///
/// Another thread reads one portion at a time, after the earlier portion is sent. So the file may
/// have any size, and a slow disk does not delay the server.
final class RecordedRun: ConsoleSource {
  private let feed: ServerFeed
  private let instance: StreamInstance
  /// Number of lines that the reader has already.
  private let known: Int
  private let wakeUp: WakeUp
  private let reader: Locked<RecordingReader>
  /// The portion that the thread has read.
  private let answer = Locked<RecordingReader.Portion?>(nil)
  private var portion = RecordingReader.Portion()
  private var next = 0
  private var isReading = false
  private var isOver = false
  private var isClosed = false

  /// Fails if the file cannot be opened, or if `feed` has its maximum number of readers.
  ///
  /// - Parameter known: Number of lines that the reader has already.
  init?(
    _ path: String, _ feed: ServerFeed, of instance: StreamInstance, after known: Int,
    wakeUp: WakeUp
  ) {
    guard let file = try? FileReader(path), feed.openRecording() else { return nil }
    (self.feed, self.instance, self.known, self.wakeUp) = (feed, instance, known, wakeUp)
    reader = Locked(RecordingReader(file))
  }

  var hasMore: Bool { next < portion.lines.count }

  func fill(_ output: ByteBuffer, upTo limit: Int) -> Bool {
    while output.count < limit, !isOver {
      if next == portion.lines.count {
        if portion.isLast {
          isOver = true
          EventStreamWriter.write(event: "end", data: "{}", to: output)
          break
        }
        guard takePortion() else { return readOn() }
        continue
      }
      if case .entry(let number, _) = portion.lines[next], number > known {
        output.write(portion.lines[next], of: instance)
      }
      next += 1
    }
    // The page keeps its entries, and reconnects if the answer ends.
    return true
  }

  private func takePortion() -> Bool {
    let taken = answer.withLock { answer in
      defer { answer = nil }
      return answer
    }
    guard let taken else { return false }
    (portion, next, isReading) = (taken, 0, false)
    return true
  }

  /// Returns false if no thread can be started.
  private func readOn() -> Bool {
    guard !isReading else { return true }
    isReading = DetachedThread.start(name: "pusher-record") { [reader, answer, wakeUp] in
      let portion = reader.withLock { $0.next() }
      answer.withLock { $0 = portion }
      wakeUp.signal()
    }
    return isReading
  }

  func close() {
    guard !isClosed else { return }
    (isClosed, isOver) = (true, true)
    feed.closeRecording()
  }
}
