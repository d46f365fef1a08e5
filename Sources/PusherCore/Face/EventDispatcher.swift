internal import Synchronization

/// Hands events to the handlers: the hot path of the library.
///
/// There is one for each call of `connect()` and of `switch(to:)`; it belongs to the callback thread.
final class EventDispatcher: FeedTap {
  private let connection: PusherConnection
  private let generation: Int
  /// How the names begin that the session has to see.
  private let protocolPrefix: [UInt8]
  private let reader: PlainEventReader
  /// Where the reader writes the data of one event.
  private let scratch = ByteBuffer(capacity: 65_536)
  /// The channels that the session knows, by name.
  var channels = NameTable<PusherChannel>() {
    didSet { recent.forgetChannel() }
  }
  /// What the next event mostly shares with the last one.
  private var recent = RecentParts()

  init(connection: PusherConnection, service: PusherService, generation: Int) {
    self.connection = connection
    self.generation = generation
    let prefix = service.commonPrefix
    protocolPrefix = Array(prefix.utf8)
    reader = PlainEventReader(protocolPrefix: prefix)
  }

  func take(message: ByteView) -> TapVerdict {
    if let parts = reader.read(message, buffer: scratch) {
      guard isLive else { return .taken }
      // Nothing of this object is in use while handlers run: they may do what they like.
      if let (event, recipients) = recent.next(parts, connection.bindings, of: self) {
        for handler in recipients.handlers { handler.receive(event) }
      }
      return verdict
    }
    guard let envelope = try? Envelope(message), isPlain(envelope) else { return .declined }
    guard isLive else { return .taken }
    dispatch(PusherEvent(envelope, eventName: envelope.eventName, timeReceived: now))
    return verdict
  }

  /// What follows from an event that was handed out.
  @inline(__always)
  private var verdict: TapVerdict { connection.readingHold.isHeld ? .takenAndFull : .taken }

  /// Whether the session does not need to see this event.
  private func isPlain(_ envelope: Envelope) -> Bool {
    let name = envelope.eventToken
    if unsafe name.raw.starts(with: protocolPrefix) || name.isEscaped { return false }
    guard let channel = envelope.channelToken else { return true }
    return !channel.begins(with: "private-encrypted-") && !channel.isEscaped
  }

  /// Whether events are still wanted of this connection; `disconnect()` ends that at once.
  var isLive: Bool { connection.liveGeneration.load(ordering: .relaxed) == generation }

  /// A round of the loop begins: the next events get a new time, and unbound handlers are released.
  ///
  /// - Returns: How many events the last one has handed out.
  func beginRound() -> Int {
    recent.timeReceived = nil
    defer { recent.handedOut = 0 }
    return recent.handedOut
  }

  /// Lets go of handlers that were unbound.
  func trim() {
    recent.trim(connection.bindings)
  }

  private var now: WallTime { recent.readTime() }

  /// Calls the channel's handlers, then the client's, each in the order of binding.
  func dispatch(_ event: PusherEvent) {
    if let name = event.channelName { recent.find(name, in: channels) }
    let (own, all) = recent.tables(connection.bindings)
    recent.handedOut += 1
    if let own, event.channelName != nil { call(own, event) }
    if let all { call(all, event) }
  }

  @inline(__always)
  private func call(_ table: BindingTable, _ event: PusherEvent) {
    if !table.named.isEmpty, let handlers = table.named[event.eventName] {
      for handler in handlers { handler.receive(event) }
    }
    for handler in table.all { handler.receive(event) }
  }

  /// Hands out an event of the general path, under its public name.
  func dispatch(_ envelope: Envelope, named name: String?) {
    dispatch(
      PusherEvent(
        envelope, eventName: name ?? envelope.eventName, timeReceived: now))
  }

  /// Hands out an event that this side makes, only if a handler wants it.
  func dispatch(_ name: String, channel channelName: String?, data: () -> JSONValue) {
    guard isWanted(name, channelName) else { return }
    dispatch(
      PusherEvent(
        eventName: name, channelName: channelName, data: data().jsonText, timeReceived: now))
  }

  /// Hands out an event without a channel to the handlers of one list.
  func dispatch(_ name: String, to bindings: BindingList, data: JSONValue) {
    var snapshot = BindingList.Snapshot()
    bindings.refresh(&snapshot)
    let event = PusherEvent(
      eventName: name, channelName: nil, data: data.jsonText, timeReceived: now)
    call(snapshot.table, event)
  }

  private func isWanted(_ name: String, _ channelName: String?) -> Bool {
    if let channelName { recent.find(channelName, in: channels) }
    let (own, all) = recent.tables(connection.bindings)
    if let all, all.wants(name) { return true }
    guard let own, channelName != nil else { return false }
    return own.wants(name)
  }
}

/// The handlers that get an event: the channel's, then the client's, first those of its name.
private final class Recipients {
  let handlers: [EventHandler]

