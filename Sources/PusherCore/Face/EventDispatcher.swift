internal import Synchronization

/// Passes events to the handlers: the hot path of the library.
///
/// Each `connect()` and `switch(to:)` makes one, for use on the callback thread.
final class EventDispatcher: EventSink {
  private let connection: PusherConnection
  private let generation: Int
  /// Common prefix of the event names that the session handles.
  private let protocolPrefix: [UInt8]
  /// Channels known to the session, by name.
  var channels = NameTable<PusherChannel>() { didSet { recent.forgetChannel() } }
  private let recent: RecentParts

  var bindings: BindingList { connection.bindings }

  init(connection: PusherConnection, service: PusherService, generation: Int) {
    self.connection = connection
    self.generation = generation
    let prefix = service.commonPrefix
    protocolPrefix = Array(prefix.utf8)
    recent = RecentParts(protocolPrefix: prefix)
  }

  func take(message: ByteView) -> SinkVerdict {
    guard let data = recent.read(message) else { return takeUnusual(message) }
    guard isLive else { return .taken }
    var delivery = recent.next(of: self)
    if delivery.isWanted {
      let text = data.text(isASCII: UTF8Validator.isASCII(message))
      // The delivery is not in use while handlers run, so handlers may call the client.
      delivery.handOut(text, received: recent.readTime())
    }
    recent.takeBack(delivery)
    return verdict
  }

  @inline(never) private func takeUnusual(_ message: ByteView) -> SinkVerdict {
    guard let envelope = try? Envelope(message), isPlain(envelope) else { return .declined }
    guard isLive else { return .taken }
    dispatch(PusherEvent(envelope, eventName: envelope.eventName, timeReceived: now))
    return verdict
  }

  @inline(__always)
  private var verdict: SinkVerdict { connection.readingHold.isHeld ? .takenAndFull : .taken }

  /// Returns true if the session does not need this event.
  private func isPlain(_ envelope: Envelope) -> Bool {
    let name = envelope.eventToken
    if unsafe name.raw.starts(with: protocolPrefix) || name.isEscaped { return false }
    guard let channel = envelope.channelToken else { return true }
    return !channel.begins(with: "private-encrypted-") && !channel.isEscaped
  }

  /// False as soon as `disconnect()` is called.
  var isLive: Bool { connection.liveGeneration.load(ordering: .relaxed) == generation }

  /// Starts a round of the loop, and returns the number of events in the last one.
  func beginRound() -> Int { recent.beginRound() }

  /// Releases handlers that were unbound.
  func trim() { recent.trim(connection.bindings) }

  private var now: WallTime { recent.readTime() }

  /// Calls the channel's handlers, then the client's, in the order of binding.
  func dispatch(_ event: PusherEvent) {
    if let name = event.channelName { recent.find(name, in: channels) }
    let (own, all) = recent.tables(connection.bindings)
    recent.count()
    if let own, event.channelName != nil { call(own, event) }
    if let all { call(all, event) }
  }

  @inline(__always) private func call(_ table: BindingTable, _ event: PusherEvent) {
    if !table.named.isEmpty, let handlers = table.named[event.eventName] {
      for handler in handlers { handler.receive(event) }
    }
    for handler in table.all { handler.receive(event) }
  }

  /// Dispatches an event of the general path under its public name.
  func dispatch(_ envelope: Envelope, named name: String?) {
    dispatch(PusherEvent(envelope, eventName: name ?? envelope.eventName, timeReceived: now))
  }

  /// Dispatches an event made by the client itself, if any handler wants it.
  func dispatch(_ name: String, channel channelName: String?, data: () -> JSONValue) {
    guard isWanted(name, channelName) else { return }
    dispatch(
      PusherEvent(
        eventName: name, channelName: channelName, data: data().jsonText, timeReceived: now))
  }

  /// Dispatches an event without a channel to one list of handlers.
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

/// An event and its recipients, reused for messages that differ only in their data.
///
/// A single instance is moved, never copied, so that no reference count changes per event.
struct EventDelivery: ~Copyable {
  /// Has no data while it is kept for the next event.
  private var event: PusherEvent
  private let recipients: EventRecipients

  init(_ event: PusherEvent, to recipients: EventRecipients) {
    self.event = event
    self.recipients = recipients
  }

