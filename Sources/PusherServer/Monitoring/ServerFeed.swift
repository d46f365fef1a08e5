package import PusherCore

/// Events of a server for its observers: pages of the console, and the record of a run.
///
/// An event costs one read of a flag if there are no observers and nothing is kept. Each reader
/// has its own queue; entries that do not fit are counted and left out. Any thread may use it.
package final class ServerFeed: Sendable {
  package enum Line: Sendable, Equatable {
    case entry(Int, String)
    /// Consecutive entries left out here, up to the last one's number.
    case dropped(Int, last: Int, Cause)

    package enum Cause: String, Sendable {
      case slow
      /// The reader came too late: the entries are no longer kept.
      case expired
    }
  }

  package enum Start: Sendable, Equatable {
    case now
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
    var isWatched: Bool { !readers.isEmpty || history != nil }

    func fill(_ reader: inout Reader, from start: Start) {
      let oldest = lastEntry + 1 - (history?.count ?? 0)
      var next = oldest
      switch start {
      case .now: return
      case .after(let number) where (0...lastEntry).contains(number): next = number + 1
      case .oldest, .after: break
      }
      if next < oldest {
        reader.waiting.append(.dropped(oldest - next, last: oldest - 1, .expired))
        next = oldest
      }
      for text in history?.texts(skipping: next - oldest) ?? [] {
        _ = reader.add(next, text)
        next += 1
      }
    }
  }

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
      watch.isWatched = state.isWatched
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
      watch.isWatched = state.isWatched
      return state.nextReader
    }
  }

  package func close(_ reader: Int) {
    state.withLock { state in
      state.readers[reader] = nil
      watch.isWatched = state.isWatched
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

  package func take(_ reader: Int) -> [Line] {
    state.withLock { state in
      guard var own = state.readers[reader], !own.waiting.isEmpty || own.dropped > 0 else {
        return []
      }
      var lines = own.waiting
      if let loss = own.loss(before: state.lastEntry + 1) { lines.append(loss) }
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
      waiting.append(loss)
      dropped = 0
    }
    waiting.append(.entry(number, text))
    bytes += size
    return isFirst
  }

  fileprivate func loss(before number: Int) -> ServerFeed.Line? {
    dropped > 0 ? .dropped(dropped, last: number - 1, .slow) : nil
  }
}

/// The last entries of a feed as encoded text, for readers who come later.
package struct EntryHistory: Sendable {
  package static let byteLimit = 4 << 20
  /// Memory that an entry takes besides its text, in bytes.
  package static let overhead = 64

  private let countLimit: Int
  private let byteLimit: Int
  private var entries = Fifo<String>()
  private var size = 0

  /// - Parameters:
  ///   - countLimit: Maximum number of entries, at least 1.
  ///   - byteLimit: Maximum size of all entries.
  package init(_ countLimit: Int, byteLimit: Int = EntryHistory.byteLimit) {
    (self.countLimit, self.byteLimit) = (countLimit, byteLimit)
  }

  package var count: Int { entries.count }

  /// Adds an entry in place of the oldest ones; a text that does not fit leaves nothing behind.
  ///
  /// Entries must have consecutive numbers, so the entries before a missing one are dropped too.
  package mutating func add(_ text: String) {
    entries.append(text)
    size += Self.size(text)
    while count > countLimit || size > byteLimit, let oldest = entries.popFirst() {
      size -= Self.size(oldest)
    }
  }

  /// Returns all texts except the oldest `skipped` ones, from the oldest on.
  package func texts(skipping skipped: Int) -> [String] { Array(entries.dropFirst(skipped)) }

  private static func size(_ text: String) -> Int { text.utf8.count + overhead }
}

// Members of the JSON object that describes an event in the console; docs/console.md lists them.

extension ServerLogEvent {
  /// Returns `nil` if the console does not show the event.
  ///
  /// - Parameter caused: Number of the last events that a request caused.
  func entry(app: String?, caused: Int) -> [JSONValue.Member]? {
    switch self {
    case .event(let name, let channel, let data, let recipients, let serial):
      members(
        "event",
        [
          "source": "api", "app": app, "channel": channel, "event": name,
          "data": data.dataText,
        ], recipients.map { .init("recipients", .integer($0)) })
        + number("serial", serial)
    case .clientEvent(let socketID, let name, let channel, let message, let recipients, let serial):
      members(
        "event",
        [
          "source": "client", "app": app, "channel": channel, "event": name,
          "data": (try? JSONParser.parse(message))?["data"]?.dataText,
          "socket_id": socketID,
        ], recipients.map { .init("recipients", .integer($0)) })
        + number("serial", serial)
    case .request(let method, let path, let status, let reason):
      members(
        "request", ["method": method, "path": path], .init("status", .integer(status)),
        reason: reason) + (caused == 0 ? [] : [.init("events", .integer(caused))])
    case .connected(let socketID):
      members("connection", ["action": "opened", "app": app, "socket_id": socketID])
    case .disconnected(let socketID, let code, let reason):
      members(
        "connection", ["action": "closed", "app": app, "socket_id": socketID],
        code.map { .init("code", .integer($0)) }, reason: reason)
    case .refused(let code, let reason):
      members(
        "connection", ["action": "refused"], .init("code", .integer(code)), reason: reason)
    case .signedIn(let socketID, let userID):
      members(
        "user", ["action": "signed_in", "app": app, "socket_id": socketID, "user_id": userID])
    case .signInRefused(let socketID, let reason):
      members("user", ["action": "refused", "app": app, "socket_id": socketID], reason: reason)
    case .subscribed(let socketID, let channel, let userID):
      members(
        "subscription",
        [
          "action": "subscribed", "app": app, "socket_id": socketID, "channel": channel,
          "user_id": userID,
        ])
    case .subscriptionRefused(let socketID, let channel, let reason):
      members(
        "subscription",
        ["action": "refused", "app": app, "socket_id": socketID, "channel": channel],
        reason: reason)
    case .unsubscribed(let socketID, let channel):
      members(
        "subscription",
        ["action": "unsubscribed", "app": app, "socket_id": socketID, "channel": channel])
    case .resumed(let socketID, let recovered, let failed, let replayed):
      members(
        "subscription", ["action": "resumed", "app": app, "socket_id": socketID],
        reason: "\(recovered) of \(recovered + failed) channels with \(replayed) events")
    case .clientError(let socketID, let reason):
      members("error", ["app": app, "socket_id": socketID], reason: reason)
    case .webhookSent(let webhook, let status):
      members("webhook", texts(of: webhook, "sent"), .init("status", .integer(status)))
    case .webhookFailed(let webhook, let reason, let delay):
      members(
        "webhook", texts(of: webhook, "failed"),
        .init("retry_in", .number("\(delay.inSeconds)")), reason: reason)
    case .webhookDropped(let webhook, let reason):
      members("webhook", texts(of: webhook, "dropped"), reason: reason)
    case .webhooksDiscarded(let url, let count, let reason):
      members(
        "webhook", ["action": "dropped", "url": url, "event": "\(count) in the queue"],
        reason: reason)
    case .busLost, .busError, .busRefused, .accessRefused, .queuesFull, .channelsFull, .dropped:
      members("error", [:], reason: description)
    case .delivered, .busBack: nil
    }
  }

  private func texts(
    of webhook: SentWebhook, _ action: String
  ) -> KeyValuePairs<String, String?> {
    [
      "action": action, "app": webhook.app, "url": webhook.url, "event": webhook.event,
      "body": webhook.body.isEmpty ? nil : String(decoding: webhook.body, as: UTF8.self),
    ]
  }
}

extension WebhookNotice {
  func entry(app: String) -> [JSONValue.Member]? {
    switch kind {
    case .channelOccupied, .channelVacated:
      members(
        "channel",
        [
          "action": kind == .channelOccupied ? "occupied" : "vacated", "app": app,
          "channel": channel,
        ])
    case .memberAdded, .memberRemoved:
      members(
        "member",
        [
          "action": kind == .memberAdded ? "added" : "removed", "app": app, "channel": channel,
          "user_id": userID,
        ], userInfo.map { .init("user_info", $0) })
    case .clientEvent, .cacheMiss, .subscriptionCount: nil
    }
  }
}

private func number(_ name: String, _ value: Int?) -> [JSONValue.Member] {
  value.map { [.init(name, .integer($0))] } ?? []
}

private func members(
  _ kind: String, _ texts: KeyValuePairs<String, String?>, _ other: JSONValue.Member? = nil,
  reason: String = ""
) -> [JSONValue.Member] {
  var members = [JSONValue.Member("kind", .string(kind))]
  for (name, text) in texts { if let text { members.append(.init(name, .string(text))) } }
  if let other { members.append(other) }
  if !reason.isEmpty { members.append(.init("reason", .string(reason))) }
  return members
}
