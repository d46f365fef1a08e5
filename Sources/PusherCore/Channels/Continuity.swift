/// Place of a client in the stream of one channel, in Protocol V2 of sockudo.
package struct StreamPosition: Sendable, Equatable {
  /// Names one life of the stream; empty if the server names none.
  package var streamID: String
  /// From 0 to 2^53.
  package var serial: Int
  /// ID of the last event; `nil` before the first event after a subscription.
  package var messageID: String?

  /// JSON has no larger integers that every reader keeps.
  package static let largestSerial = 1 << 53
  /// Maximum length of the server's IDs, in bytes; they are kept for each channel.
  static let longestID = 255

  package init(streamID: String, serial: Int, messageID: String? = nil) {
    (self.streamID, self.serial, self.messageID) = (streamID, serial, messageID)
  }

  /// Reads `{"stream_id","serial","last_message_id"}`; `nil` for anything else.
  package init?(_ json: JSONValue) {
    guard case .number? = json["serial"], let serial = json["serial"]?.integer,
      (0...Self.largestSerial).contains(serial)
    else { return nil }
    self.init(
      streamID: json["stream_id"]?.text ?? "", serial: serial,
      messageID: json["last_message_id"]?.text)
    guard isShort else { return nil }
  }

  package var json: JSONValue {
    .object(present: [
      "stream_id": streamID.isEmpty ? nil : JSONValue.string(streamID), "serial": .integer(serial),
      "last_message_id": messageID.map(JSONValue.string),
    ])
  }

  fileprivate var isShort: Bool {
    streamID.utf8.count <= Self.longestID && messageID?.utf8.count ?? 0 <= Self.longestID
  }

  fileprivate func isOfStream(_ other: StreamPosition) -> Bool {
    streamID.isSame(as: other.streamID)
  }
}

/// Events of a channel's stream that may be missing.
package struct StreamGap: Sendable, Equatable {
  /// The server's word, such as `position_expired`.
  package var code: String
  package var reason: String
  /// Position of the last event before the gap.
  package var after: StreamPosition?
  package var currentStreamID: String?
  package var oldest: Int?
  package var newest: Int?
  /// Position from which events are complete again, unless an event has to tell it.
  package var position: StreamPosition?

  /// The code without a better one.
  package static let unproven = "continuity_unverifiable"

  /// A gap that the client finds by itself has the server's code for a stream without a proof.
  init(
    _ reason: String, code: String = unproven, after: StreamPosition? = nil,
    position: StreamPosition? = nil
  ) {
    (self.code, self.reason, self.after, self.position) = (code, reason, after, position)
  }

  /// Reads the server's `resume_failed`, or an element of `failed`.
  init(refusal json: JSONValue) {
    self.init(
      json["reason"]?.text ?? "the server gives no reason",
      code: json["code"]?.text ?? Self.unproven)
    currentStreamID = json["current_stream_id"]?.text
    oldest = json["oldest_available_serial"]?.integer
    newest = json["newest_available_serial"]?.integer
  }
}

/// Proves for each channel that no event is missing over a lost connection, or tells the gap.
///
/// Rules of this machine:
/// - The position of a channel moves with each event that it passes on.
/// - After a loss, one `resume` asks for the events after the positions of all subscribed channels.
///   Only the server's `resume_success` for a channel, together with the events that it counts, is
///   a proof. Everything else is a gap.
/// - Events are passed on in the order of their serials. An event that comes before the replay is
///   held until then. An event that was passed on already, by serial and ID, is dropped.
/// - An event that proves nothing is passed on, and the gap before it is told. So a server that
///   lies can repeat events, but it can hide none that it sends.
///
/// Source: sockudo's pages "Protocol V2" and "History and recovery", and its clients.
struct Continuity {
  enum Finding {
    case recovered(channel: String, count: Int, StreamPosition?)
    case missed(channel: String, StreamGap)
    /// The server answers for a channel that was not asked for.
    case foreign(channel: String)
    /// An event that was held goes on, in order; it may still be encrypted.
    case released([UInt8])
  }

  enum Verdict {
    case pass
    case drop
    case hold
  }

  /// Maximum size of all held events, in bytes.
  static let heldLimit = 1 << 20

  private struct Stream {
    enum State {
      case live
      /// The connection was lost, and no proof is asked for yet.
      case lost
      /// The connection was lost, and there was no position.
      case unknown
      case resuming
    }

