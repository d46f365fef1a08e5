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
