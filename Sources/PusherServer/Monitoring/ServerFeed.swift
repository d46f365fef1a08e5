package import PusherCore

/// Events of a server for its observers: pages of the console, and the record of a run.
///
/// An event costs one read of a counter if there are no observers and nothing is kept. Each reader
/// has its own queue; entries that do not fit are counted and left out. Any thread may use it.
package final class ServerFeed: Sendable {
  package enum Line: Sendable, Equatable {
    case entry(Int, String)
    /// Entries left out here.
    case dropped(Loss)
  }

  /// Consecutive entries that a reader does not get.
  package struct Loss: Sendable, Equatable {
    package enum Cause: String, Sendable {
      /// The reader was slow.
      case slow
      /// The reader came too late: the entries are no longer kept.
      case expired
    }

    package let count: Int
    /// Number of the last of them.
    package let last: Int
    package let cause: Cause
  }

  /// The entry with which a reader begins.
  package enum Start: Sendable, Equatable {
    /// The next entry.
    case now
    /// The oldest entry that is kept.
    case oldest
    /// The entry after this number; entries that are no longer kept are counted.
    case after(Int)
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
    var history: EntryHistory?

    var hasRoom: Bool { readers.count + otherReaders < ServerFeed.readerLimit }
    /// The history takes entries also while there are no readers.
    var watchers: Int { readers.count + (history == nil ? 0 : 1) }

    /// Gives a new reader the kept entries from its start on.
    func fill(_ reader: inout Reader, from start: Start) {
      let oldest = lastEntry + 1 - (history?.count ?? 0)
      var next = oldest
      switch start {
      case .now: return
      case .after(let number) where (0...lastEntry).contains(number): next = number + 1
      case .oldest, .after: break
      }
      if next < oldest {
        reader.waiting.append(
          .dropped(Loss(count: oldest - next, last: oldest - 1, cause: .expired)))
        next = oldest
      }
      for text in history?.texts(skipping: next - oldest) ?? [] {
        _ = reader.add(next, text)
        next += 1
      }
    }
  }

  /// Maximum number of simultaneous readers.
  package static let readerLimit = 16
  /// Default maximum of waiting entries per reader, in bytes.
  package static let queueLimit = 4 << 20

  private let state = Locked(FeedRecord())
  let watch = Watch()

  package init() {}

  package var isOpen: Bool { watch.isWatched }

  /// Keeps the last entries for later readers from now on; 0 keeps none.
  package func keep(_ count: Int) {
    state.withLock { state in
      state.history = count > 0 ? EntryHistory(count) : nil
      watch.watchers = state.watchers
    }
  }

  /// Adds a reader; `nil` if the maximum is reached.
  package func open(
    _ wakeUp: WakeUp, from start: Start = .now, limit: Int = queueLimit
  ) -> Int? {
    state.withLock { state in
      guard state.hasRoom else { return nil }
      var reader = Reader(wakeUp: wakeUp, limit: limit)
      state.fill(&reader, from: start)
      state.nextReader += 1
      state.readers[state.nextReader] = reader
      watch.watchers = state.watchers
      return state.nextReader
    }
  }

  package func close(_ reader: Int) {
    state.withLock { state in
      state.readers[reader] = nil
      watch.watchers = state.watchers
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
      if let loss = own.loss(before: state.lastEntry + 1) { lines.append(.dropped(loss)) }
      (own.waiting, own.bytes, own.dropped) = ([], 0, 0)
      state.readers[reader] = own
      return lines
    }
  }

  /// Adds an entry for all readers, with the current time.
  ///
  /// - Parameters:
  ///   - members: Members besides number and time; evaluated only if entries are noted.
  ///   - own: Not signalled, because the caller's thread takes its lines anyway.
  func note(_ members: @autoclosure () -> [JSONValue.Member]?, on own: WakeUp) {
    guard isOpen, let members = members() else { return }
    let time = JSONValue.Member("time", .string(SystemClock.wall().rfc3339))
    let asleep = state.withLock { state -> [WakeUp] in
      state.lastEntry += 1
      let number = state.lastEntry
      let text = JSONWriter.text(.object([.init("n", .integer(number)), time] + members))
      state.history?.add(text)
      return state.readers.keys.compactMap { id in
        guard state.readers[id]?.add(number, text) == true else { return nil }
        return state.readers[id]?.wakeUp
      }
    }
    for wakeUp in asleep where wakeUp !== own { wakeUp.signal() }
  }
}

extension ServerFeed.Reader {
  /// Adds an entry, or counts it if the queue is full; returns whether it is the first one waiting.
  fileprivate mutating func add(_ number: Int, _ text: String) -> Bool {
    let isFirst = waiting.isEmpty && dropped == 0
    let size = text.utf8.count
    guard bytes + size <= limit else {
      dropped += 1
      return isFirst
    }
    // The gap is reported at its own place.
    if let loss = loss(before: number) {
      waiting.append(.dropped(loss))
      dropped = 0
    }
    waiting.append(.entry(number, text))
    bytes += size
    return isFirst
  }

  /// Returns the entries left out just before an entry.
  fileprivate func loss(before number: Int) -> ServerFeed.Loss? {
    dropped > 0 ? ServerFeed.Loss(count: dropped, last: number - 1, cause: .slow) : nil
  }
}
