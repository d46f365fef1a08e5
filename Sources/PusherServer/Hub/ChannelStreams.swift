internal import PusherCore

/// The recent events of an app's channels, so that a client of protocol V2 can resume.
///
/// Each channel has a stream: its ID names one life of the stream, and each event has the next
/// serial. Streams begin when the app's first client of V2 connects; before that, and once all such
/// clients have been away for a whole window, an event costs one check. An event stays for the
/// window of ``ServerLimits/Times/recovery``, at most ``ServerLimits/recoveryEvents`` of a channel
/// and ``ServerLimits/Sizes/recovery`` bytes of the app; the oldest go first. A stream without
/// events and subscribers stays for a window too, so that its last client may come back.
///
/// Source: sockudo's pages "Protocol V2" and "History and recovery".
struct ChannelStreams {
  private final class Stream {
    let channel: String
    let id: String
    var serial = 0
    var kept = Fifo<Kept>()
    /// Last event, subscription or departure.
    var lastUse: Instant
    /// True if the channel may have subscribers of V2.
    var isOccupied = false
    /// True if all events since the begin of the streams are kept.
    var isWhole: Bool
    /// Staged for the next client that resumes.
    var loss: StreamReplay.Loss?

    init(_ channel: String, _ id: String, isWhole: Bool, at now: Instant) {
      (self.channel, self.id, self.isWhole, lastUse) = (channel, id, isWhole, now)
    }

    var isUnused: Bool { kept.isEmpty && !isOccupied }

    var head: StreamPlace { StreamPlace(id: id, serial: serial) }
    var oldest: Int { serial - kept.count + 1 }
  }

  private typealias Kept = (frame: SharedFrame, time: Instant)

  /// Size of a stream and of an event beside their texts, in bytes; an estimate.
  private static let overhead = 256

  /// Names the life of all streams; `nil` before the first client of V2.
  private var life: String?
  private(set) var isActive = false
  private var streams = NameTable<Stream>()
  private var streamCount = 0
  /// The events of all streams, the oldest first; also events that their streams dropped.
  private var order = Fifo<(stream: Stream, serial: Int)>()
  private var keptCount = 0
  private(set) var bytes = 0
  /// True if a stream was dropped, so that a new one may be the same channel's.
  private var hasDropped = false
  private var nextSweep: Instant?

  /// Begins to keep events.
  mutating func begin(life: String) {
    self.life = self.life ?? life
    isActive = true
  }

  /// Drops all events, and keeps no more of them.
  mutating func end() {
    (streams, order) = (NameTable(), Fifo())
    (keptCount, bytes, hasDropped, isActive) = (0, 0, true, false)
  }

  // MARK: Events

  /// Gives an event its place, and keeps it.
  mutating func keep(
    _ text: String, on channel: String, _ limits: ServerLimits, at now: Instant
  ) -> SharedFrame {
    let stream = stream(of: channel, at: now)
    stream.serial += 1
    let frame = SharedFrame(text, channel: channel, place: stream.head)
    stream.kept.append((frame, now))
    order.append((stream, stream.serial))
    keptCount += 1
    bytes += frame.view.count + Self.overhead
    if stream.kept.count > limits.recoveryEvents { dropOldest(of: stream) }
    makeRoom(limits, at: now)
    return frame
  }

  private mutating func stream(of channel: String, at now: Instant) -> Stream {
    if let stream = streams[channel] {
      stream.lastUse = now
      return stream
    }
    return add(channel, isWhole: !hasDropped, at: now)
  }

  private mutating func add(_ channel: String, isWhole: Bool, at now: Instant) -> Stream {
    streamCount += 1
    let stream = Stream(channel, "\(life ?? "")-\(streamCount)", isWhole: isWhole, at: now)
    if streams[channel] == nil { bytes += channel.utf8.count + Self.overhead }
    streams[channel] = stream
    return stream
  }

  private mutating func dropOldest(of stream: Stream) {
    guard let (frame, _) = stream.kept.popFirst() else { return }
    stream.isWhole = false
    keptCount -= 1
    bytes -= frame.view.count + Self.overhead
  }