    var state = State.live
    var position: StreamPosition?
    /// Position of the subscription on the present connection.
    var attached: StreamPosition?
    /// True from a subscription with a rewind to its end.
    var isRewinding = false
    /// Number of replayed events that were passed on.
    var replayed = 0
    /// Number of events that came since the question.
    var seen = 0
    var held: [(position: StreamPosition, message: [UInt8])] = []
    /// The last events by serial, to recognise their duplicates.
    var recent: [(serial: Int, id: Int)] = []
    static let memory = 64

    mutating func move(to position: StreamPosition) {
      self.position = position
      if recent.isEmpty { recent = Array(repeating: (-1, 0), count: Self.memory) }
      recent[position.serial % Self.memory] = (position.serial, Self.mark(position))
    }

    func hasPassedOn(_ event: StreamPosition) -> Bool {
      if let position, position.serial == event.serial {
        return position.messageID.isSame(as: event.messageID) || event.messageID == nil
      }
      return !recent.isEmpty
        && recent[event.serial % Self.memory] == (event.serial, Self.mark(event))
    }

    /// The subscription may count an event that comes after it.
    func isAtSubscription(_ event: StreamPosition) -> Bool {
      position?.serial == event.serial && position?.messageID == nil
    }

    private static func mark(_ event: StreamPosition) -> Int {
      Name(event.messageID ?? "").hashValue
    }
  }

  private var streams = NameTable<Stream>()
  private var lost = NameSet()
  private var asked = NameSet()
  private var heldBytes = 0
  private var findings = Fifo<Finding>()
  /// When the answer to the question is late; `nil` while none is due.
  private(set) var deadline: Instant?
  /// True if channels had their own verdicts since the loss.
  private(set) var hasJudged = false

  var isAsking: Bool { deadline != nil }
  var hasFindings: Bool { !findings.isEmpty }

  mutating func nextFinding() -> Finding? { findings.popFirst() }

  func position(of channel: String) -> StreamPosition? { streams[channel]?.position }

  /// Begins after the position of an earlier run.
  mutating func restore(_ position: StreamPosition, of channel: String) {
    var stream = Stream()
    (stream.state, stream.position) = (.lost, position)
    streams[channel] = stream
    lost.insert(channel)
  }

  mutating func forget(_ channel: String) {
    if var stream = streams.removeValue(of: channel) { drop(&stream.held) }
    lost.remove(channel)
    asked.remove(channel)
  }

  /// Notes that the connection is lost, with the channels that were subscribed on it.
  mutating func connectionLost(_ subscribed: [String]) {
    deadline = nil
    hasJudged = false
    asked.removeAll()
    for channel in subscribed {
      var stream = streams[channel] ?? Stream()
      drop(&stream.held)
      (stream.attached, stream.isRewinding) = (nil, false)
      stream.state = stream.position == nil ? .unknown : .lost
      streams[channel] = stream
      lost.insert(channel)
    }
  }

  private mutating func drop(_ held: inout [(position: StreamPosition, message: [UInt8])]) {
    for entry in held { heldBytes -= entry.message.count }
    held = []
  }

  /// Returns whether a subscription begins with earlier events, if the user wants them.
  ///
  /// - Parameter isNew: Whether the channel was never subscribed.
  func mayRewind(_ channel: String, isNew: Bool) -> Bool {
    guard let stream = streams[channel] else { return isNew }
    return stream.position == nil && stream.state == .live
  }

  /// Notes a subscription; `position` is the server's, if it keeps the channel's events.
  mutating func subscribed(_ channel: String, at position: StreamPosition?, rewinds: Bool) {
    guard position != nil || rewinds || streams[channel] != nil else { return }
    var stream = streams[channel] ?? Stream()
    stream.attached = position
    stream.isRewinding = rewinds
    if stream.state == .live, stream.position == nil, !rewinds { stream.position = position }
    streams[channel] = stream
  }

  /// Notes the end of a rewind; without an event, the stream begins at the subscription.
  mutating func rewound(_ channel: String) {
    guard var stream = streams[channel], stream.isRewinding else { return }
    stream.isRewinding = false
    stream.position = stream.position ?? stream.attached
    streams[channel] = stream
  }

  // MARK: The question

  var hasLost: Bool { !lost.isEmpty }

