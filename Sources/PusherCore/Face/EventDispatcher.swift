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
    didSet { channel.forget() }
  }
  /// When the bytes that are being handed out were read; asked for once a round.
  private var timeReceived: WallTime?
  private var eventName = RecentName()
  private var channelName = RecentName()
  private var channel = RecentChannel()
  private var global = BindingList.Snapshot()

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
      let name = eventName.text(of: parts.event)
      let channel = channelName.text(of: parts.channel)
      dispatch(
        PusherEvent(eventName: name, channelName: channel, data: parts.data, timeReceived: now))
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
  func beginRound() {
    timeReceived = nil
  }

  /// Lets go of handlers that were unbound.
  func trim() {
    connection.bindings.refresh(&global)
    channel.refresh()
  }

  private var now: WallTime {
    if let timeReceived { return timeReceived }
    let now = SystemClock.wall()
    timeReceived = now
    return now
  }

  /// Calls the channel's handlers, then the client's, each in the order of binding.
  func dispatch(_ event: PusherEvent) {
    if let name = event.channelName {
      channel.find(name, in: channels)
      channel.refresh()
      call(channel.snapshot.table, event)
    }
    connection.bindings.refresh(&global)
    call(global.table, event)
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
    connection.bindings.refresh(&global)
    if !global.table.all.isEmpty || global.table.named[name] != nil { return true }
    guard let channelName else { return false }
    channel.find(channelName, in: channels)
    channel.refresh()
    return !channel.snapshot.table.all.isEmpty || channel.snapshot.table.named[name] != nil
  }
}

/// A name as text, kept because the next event mostly has the same.
private struct RecentName {
  private let bytes = ByteBuffer(capacity: 256)
  private var text = ""

  @inline(__always)
  mutating func text(of view: ByteView) -> String {
    if !bytes.view.holdsSame(as: view) {
      bytes.removeAll()
      bytes.append(view)
      text = view.text
    }
    return text
  }
}

/// The channel of the last event and its handlers.
private struct RecentChannel {
  private var name: String?
  private var channel: PusherChannel?
  private(set) var snapshot = BindingList.Snapshot()

  @inline(__always)
  mutating func find(_ name: String, in channels: NameTable<PusherChannel>) {
    if let known = self.name, name.isSame(as: known) { return }
    self.name = name
    channel = channels[name]
    snapshot = BindingList.Snapshot()
  }

  @inline(__always)
  mutating func refresh() {
    channel?.bindings.refresh(&snapshot)
  }

  mutating func forget() {
    name = nil
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
