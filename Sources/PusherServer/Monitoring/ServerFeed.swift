package import PusherCore

/// Events of a server for its observers: pages of the console, and the record of a run.
///
/// An event costs one read of a counter if there are no observers. Each reader has its own queue;
/// entries that do not fit are counted and left out. Any thread may use it.
package final class ServerFeed: Sendable {
  package enum Line: Sendable, Equatable {
    case entry(Int, String)
    /// Number of entries left out here.
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
    var otherReaders = 0
    var nextReader = 0
    var lastEntry = 0

    var hasRoom: Bool { readers.count + otherReaders < ServerFeed.readerLimit }
  }

  /// Maximum number of simultaneous readers.
  package static let readerLimit = 16
  /// Default maximum of waiting entries per reader, in bytes.
  package static let queueLimit = 4 << 20

  private let state = Locked(FeedRecord())
  let watch = Watch()

  package init() {}

  package var isOpen: Bool { watch.isWatched }

  /// Adds a reader; `nil` if the maximum is reached.
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

  package func openRecording() -> Bool {
    state.withLock { state in
      guard state.hasRoom else { return false }
      state.otherReaders += 1
      return true
    }
  }

  package func closeRecording() { state.withLock { $0.otherReaders -= 1 } }

  /// Returns and removes the waiting lines, oldest first.
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

  /// Adds an entry for all readers, with the current time.
  ///
  /// - Parameters:
  ///   - members: Members besides number and time; evaluated only if there are readers.
  ///   - own: Not signalled, because the caller's thread takes its lines anyway.
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

extension ServerFeed.Reader {
  /// Adds a line, or counts it if the queue is full; returns whether it is the first waiting line.
  fileprivate mutating func add(_ line: ServerFeed.Line, size: Int) -> Bool {
    let isFirst = waiting.isEmpty && dropped == 0
    guard bytes + size <= limit else {
      dropped += 1
      return isFirst
    }
    // The gap is reported at its own place.
    if dropped > 0 {
      waiting.append(.dropped(dropped))
      dropped = 0
    }
    waiting.append(line)
    bytes += size
    return isFirst
  }
}