  private mutating func drop(_ stream: Stream) {
    guard streams[stream.channel] === stream else { return }
    streams[stream.channel] = nil
    bytes -= stream.channel.utf8.count + Self.overhead
    hasDropped = true
  }

  /// Drops what is older than the window, or more than the app may keep.
  private mutating func makeRoom(_ limits: ServerLimits, at now: Instant) {
    while let (stream, serial) = order.first {
      let isDropped = serial < stream.oldest
      guard isDropped || bytes > limits.sizes.recovery || isOver(stream, limits, at: now)
      else { break }
      _ = order.popFirst()
      if !isDropped { dropOldest(of: stream) }
      if bytes > limits.sizes.recovery, stream.isUnused { drop(stream) }
    }
    // Streams that drop many events by themselves leave their entries behind.
    guard order.count > 2 * keptCount + 1024 else { return }
    var rest = Fifo<(stream: Stream, serial: Int)>()
    for entry in order where entry.serial >= entry.stream.oldest { rest.append(entry) }
    order = rest
  }

  private func isOver(_ stream: Stream, _ limits: ServerLimits, at now: Instant) -> Bool {
    stream.kept.first.map { $0.time.duration(to: now) > limits.times.recovery } ?? false
  }

  /// Drops old events, and streams that nobody used for a window.
  mutating func tick(_ limits: ServerLimits, at now: Instant) {
    guard isActive else { return }
    makeRoom(limits, at: now)
    let isFull = bytes > limits.sizes.recovery
    guard isFull || nextSweep.map({ now >= $0 }) ?? true else { return }
    nextSweep = now.advanced(by: limits.times.recovery / 4)
    for stream in streams.elements where stream.isUnused {
      guard isFull || stream.lastUse.duration(to: now) > limits.times.recovery else { continue }
      drop(stream)
    }
  }

  /// Notes that the last subscriber left, who may come back.
  func noteVacated(_ channel: String, at now: Instant) {
    guard let stream = streams[channel] else { return }
    (stream.isOccupied, stream.lastUse) = (false, now)
  }

  // MARK: Replays

  mutating func replay(
    _ channel: String, from start: ReplayStart, _ limits: ServerLimits, at now: Instant
  ) -> StreamReplay {
    makeRoom(limits, at: now)
    let stream = stream(of: channel, at: now)
    stream.isOccupied = true
    var replay = StreamReplay(head: stream.head, isWhole: stream.isWhole)
    let kept = stream.kept.map { ($0.frame, $0.time.duration(to: now)) }
    replay.fill(kept, from: start, after: stream.loss, limits)
    if case .after = start { stream.loss = nil }
    return replay
  }

  // MARK: Faults

  /// Drops the events of a channel, as if the window were over; or begins a new stream.
  mutating func lose(_ channel: String, isReset: Bool, at now: Instant) {
    guard let stream = streams[channel] else { return }
    while !stream.kept.isEmpty { dropOldest(of: stream) }
    stream.loss = .expired
    guard isReset else { return }
    let new = add(channel, isWhole: false, at: now)
    (new.loss, new.isOccupied) = (.reset, stream.isOccupied)
  }
}

/// A place in a channel's stream; ``serial`` 0 is before the first event.
package struct StreamPlace: Sendable, Equatable {
  package let id: String
  package let serial: Int

  package init(id: String, serial: Int) { (self.id, self.serial) = (id, serial) }

  /// Name of all streams that began together: the ID without its own number.
  fileprivate var life: String { String(Substring(id.utf8.prefix { $0 != UInt8(ascii: "-") })) }

  /// True if the event at `place` is not after this one, and so part of a replay up to it.
  func isAfter(_ place: StreamPlace?) -> Bool {
    place.map { $0.id.isSame(as: id) && $0.serial <= serial } ?? false
  }

  var isValid: Bool { !id.isEmpty && 0...StreamPosition.largestSerial ~= serial }

  /// The same for each delivery of an event, and for no other event of the app.
  package var messageID: String { "\(id)-\(serial)" }
}