  /// False after a handler was bound or unbound.
  var isCurrent: Bool { @inline(__always) get { recipients.areCurrent } }

  var isWanted: Bool { @inline(__always) get { recipients.first != nil } }

  @inline(__always) mutating func handOut(_ data: consuming String, received time: WallTime) {
    event.data = consume data
    event.timeReceived = time
    recipients.first?.receive(event)
    if recipients.hasMore { recipients.callOthers(event) }
    event.data = nil
  }
}

/// Handlers of an event: the channel's, then the client's; handlers of the name come first.
final class EventRecipients {
  let first: EventHandler?
  let hasMore: Bool
  private let handlers: [EventHandler]
  private let own: BindingList?
  private let ownChange: UInt
  private let all: BindingList
  private let allChange: UInt

  init(
    of name: String, own: BindingList?, _ ownSnapshot: borrowing BindingList.Snapshot,
    all: BindingList, _ allSnapshot: borrowing BindingList.Snapshot
  ) {
    // Avoids an array for the common channel without handlers.
    var handlers = allSnapshot.table.handlers(of: name)
    if own != nil, !ownSnapshot.isEmpty {
      handlers = ownSnapshot.table.handlers(of: name) + handlers
    }
    first = handlers.first
    hasMore = handlers.count > 1
    self.handlers = handlers
    self.own = own
    ownChange = ownSnapshot.changes
    self.all = all
    allChange = allSnapshot.changes
  }

  @inline(never) func callOthers(_ event: PusherEvent) {
    for index in 1..<handlers.count { handlers[index].receive(event) }
  }

  var areCurrent: Bool {
    @inline(__always) get {
      guard all.changeCount == allChange else { return false }
      guard let own else { return true }
      return own.changeCount == ownChange
    }
  }
}

/// Parts of the last event, most of which the next event shares.
///
/// A class of small properties, so that the compiler can prove exclusive access to each.
final class RecentParts {
  private let reader: PlainEventReader
  /// Target of the reader for an event's data.
  private let scratch = ByteBuffer(capacity: 65_536)
  /// Head of the last message, up to its data; empty if it lacks a name or is too long.
  private let head = ByteBuffer(capacity: longestHead)
  private static let longestHead = 512
  /// Receive time of the current round; read from the clock once a round.
  private var timeReceived: WallTime?
  private var channel = RecentChannel()
  private var eventName = RecentName()
  private var channelName = RecentName()
  private var global = BindingList.Snapshot()
  /// Delivery for the last names; `nil` while in use, and if there is none.
  private var delivery: EventDelivery?
  /// False if handlers changed the channels while the delivery was in use.
  private var mayTakeBack = false
  private var handedOut = 0

  init(protocolPrefix: String) { reader = PlainEventReader(protocolPrefix: protocolPrefix) }

  /// Starts a round, and returns the number of events in the last one.
  func beginRound() -> Int {
    timeReceived = nil
    defer { handedOut = 0 }
    return handedOut
  }

  @inline(__always) func readTime() -> WallTime {
    if let timeReceived { return timeReceived }
    return readClock()
  }

  @inline(never) private func readClock() -> WallTime {
    let now = SystemClock.wall()
    timeReceived = now
    return now
  }

  /// Returns the data of a message and remembers its names; `nil` for a message of unusual shape.
  ///
  /// The view is valid until the next call.
  @inline(__always) func read(_ message: ByteView) -> ByteView? {
    // Names equal to the last message's need no search and no comparison one by one.
    let known = head.view
    if known.count > 0, message.count > known.count, message.beginsWithSame(as: known),
      let data = reader.data(of: message, behind: known.count, buffer: scratch)
    {
      return data
    }
    return readNames(message)
  }

  @inline(never) private func readNames(_ message: ByteView) -> ByteView? {
    guard let parts = reader.read(message, buffer: scratch) else { return nil }
    head.removeAll()
    if parts.head <= Self.longestHead { head.append(message[0..<parts.head]) }
    let isOtherChannel = channelName.update(to: parts.channel)
    if eventName.update(to: parts.event) || isOtherChannel { delivery = nil }
    return parts.data
  }

  /// Returns the delivery for the last names; ``takeBack(_:)`` follows.
  @inline(__always) func next(of dispatcher: EventDispatcher) -> EventDelivery {
    handedOut &+= 1
    mayTakeBack = true
    if let known = delivery.take(), known.isCurrent { return known }
    return renewed(dispatcher)
  }

