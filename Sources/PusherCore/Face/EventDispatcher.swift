internal import Synchronization

/// Passes events to the handlers: the hot path of the library.
///
/// Each `connect()` and `switch(to:)` makes one, for use on the callback thread. It keeps the parts
/// of the last event, most of which the next event shares. They are small private properties, so
/// that the compiler can prove exclusive access to each.
final class EventDispatcher: EventSink {
  private let connection: PusherConnection
  private let generation: Int
  /// Common prefix of the event names that the session handles.
  private let protocolPrefix: [UInt8]
  /// True if the session puts events in the order of their serials.
  private let hasSerials: Bool
  /// Channels known to the session, by name.
  var channels = NameTable<PusherChannel>() { didSet { forgetChannel() } }

  private let reader: PlainEventReader
  /// Target of the reader for an event's data.
  private let scratch = ByteBuffer(capacity: 65_536)
  /// Head of the last message, up to its data; empty if it lacks a name or is too long.
  private let head = ByteBuffer(capacity: longestHead)
  private static let longestHead = 512
  /// Receive time of the current round; read from the clock once a round.
  private var timeReceived: WallTime?
  private var eventName = RecentName()
  private var channelName = RecentName()
  /// Channel of the last lookup, with its handlers; there may be none of this name.
  private var foundName: String?
  private var foundChannel: PusherChannel?
  private var own = BindingTable()
  /// Handlers of the client.
  private var all = BindingTable()
  /// Delivery for the last names; `nil` while in use, and if there is none.
  private var delivery: EventDelivery?
  /// False if handlers changed the channels while the delivery was in use.
  private var mayTakeBack = false
  private var handedOut = 0

  init(connection: PusherConnection, service: PusherService, generation: Int) {
    (self.connection, self.generation) = (connection, generation)
    let prefix = service.commonPrefix
    protocolPrefix = Array(prefix.utf8)
    hasSerials = service.replaysEvents
    reader = PlainEventReader(protocolPrefix: prefix)
  }

  /// False as soon as `disconnect()` is called.
  var isLive: Bool { connection.liveGeneration.load(ordering: .relaxed) == generation }

  /// Starts a round of the loop, and returns the number of events in the last one.
  func beginRound() -> Int {
    timeReceived = nil
    defer { handedOut = 0 }
    return handedOut
  }

  private var now: WallTime {
    @inline(__always) get {
      if let timeReceived { return timeReceived }
      return readClock()
    }
  }

  @inline(never) private func readClock() -> WallTime {
    let now = SystemClock.wall()
    timeReceived = now
    return now
  }

  /// Releases handlers that were unbound.
  func trim() {
    foundChannel?.bindings.refresh(&own)
    connection.bindings.refresh(&all)
    delivery = nil
  }

  private func forgetChannel() {
    (foundName, foundChannel, own) = (nil, nil, BindingTable())
    delivery = nil
    mayTakeBack = false
  }

  // MARK: Events from the socket

  func take(message: ByteView) -> SinkVerdict {
    guard let data = read(message) else { return takeUnusual(message) }
    guard isLive else { return .taken }
    handedOut &+= 1
    mayTakeBack = true
    var delivery = nextDelivery()
    if delivery.isWanted {
      let text = data.text(isASCII: UTF8Validator.isASCII(message))
      // The delivery is not in use while handlers run, so handlers may call the client.
      delivery.handOut(text, received: now)
    }
    if mayTakeBack { self.delivery = consume delivery }
    return verdict
  }

