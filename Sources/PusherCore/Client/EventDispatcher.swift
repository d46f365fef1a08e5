internal import Synchronization

/// Hands events to the handlers: the hot path of the library.
///
/// There is one for each call of `connect()`; it belongs to the callback thread.
final class EventDispatcher: MessageTap {
  private let connection: PusherConnection
  private let generation: Int
  /// How the names begin that the session has to see.
  private let protocolPrefix: [UInt8]
  /// The channels that the session knows, by name.
  var channels: [String: PusherChannel] = [:] {
    didSet { channel.forget() }
  }
  /// When the bytes that are being handed out were read; asked for once a round.
  private var timeReceived: WallTime?
  private var eventName = RecentName()
  private var channelName = RecentName()
  private var channel = RecentChannel()
  private var global = BindingList.Snapshot()

  init(connection: PusherConnection, generation: Int) {
    self.connection = connection
    self.generation = generation
    protocolPrefix = Array(connection.options.service.commonPrefix.utf8)
  }

  func take(_ message: ByteView) -> TapVerdict {
    guard let envelope = try? Envelope(message), isPlain(envelope) else { return .declined }
    guard isLive else { return .taken }
    let name = eventName.text(of: envelope.eventToken)
    let channel = envelope.channelToken.map { channelName.text(of: $0) }
    dispatch(
      PusherEvent(envelope, eventName: name, channelName: channel, timeReceived: now))
    return .taken
  }

  /// Whether this is an event that means to the session nothing at all.
  private func isPlain(_ envelope: Envelope) -> Bool {
    let name = envelope.eventToken
    if name.hasPrefix(protocolPrefix) || name.isEscaped { return false }
    guard let channel = envelope.channelToken else { return true }
    return !channel.hasPrefix("private-encrypted-") && !channel.isEscaped
  }

  /// Whether events are still wanted of this connection; `disconnect()` ends that at once.
  var isLive: Bool { connection.liveGeneration.load(ordering: .relaxed) == generation }

  /// A round of the loop begins: what is read next has another time, and handlers that were unbound may go.
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

  /// Hands out an event that came the general way, under the name it is shown by.
  func dispatch(_ envelope: Envelope, named name: String?) {
    dispatch(
      PusherEvent(
        envelope, eventName: name ?? envelope.eventName, channelName: envelope.channelName,
        timeReceived: now))
  }

  /// Hands out an event of this side's own making, which is only made if anybody wants it.
  func dispatch(_ name: String, channel channelName: String?, data: () -> JSONValue) {
    guard isWanted(name, channelName) else { return }
    dispatch(
      PusherEvent(
        eventName: name, channelName: channelName, data: data().jsonText, timeReceived: now))
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
  private var bytes: [UInt8] = []
  private var text = ""

  @inline(__always)
  mutating func text(of view: ByteView) -> String {
    if !view.equals(bytes) {
      bytes = view.array
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
  mutating func find(_ name: String, in channels: [String: PusherChannel]) {
    guard name != self.name else { return }
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
  /// Whether a backslash stands anywhere.
  @inline(__always)
  fileprivate var isEscaped: Bool {
    JSONCursor(self).plainRun() < count
  }

  @inline(__always)
  fileprivate func hasPrefix(_ prefix: [UInt8]) -> Bool {
    guard count >= prefix.count else { return false }
    for index in prefix.indices where unsafe base[index] != prefix[index] { return false }
    return true
  }

  @inline(__always)
  fileprivate func equals(_ bytes: [UInt8]) -> Bool {
    count == bytes.count && hasPrefix(bytes)
  }
}
