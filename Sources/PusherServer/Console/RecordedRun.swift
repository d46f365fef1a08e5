internal import PusherCore

/// The file of a past run, as `--record` has written it.
///
/// A thread reads a portion when the one before is sent, so that a file of any size will do, and no disk holds the server up.
final class RecordedRun: ConsoleSource {
  private let feed: ConsoleFeed
  private let wakeUp: WakeUp
  private let reader: Locked<RecordingReader>
  /// What the thread has read, until it is taken.
  private let answer = Locked<RecordingReader.Portion?>(nil)
  private var portion = RecordingReader.Portion()
  private var next = 0
  private var isReading = false
  private var isOver = false
  private var isClosed = false

  /// `nil` when the file cannot be opened, or too many look on; the console counts it among the readers of `feed`.
  init?(_ path: String, _ feed: ConsoleFeed, wakeUp: WakeUp) {
    guard let file = try? FileReader(path), feed.openRecording() else { return nil }
    (self.feed, self.wakeUp) = (feed, wakeUp)
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
      output.write(portion.lines[next])
      next += 1
    }
    // The page keeps what it has, and comes for it again if the answer ends.
    return true
  }

  /// Takes what the thread has read; false while it reads.
  private func takePortion() -> Bool {
    let taken = answer.withLock { answer in
      defer { answer = nil }
      return answer
    }
    guard let taken else { return false }
    (portion, next, isReading) = (taken, 0, false)
    return true
  }

  /// Has a thread read the next portion; false when there can be none.
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
