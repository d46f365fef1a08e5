package import PusherCore

/// What happens on a server, for those who look on: pages of the console, and the record of a run.
///
/// It costs a look at a counter while nobody does. Each reader has a queue of its own; what does not fit into it is
/// counted and left out. Any thread may use it.
package final class ConsoleFeed: Sendable {
  /// A line for one reader.
  package enum Line: Sendable, Equatable {
    /// Something that happened: its number, and a JSON object.
    case entry(Int, String)
    /// So many entries were left out here.
    case dropped(Int)
  }

  fileprivate struct Reader {
    let wakeUp: WakeUp
    let limit: Int
    var waiting: [Line] = []
    var bytes = 0
    var dropped = 0
  }

  private struct FeedRecord {
    var readers: [Int: Reader] = [:]
    /// Number of readers of a recording, which read no entries from the feed.
    var otherReaders = 0
    var nextReader = 0
    var lastEntry = 0

    var hasRoom: Bool { readers.count + otherReaders < ConsoleFeed.readerLimit }
  }

  /// Readers at a time.
  package static let readerLimit = 16
  /// Bytes that may wait for one reader.
  package static let queueLimit = 4 << 20

  private let state = Locked(FeedRecord())
  /// How many look on.
  let watch = Watch()

  package init() {}

  /// Whether somebody looks on.
  package var isOpen: Bool { watch.isWatched }

  /// Begins to look on, unless too many do.
  ///
  /// - Parameters:
  ///   - wakeUp: Is signalled when something waits.
  ///   - limit: How many bytes may wait.
  package func open(_ wakeUp: WakeUp, limit: Int = queueLimit) -> Int? {
    state.withLock { state in
      guard state.hasRoom else { return nil }
      state.nextReader += 1
      state.readers[state.nextReader] = Reader(wakeUp: wakeUp, limit: limit)
      watch.watchers = state.readers.count
      return state.nextReader
    }
  }

  package func close(_ reader: Int) {
    state.withLock { state in
      state.readers[reader] = nil
      watch.watchers = state.readers.count
    }
  }

  /// Counts a reader of a recording; false if the maximum number of readers is reached.
  func openRecording() -> Bool {
    state.withLock { state in
      guard state.hasRoom else { return false }
      state.otherReaders += 1
      return true
    }
  }

  func closeRecording() {
    state.withLock { $0.otherReaders -= 1 }
  }

  /// What waits for a reader, oldest first.
  package func take(_ reader: Int) -> [Line] {
    state.withLock { state in
      guard var own = state.readers[reader], !own.waiting.isEmpty || own.dropped > 0 else {
        return []
      }
      var lines = own.waiting
      if own.dropped > 0 { lines.append(.dropped(own.dropped)) }
      (own.waiting, own.bytes, own.dropped) = ([], 0, 0)
      state.readers[reader] = own
      return lines
    }
  }

  /// Notes something that happened now, for all readers.
  ///
  /// - Parameters:
  ///   - members: What is told beside number and time; asked for when somebody looks on.
  ///   - own: The caller's thread takes its lines without being woken.
  func note(_ members: @autoclosure () -> [JSONValue.Member]?, on own: WakeUp) {
    guard isOpen, let members = members() else { return }
    let time = JSONValue.Member("time", .string(SystemClock.wall().rfc3339))
    let asleep = state.withLock { state -> [WakeUp] in
      state.lastEntry += 1
      let number = state.lastEntry
      let text = JSONWriter.text(.object([.init("n", .integer(number)), time] + members))
      return state.readers.keys.compactMap { id in
        guard state.readers[id]?.add(.entry(number, text), size: text.utf8.count) == true else {
          return nil
        }
        return state.readers[id]?.wakeUp
      }
    }
    for wakeUp in asleep where wakeUp !== own { wakeUp.signal() }
  }
}

extension ConsoleFeed.Reader {
  /// Adds a line, or counts it where there is no room; answers whether it is the first that waits.
  fileprivate mutating func add(_ line: ConsoleFeed.Line, size: Int) -> Bool {
    let isFirst = waiting.isEmpty && dropped == 0
    guard bytes + size <= limit else {
      dropped += 1
      return isFirst
    }
    // What was left out stands where it is missing.
    if dropped > 0 {
      waiting.append(.dropped(dropped))
      dropped = 0
    }
    waiting.append(line)
    bytes += size
    return isFirst
  }
}