  /// Returns the positions to ask for, of those of the channels that lost their connection.
  ///
  /// Without any position, nothing was judged: the gap is that of the connection.
  mutating func resume(
    _ channels: [String], until time: Instant
  ) -> [(channel: String, position: StreamPosition)] {
    var positions: [(channel: String, position: StreamPosition)] = []
    var unknown: [String] = []
    for channel in channels where lost.remove(channel) {
      guard var stream = streams[channel] else { continue }
      if stream.state == .lost, let position = stream.position {
        positions.append((channel, position))
        asked.insert(channel)
        (stream.state, stream.replayed, stream.seen) = (.resuming, 0, 0)
      } else {
        unknown.append(channel)
        (stream.state, stream.position) = (.live, stream.position ?? stream.attached)
      }
      streams[channel] = stream
    }
    for channel in unknown where !positions.isEmpty {
      tell(
        channel,
        StreamGap("the server had given no position", position: streams[channel]?.position))
    }
    if !positions.isEmpty { deadline = time }
    return positions
  }

  /// Gives the answer more time, as each replayed event does.
  mutating func renew(until time: Instant) { if isAsking { deadline = time } }

  private mutating func tell(_ channel: String, _ gap: StreamGap) {
    hasJudged = true
    findings.append(.missed(channel: channel, gap))
  }

  // MARK: Events

  /// Takes an event of a subscribed channel before it is passed on.
  ///
  /// ``Finding``s after this call belong before the event if it passes.
  mutating func take(_ event: Envelope, of channel: String) -> Verdict {
    guard let token = event.serialToken else { return .pass }
    // Taken out, because a second owner would make each change copy the memory.
    var stream = streams.removeValue(of: channel) ?? Stream()
    guard let place = StreamPosition(event, token, in: stream.position) else {
      // The next event with a serial begins anew: its predecessors are unknown.
      let former = stream.position
      if stream.state == .live { stream.position = nil }
      streams[channel] = stream
      tell(
        channel,
        StreamGap("an event has no serial up to 2^53, or an ID above 255 bytes", after: former))
      return .pass
    }
    stream.seen += 1
    defer { streams[channel] = stream }
    switch stream.state {
    case .live, .unknown: return live(place, &stream, channel)
    case .lost, .resuming: break
    }
    guard let position = stream.position, place.isOfStream(position) else {
      return hold(place, event, &stream, channel)
    }
    if stream.hasPassedOn(place) { return .drop }
    if place.serial == position.serial + 1 {
      stream.move(to: place)
      if stream.state == .resuming { stream.replayed += 1 }
      return .pass
    }
    if place.serial > position.serial { return hold(place, event, &stream, channel) }
    fail(channel, &stream, StreamGap("serial \(place.serial) came after \(position.serial)"))
    return live(place, &stream, channel)
  }

  private mutating func live(
    _ place: StreamPosition, _ stream: inout Stream, _ channel: String
  ) -> Verdict {
    if let position = stream.position {
      var gap: StreamGap?
      if !place.isOfStream(position) {
        gap = StreamGap("another stream began", code: "stream_reset", after: position)
        gap?.currentStreamID = place.streamID
      } else if stream.hasPassedOn(place) {
        return .drop
      } else if place.serial <= position.serial, !stream.isAtSubscription(place) {
        gap = StreamGap("serial \(place.serial) came after \(position.serial)", after: position)
      } else if place.serial > position.serial + 1 {
        let (first, last) = (position.serial + 1, place.serial - 1)
        let what = first == last ? "serial \(first)" : "serials \(first) to \(last)"
        gap = StreamGap("\(what) did not come", after: position)
      }
      if let gap { tell(channel, gap) }
    }
    stream.move(to: place)
    return .pass
  }

  private mutating func hold(
    _ place: StreamPosition, _ event: Envelope, _ stream: inout Stream, _ channel: String
  ) -> Verdict {
    guard heldBytes + event.message.count <= Self.heldLimit else {
      fail(channel, &stream, StreamGap("more than 1 MiB of events came before the missed ones"))
      return live(place, &stream, channel)
    }
    heldBytes += event.message.count
    stream.held.append((place, event.message.array))
    return .hold
  }

  /// Ends the wait for a proof: the gap, then the held events.
  private mutating func fail(_ channel: String, _ stream: inout Stream, _ reason: StreamGap) {
    var gap = reason
    gap.after = stream.position
    let former = stream.position
    stream.position = stream.attached
    if let former, let attached = stream.attached, former.isOfStream(attached),
      former.serial > attached.serial
    {
      stream.position = former
    }
    gap.position = stream.position
    tell(channel, gap)
    release(channel, &stream)
  }