  init?(_ name: String, _ tables: BindingTable?...) {
    handlers = tables.flatMap { table in
      table.map { ($0.named[name] ?? []) + $0.all } ?? []
    }
    if handlers.isEmpty { return nil }
  }
}

/// The names, the channel and the handlers of the last event, and when it was read.
private struct RecentParts {
  /// When the bytes that are being handed out were read; asked for once a round.
  var timeReceived: WallTime?
  private var channel = RecentChannel()
  private var eventName = RecentName()
  private var channelName = RecentName()
  private var global = BindingList.Snapshot()
  /// Who gets an event of the same name and channel.
  private var recipients: Recipients?
  /// Whether `recipients` belongs to something else than the names and handlers at hand.
  private var isStale = true
  /// Events since the round began.
  var handedOut = 0

  mutating func readTime() -> WallTime {
    if let timeReceived { return timeReceived }
    let now = SystemClock.wall()
    timeReceived = now
    return now
  }

  /// The event and who gets it; `nil` when that is nobody.
  ///
  /// It is one call, because each has to look whether another one is at work here.
  @inline(__always)
  mutating func next(
    _ parts: PlainEventReader.Parts, _ bindings: BindingList, of dispatcher: EventDispatcher
  ) -> (PusherEvent, Recipients)? {
    handedOut &+= 1
    channelName.update(to: parts.channel)
    if channel.change != channelName.changes {
      find(channelName.text, in: dispatcher.channels)
      channel.change = channelName.changes
    }
    if eventName.update(to: parts.event) { isStale = true }
    refresh(bindings)
    if isStale { gather() }
    guard let recipients else { return nil }
    let event = PusherEvent(
      eventName: eventName.text, channelName: channelName.text, data: parts.data,
      timeReceived: readTime())
    return (event, recipients)
  }

  /// Finds a channel by its name.
  mutating func find(_ name: String, in channels: NameTable<PusherChannel>) {
    if channel.find(name, in: channels) { isStale = true }
  }

  mutating func forgetChannel() {
    channel.forget()
    isStale = true
  }

  private mutating func gather() {
    recipients = Recipients(eventName.text, channel.table, global.table)
    isStale = false
  }

  @inline(__always)
  private mutating func refresh(_ bindings: BindingList) {
    if channel.refresh() { isStale = true }
    if bindings.refresh(&global) { isStale = true }
  }

  /// The handlers of the channel that was found last, and those of the client; `nil` for none.
  mutating func tables(_ bindings: BindingList) -> (BindingTable?, BindingTable?) {
    refresh(bindings)
    return (channel.table, global.isEmpty ? nil : global.table)
  }

  /// Lets go of handlers that were unbound.
  mutating func trim(_ bindings: BindingList) {
    refresh(bindings)
    if isStale { recipients = nil }
  }
}

/// A name as text, kept because the next event mostly has the same.
private struct RecentName {
  private let bytes = ByteBuffer(capacity: 256)
  private(set) var text = ""
  /// Counts the changes.
  private(set) var changes = 0

  /// Answers whether it was another one.
  @inline(__always)
  @discardableResult
  mutating func update(to view: ByteView) -> Bool {
    if bytes.view.holdsSame(as: view) { return false }
    bytes.removeAll()
    bytes.append(view)
    text = view.text
    changes &+= 1
    return true
  }
}

/// The channel of the last event and its handlers.
private struct RecentChannel {
  private var name: String?
  private var channel: PusherChannel?
  private var snapshot = BindingList.Snapshot()
  /// The change of the recent name that this channel was found by; negative for another way.
  var change = -1

  /// Its handlers as they were last; `nil` for none.
  var table: BindingTable? { snapshot.isEmpty ? nil : snapshot.table }

  /// Answers whether it is another one.
  @inline(__always)
  mutating func find(_ name: String, in channels: NameTable<PusherChannel>) -> Bool {
    if let known = self.name, name.isSame(as: known) { return false }
    change = -1
    self.name = name
    channel = channels[name]
    snapshot = BindingList.Snapshot()
    return true
  }

  /// Reads its handlers again if they have changed; answers whether they have.
  @inline(__always)
  mutating func refresh() -> Bool {
    channel?.bindings.refresh(&snapshot) ?? false
  }

  mutating func forget() {
    name = nil
    change = -1
    channel = nil
    snapshot = BindingList.Snapshot()
  }
}

extension ByteView {
  /// Whether both hold the same bytes; the wide loads stay within the padding after each view.
  @inline(__always)
  fileprivate func holdsSame(as other: ByteView) -> Bool {
    guard count == other.count else { return false }
    var offset = 0
    while offset < count {
      let (left, right) = unsafe (
        UnsafeRawPointer(base + offset).loadUnaligned(as: UInt64.self),
        UnsafeRawPointer(other.base + offset).loadUnaligned(as: UInt64.self)
      )
      let rest = count &- offset
      let mask: UInt64 = rest >= 8 ? .max : (1 &<< UInt64(rest &* 8)) &- 1
      if (left ^ right) & mask != 0 { return false }
      offset &+= 8
    }
    return true
  }
}