/// The first event that a client asks for.
package enum ReplayStart: Sendable, Equatable {
  /// None; only the stream's head.
  case now
  case after(StreamPlace)
  case count(Int)
  case period(Duration)
}

/// The events that a client gets from a channel's stream, or the reason why it gets none.
package struct StreamReplay: Sendable {
  package typealias Kept = (frame: SharedFrame, age: Duration)

  package struct Failure: Sendable {
    let code: String
    let reason: String

    static let expired = Failure(code: "position_expired", reason: "recovery_window_exceeded")
    static let reset = Failure(code: "stream_reset", reason: "stream_id_mismatch")
    static func unverifiable(_ reason: String) -> Failure {
      Failure(code: "continuity_unverifiable", reason: reason)
    }
    static let unavailable = Failure(
      code: "persistence_unavailable", reason: "streams_unavailable")
  }

  /// A staged loss of a stream.
  package enum Loss {
    case expired
    case reset
  }

  /// The channel's last event at this moment.
  let head: StreamPlace
  private(set) var frames: [SharedFrame] = []
  private(set) var failure: Failure?
  private(set) var oldest: Int?
  /// True if there were more events than ``ServerLimits/recoveryEvents``.
  private(set) var isCutByLimit = false
  /// True if earlier events were dropped.
  private(set) var isCutByRetention = false
  private let isWhole: Bool

  /// - Parameter isWhole: True if no event of the channel was dropped.
  package init(head: StreamPlace, isWhole: Bool) { (self.head, self.isWhole) = (head, isWhole) }

  /// Chooses from the kept events, the oldest first.
  package mutating func fill(
    _ kept: [Kept], from start: ReplayStart, after loss: Loss?, _ limits: ServerLimits
  ) {
    let recent = kept.suffix(limits.recoveryEvents).drop { $0.age > limits.times.recovery }
    oldest = recent.first?.frame.place?.serial
    var count = recent.count
    switch start {
    case .now: count = 0
    case .after(let place):
      count = head.serial - place.serial
      failure = failure(of: place, recent.count, loss)
      if failure != nil { count = 0 }
    case .count(let wanted):
      count = min(wanted, count)
      noteCut(isShort: count < wanted, recent.count, limits)
    case .period(let period):
      count = recent.count { $0.age <= period }
      noteCut(isShort: count == recent.count, recent.count, limits)
    }
    frames = recent.suffix(count).map(\.frame)
  }

  private mutating func noteCut(isShort: Bool, _ count: Int, _ limits: ServerLimits) {
    guard isShort, !isWhole || count < head.serial else { return }
    isCutByLimit = count == limits.recoveryEvents
    isCutByRetention = !isCutByLimit
  }

  private func failure(of place: StreamPlace, _ count: Int, _ loss: Loss?) -> Failure? {
    guard place.isValid else { return .unverifiable("invalid_position") }
    switch loss {
    case .expired: return .expired
    case .reset: return .reset
    case nil: break
    }
    guard place.id.isSame(as: head.id) else {
      // A stream of this life was dropped after its window.
      return place.life.isSame(as: head.life) ? .expired : .reset
    }
    guard place.serial <= head.serial else { return .unverifiable("position_ahead_of_stream") }
    return head.serial - place.serial <= count ? nil : .expired
  }
}

/// A client's request to resume, until the server has answered for all its channels.
///
/// A channel that the client is not subscribed to yet waits: clients send the request before their
/// subscriptions are signed.
final class Resumption {
  let deadline: Instant
  var waiting = NameTable<StreamPlace>()
  /// Channels that the member was not asked about yet, and the number of the channels that it was.
  var ready = Fifo<(name: String, place: StreamPlace)>()
  var asked = 0
  var isAsking = false
  static let portion = 16
  var recovered: [JSONValue] = []
  var failed: [JSONValue] = []
  var replayed = 0

  init(deadline: Instant) { self.deadline = deadline }

  var isDone: Bool { waiting.isEmpty && ready.isEmpty && asked == 0 }
}