  /// Passes the held events on as live ones.
  private mutating func release(_ channel: String, _ stream: inout Stream) {
    stream.state = .live
    lost.remove(channel)
    let held = stream.held
    drop(&stream.held)
    for (place, message) in held where live(place, &stream, channel) == .pass {
      findings.append(.released(message))
    }
  }

  // MARK: The answer

  /// Handles `resume_success`, the end of the answer.
  mutating func succeeded(_ answer: JSONValue) {
    deadline = nil
    var isForeignTold = false
    for item in answer["recovered"]?.elements ?? [] {
      let channel = item["channel"]?.text ?? ""
      guard asked.contains(channel) else {
        if !isForeignTold { findings.append(.foreign(channel: channel)) }
        isForeignTold = true
        continue
      }
      // A channel that failed before stays failed.
      guard var stream = streams[channel], stream.state == .resuming else { continue }
      if let gap = Self.flaw(in: item, stream) {
        fail(channel, &stream, gap)
      } else {
        hasJudged = true
        let count = min(item["replayed"]?.integer ?? stream.replayed, stream.replayed)
        findings.append(.recovered(channel: channel, count: count, stream.position))
        release(channel, &stream)
      }
      streams[channel] = stream
    }
    for item in answer["failed"]?.elements ?? [] {
      failed(StreamGap(refusal: item), of: item["channel"]?.text ?? item.text ?? "")
    }
    failAll(StreamGap("the server's answer leaves the channel out"))
  }

  /// Returns why the answer proves nothing; `nil` for a proof.
  ///
  /// Each event that the server counts must have come, and its last position must be reached.
  private static func flaw(in item: JSONValue, _ stream: Stream) -> StreamGap? {
    let count = item["replayed"]?.integer ?? 0
    guard (0...stream.seen).contains(count) else {
      return StreamGap("the server counts \(count) replayed events, and \(stream.seen) came")
    }
    guard let json = item["position"], json != .null else { return nil }
    guard let end = StreamPosition(json), let own = stream.position,
      end.streamID.isEmpty || end.isOfStream(own)
    else { return StreamGap("the server's position is of another stream") }
    guard end.serial > own.serial else { return nil }
    return StreamGap("the server replayed up to serial \(end.serial), and \(own.serial) came last")
  }

  /// Handles `resume_failed`.
  mutating func failed(_ gap: StreamGap, of channel: String) {
    guard asked.contains(channel) else { return findings.append(.foreign(channel: channel)) }
    guard var stream = streams[channel], stream.state == .resuming else { return }
    fail(channel, &stream, gap)
    streams[channel] = stream
  }

  /// Ends the question without an answer for the channels that still wait.
  mutating func failAll(_ gap: StreamGap) {
    deadline = nil
    for channel in asked.sorted { failed(gap, of: channel) }
    asked.removeAll()
  }
}

extension StreamPosition {
  /// Reads the position of an event; `nil` without a serial, or if it breaks a limit.
  package init?(of event: Envelope, after former: StreamPosition?) {
    guard let serial = event.serialToken else { return nil }
    self.init(event, serial, in: former)
  }

  /// An event without a stream is of the present one.
  fileprivate init?(_ event: Envelope, _ serial: ByteView, in former: StreamPosition?) {
    let isPlain = (1...16).contains(serial.count) && serial.isNumber
    guard isPlain, let number = Int(serial.text), (0...Self.largestSerial).contains(number),
      event.messageIDToken?.count ?? 0 <= Self.longestID,
      event.streamIDToken?.count ?? 0 <= Self.longestID
    else { return nil }
    self.init(
      streamID: event.streamIDToken.map(JSONString.decode) ?? former?.streamID ?? "",
      serial: number, messageID: event.messageIDToken.map(JSONString.decode))
  }

  /// Reads the position of a subscription, which stands in the data or beside it.
  init?(subscription envelope: Envelope) {
    if let position = StreamPosition(envelope.data) {
      self = position
    } else if let serial = envelope.serialToken,
      let position = StreamPosition(envelope, serial, in: nil)
    {
      self = position
    } else {
      return nil
    }
    messageID = nil
  }
}