  /// Returns the data of a message and remembers its names; `nil` for a message of unusual shape.
  ///
  /// The view is valid until the next call.
  @inline(__always) private func read(_ message: ByteView) -> ByteView? {
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

  @inline(__always) private func nextDelivery() -> EventDelivery {
    if let known = delivery.take(), known.isCurrent { return known }
    return newDelivery()
  }

  @inline(never) private func newDelivery() -> EventDelivery {
    let event = PusherEvent(
      eventName: eventName.text, channelName: channelName.text, timeReceived: now)
    let handlers = handlers(of: eventName.text, on: channelName.text)
    let recipients = EventRecipients(
      handlers, foundChannel?.bindings, own.change, connection.bindings, all.change)
    return EventDelivery(event, to: recipients)
  }

  @inline(never) private func takeUnusual(_ message: ByteView) -> SinkVerdict {
    guard let envelope = try? Envelope(message), isPlain(envelope) else { return .declined }
    guard isLive else { return .taken }
    dispatch(envelope, named: nil)
    return verdict
  }

  @inline(__always)
  private var verdict: SinkVerdict { connection.readers.areBehind ? .takenAndFull : .taken }

  /// Returns true if the session does not need this event.
  private func isPlain(_ envelope: Envelope) -> Bool {
    let name = envelope.eventToken
    if unsafe name.raw.starts(with: protocolPrefix) || name.isEscaped { return false }
    if hasSerials, envelope.serialToken != nil { return false }
    guard let channel = envelope.channelToken else { return true }
    return !channel.begins(with: "private-encrypted-") && !channel.isEscaped
  }

  // MARK: Events from the session and the client

  /// Dispatches an event of the general path under its public name.
  func dispatch(_ envelope: Envelope, named name: String?) {
    handedOut &+= 1
    let name = name ?? envelope.eventName
    let handlers = handlers(of: name, on: envelope.channelName)
    guard !handlers.isEmpty else { return }
    let event = PusherEvent(envelope, eventName: name, timeReceived: now)
    for handler in handlers { handler.receive(event) }
  }

  /// Dispatches an event made by the client itself, if any handler wants it.
  func dispatch(_ name: String, channel: String?, data: () -> JSONValue) {
    let handlers = handlers(of: name, on: channel)
    guard !handlers.isEmpty else { return }
    handedOut &+= 1
    let event = PusherEvent(
      eventName: name, channelName: channel, data: data().jsonText, timeReceived: now)
    for handler in handlers { handler.receive(event) }
  }

  /// Dispatches an event without a channel to one list of handlers.
  func dispatch(_ name: String, to bindings: BindingList, data: JSONValue) {
    var table = BindingTable()
    bindings.refresh(&table)
    let event = PusherEvent(
      eventName: name, channelName: nil, data: data.jsonText, timeReceived: now)
    for handler in table.handlers(of: name) { handler.receive(event) }
  }

  /// Returns the handlers of an event, the channel's before the client's.
  private func handlers(of name: String, on channelName: String?) -> [EventHandler] {
    var channel: PusherChannel?
    if let channelName {
      if !foundName.isSame(as: channelName) {
        (foundName, foundChannel, own) = (channelName, channels[channelName], BindingTable())
      }
      channel = foundChannel
    }
    channel?.bindings.refresh(&own)
    connection.bindings.refresh(&all)
    // Makes no array for the common channel without handlers.
    guard channel != nil, !own.isEmpty else { return all.handlers(of: name) }
    return own.handlers(of: name) + all.handlers(of: name)
  }
}

/// An event and its recipients, reused for messages that differ only in their data.
///
/// A single instance is moved, never copied, so that no reference count changes per event.
private struct EventDelivery: ~Copyable {
  /// Has no data while it is kept for the next event.
  private var event: PusherEvent
  private let recipients: EventRecipients

  init(_ event: PusherEvent, to recipients: EventRecipients) {
    (self.event, self.recipients) = (event, recipients)
  }

  /// False after a handler was bound or unbound.
  var isCurrent: Bool { @inline(__always) get { recipients.areCurrent } }

  var isWanted: Bool { @inline(__always) get { recipients.first != nil } }

  @inline(__always) mutating func handOut(_ data: consuming String, received time: WallTime) {
    event.data = consume data
    event.timeReceived = time
    recipients.receive(event)
    event.data = nil
  }
}

/// Handlers of an event: the channel's, then the client's; handlers of the name come first.
private final class EventRecipients {
  let first: EventHandler?
  private let hasMore: Bool
  private let handlers: [EventHandler]
  private let own: BindingList?
  private let ownChange: UInt
  private let all: BindingList
  private let allChange: UInt

  init(
    _ handlers: [EventHandler], _ own: BindingList?, _ ownChange: UInt, _ all: BindingList,
    _ allChange: UInt
  ) {
    first = handlers.first
    hasMore = handlers.count > 1
    self.handlers = handlers
    (self.own, self.ownChange) = (own, ownChange)
    (self.all, self.allChange) = (all, allChange)
  }

  @inline(__always) func receive(_ event: PusherEvent) {
    first?.receive(event)
    if hasMore { callOthers(event) }
  }

  @inline(never) private func callOthers(_ event: PusherEvent) {
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

/// Name as text, kept because the next event usually has the same.
private struct RecentName {
  private let bytes = ByteBuffer(capacity: 256)
  private(set) var text = ""

  @inline(__always) mutating func update(to view: ByteView) -> Bool {
    if bytes.view.count == view.count, bytes.view.beginsWithSame(as: view) { return false }
    bytes.removeAll()
    bytes.append(view)
    text = view.text
    return true
  }
}

extension ByteView {
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