  @inline(never) private func renewed(_ dispatcher: EventDispatcher) -> EventDelivery {
    if channel.change != channelName.changes {
      find(channelName.text, in: dispatcher.channels)
      channel.change = channelName.changes
    }
    let bindings = dispatcher.bindings
    refresh(bindings)
    let event = PusherEvent(
      eventName: eventName.text, channelName: channelName.text, timeReceived: readTime())
    let recipients = channel.recipients(of: eventName.text, bindings, global)
    return EventDelivery(event, to: recipients)
  }

  /// Keeps the delivery for the next event.
  @inline(__always) func takeBack(_ delivery: consuming EventDelivery) {
    if mayTakeBack { self.delivery = consume delivery }
  }

  func find(_ name: String, in channels: NameTable<PusherChannel>) {
    channel.find(name, in: channels)
  }

  func forgetChannel() {
    channel.forget()
    delivery = nil
    mayTakeBack = false
  }

  private func refresh(_ bindings: BindingList) {
    channel.refresh()
    bindings.refresh(&global)
  }

  /// Returns the handlers of the last channel and of the client; `nil` for none.
  func tables(_ bindings: BindingList) -> (BindingTable?, BindingTable?) {
    refresh(bindings)
    return (channel.table, global.isEmpty ? nil : global.table)
  }

  func count() { handedOut &+= 1 }

  func trim(_ bindings: BindingList) {
    refresh(bindings)
    delivery = nil
  }
}

/// Name as text, kept because the next event usually has the same.
private struct RecentName {
  private let bytes = ByteBuffer(capacity: 256)
  private(set) var text = ""
  private(set) var changes = 0

  @inline(__always) @discardableResult mutating func update(to view: ByteView) -> Bool {
    if bytes.view.holdsSame(as: view) { return false }
    bytes.removeAll()
    bytes.append(view)
    text = view.text
    changes &+= 1
    return true
  }
}

private struct RecentChannel {
  private var name: String?
  private var channel: PusherChannel?
  private var snapshot = BindingList.Snapshot()
  /// `changes` of the recent name for which the channel was found; negative for other lookups.
  var change = -1

  var table: BindingTable? { snapshot.isEmpty ? nil : snapshot.table }

  /// Returns the recipients of the channel's events of one name; `all` are the client's handlers.
  func recipients(of name: String, _ all: BindingList, _ snapshot: borrowing BindingList.Snapshot)
    -> EventRecipients
  { EventRecipients(of: name, own: channel?.bindings, self.snapshot, all: all, snapshot) }

  mutating func find(_ name: String, in channels: NameTable<PusherChannel>) {
    if let known = self.name, name.isSame(as: known) { return }
    change = -1
    self.name = name
    channel = channels[name]
    snapshot = BindingList.Snapshot()
  }

  mutating func refresh() { channel?.bindings.refresh(&snapshot) }

  mutating func forget() {
    name = nil
    change = -1
    channel = nil
    snapshot = BindingList.Snapshot()
  }
}

extension ByteView {
  @inline(__always) fileprivate func holdsSame(as other: ByteView) -> Bool {
    count == other.count && beginsWithSame(as: other)
  }

  /// Returns whether this view begins with `other`, which must not be longer.
  ///
  /// The wide loads stay within the padding after each view.
  @inline(__always) fileprivate func beginsWithSame(as other: ByteView) -> Bool {
    var offset = 0
    while offset &+ 16 <= other.count {
      let (left, right) = unsafe (
        UnsafeRawPointer(base + offset).loadUnaligned(as: SIMD2<UInt64>.self),
        UnsafeRawPointer(other.base + offset).loadUnaligned(as: SIMD2<UInt64>.self)
      )
      guard left == right else { return false }
      offset &+= 16
    }
    while offset < other.count {
      let (left, right) = unsafe (
        UnsafeRawPointer(base + offset).loadUnaligned(as: UInt64.self),
        UnsafeRawPointer(other.base + offset).loadUnaligned(as: UInt64.self)
      )
      let rest = other.count &- offset
      let mask: UInt64 = rest >= 8 ? .max : (1 &<< UInt64(rest &* 8)) &- 1
      if (left ^ right) & mask != 0 { return false }
      offset &+= 8
    }
    return true
  }
}
