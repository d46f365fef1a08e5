/// The names, the channel and the handlers of the last event, and when it was read.
///
/// It is an object of small properties, for the compiler sees of each that its uses never overlap.
final class RecentParts {
  private let reader: PlainEventReader
  /// Where the reader writes the data of one event.
  private let scratch = ByteBuffer(capacity: 65_536)
  /// How the last message began, up to its data, if both names stood there and are short; else empty.
  private let head = ByteBuffer(capacity: longestHead)
  private static let longestHead = 512
  /// When the bytes that are being handed out were read; asked for once a round.
  private var timeReceived: WallTime?
  private var channel = RecentChannel()
  private var eventName = RecentName()
  private var channelName = RecentName()
  private var global = BindingList.Snapshot()
  /// The delivery for the names that were read last; `nil` while it is under way, and when there is none.
  private var delivery: EventDelivery?
  /// Whether the delivery that is under way still fits; handlers may change the channels meanwhile.
  private var mayTakeBack = false
  /// Events since the round began.
  private var handedOut = 0

  /// - Parameter protocolPrefix: How the names begin that the session has to see.
  init(protocolPrefix: String) {
    reader = PlainEventReader(protocolPrefix: protocolPrefix)
  }

  /// The next events get a new time; answers how many the last round has handed out.
  func beginRound() -> Int {
    timeReceived = nil
    defer { handedOut = 0 }
    return handedOut
  }

  /// When the event at hand was read.
  @inline(__always)
  func readTime() -> WallTime {
    if let timeReceived { return timeReceived }
    return readClock()
  }

  @inline(never)
  private func readClock() -> WallTime {
    let now = SystemClock.wall()
    timeReceived = now
    return now
  }

  /// The data of a message, whose names it remembers; `nil` for a message of unusual shape.
  ///
  /// The view lasts until the next one.
  @inline(__always)
  func read(_ message: ByteView) -> ByteView? {
    // Names that stay the same are neither searched for nor looked at one by one.
    let known = head.view
    if known.count > 0, message.count > known.count, message.beginsWithSame(as: known),
      let data = reader.data(of: message, behind: known.count, buffer: scratch)
    {
      return data
    }
    return readNames(message)
  }

  @inline(never)
  private func readNames(_ message: ByteView) -> ByteView? {
    guard let parts = reader.read(message, buffer: scratch) else { return nil }
    head.removeAll()
    if parts.head <= Self.longestHead { head.append(message[0..<parts.head]) }
    let isOtherChannel = channelName.update(to: parts.channel)
    if eventName.update(to: parts.event) || isOtherChannel { delivery = nil }
    return parts.data
  }

  /// The delivery for the names that were read last; ``takeBack(_:)`` follows.
  @inline(__always)
  func next(of dispatcher: EventDispatcher) -> EventDelivery {
    handedOut &+= 1
    mayTakeBack = true
    if let known = delivery.take(), known.isCurrent { return known }
    return renewed(dispatcher)
  }

  @inline(never)
  private func renewed(_ dispatcher: EventDispatcher) -> EventDelivery {
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

  /// Keeps what was handed out for the next event.
  @inline(__always)
  func takeBack(_ delivery: consuming EventDelivery) {
    if mayTakeBack { self.delivery = consume delivery }
  }

  /// Finds a channel by its name.
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

  /// The handlers of the channel that was found last, and those of the client, for one event; `nil` for none.
  func tables(_ bindings: BindingList) -> (BindingTable?, BindingTable?) {
    refresh(bindings)
    return (channel.table, global.isEmpty ? nil : global.table)
  }

  /// Counts an event that is handed out in another way.
  func count() {
    handedOut &+= 1
  }

  /// Lets go of handlers that were unbound.
  func trim(_ bindings: BindingList) {
    refresh(bindings)
    delivery = nil
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

  /// Who gets its events of one name; `all` are the client's handlers.
  func recipients(
    of name: String, _ all: BindingList, _ snapshot: borrowing BindingList.Snapshot
  ) -> EventRecipients {
    EventRecipients(of: name, own: channel?.bindings, self.snapshot, all: all, snapshot)
  }

  mutating func find(_ name: String, in channels: NameTable<PusherChannel>) {
    if let known = self.name, name.isSame(as: known) { return }
    change = -1
    self.name = name
    channel = channels[name]
    snapshot = BindingList.Snapshot()
  }

  /// Reads its handlers again if they have changed.
  mutating func refresh() {
    channel?.bindings.refresh(&snapshot)
  }

  mutating func forget() {
    name = nil
    change = -1
    channel = nil
    snapshot = BindingList.Snapshot()
  }
}

extension ByteView {
  /// Whether both hold the same bytes.
  @inline(__always)
  fileprivate func holdsSame(as other: ByteView) -> Bool {
    count == other.count && beginsWithSame(as: other)
  }

  /// Whether this one begins with the bytes of the other, which is no longer; the wide loads stay within the padding after
  /// each view.
  @inline(__always)
  fileprivate func beginsWithSame(as other: ByteView) -> Bool {
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
