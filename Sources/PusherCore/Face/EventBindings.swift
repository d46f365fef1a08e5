internal import Synchronization

/// Identifies a bound handler: PusherSwift's callback id, libPusher's binding.
public struct PusherBinding: Sendable, Hashable, CustomStringConvertible {
  private static let last = Atomic<UInt64>(0)
  let number: UInt64

  init() { number = Self.last.wrappingAdd(1, ordering: .relaxed).newValue }

  /// Number of the binding.
  public var description: String { "binding \(number)" }
}

/// A client, a channel or a user: an object to whose events handlers are bound.
///
/// A handler stays until you unbind it, its channel is unsubscribed or its client is gone. A
/// handler that refers to its own client keeps the client connected forever. Capture the client
/// weakly, or bind the handler to an owner with ``bind(eventName:to:eventCallback:)``.
public protocol PusherEventBindings: Sendable {
  /// Bound handlers; opaque outside the library.
  var handlers: PusherHandlers { get }
}

/// Handlers of a client, a channel or a user.
public struct PusherHandlers: Sendable {
  let list: BindingList
  let connection: PusherConnection
}

extension PusherEventBindings {
  /// Unbinds one handler from events of this name; does nothing if it is not bound to them.
  public func unbind(eventName: String, callbackId: PusherBinding) {
    handlers.list.unbind(callbackId, from: eventName)
    handlers.connection.trim()
  }

  /// Unbinds one handler from all events or from its name, and returns whether it was bound here.
  @discardableResult public func removeBinding(_ binding: PusherBinding) -> Bool {
    defer { handlers.connection.trim() }
    return handlers.list.unbind(binding)
  }

  /// Unbinds all handlers of events of this name.
  public func unbindAll(forEventName eventName: String) {
    handlers.list.unbindAll(named: eventName)
    handlers.connection.trim()
  }

  /// Unbinds all handlers of this object, but not those of its channels or of the watchlist.
  public func unbindAll() {
    handlers.list.unbindAll()
    handlers.connection.trim()
  }

  /// Calls `eventCallback` for events whose names match one of `patterns` and none of `excluded`.
  ///
  /// Patterns have `*`, `?` and `[...]`. A backslash is a literal, single or doubled:
  /// `App\\Events\\*` matches PHP classes. The dot or backslash that Laravel Echo puts before a
  /// full name is optional.
  @discardableResult public func bind(
    matching patterns: String..., excluding excluded: [String] = [],
    eventCallback: @escaping @Sendable (PusherEvent) -> Void
  ) -> PusherBinding {
    let filter = EventFilter(include: patterns, exclude: excluded)
    return handlers.list.bind(to: nil) { event in
      if filter.passes(event.eventName) { eventCallback(event) }
    }
  }

  /// Calls `eventCallback` with `owner` for every event, until `owner` is gone.
  ///
  /// The binding does not retain its owner.
  @discardableResult public func bind<Owner: AnyObject & Sendable>(
    to owner: Owner, eventCallback: @escaping @Sendable (_ owner: Owner, PusherEvent) -> Void
  ) -> PusherBinding { handlers.list.bind(to: nil, owner, eventCallback) }

  /// Calls `eventCallback` with `owner` for events of this name, until `owner` is gone.
  @discardableResult public func bind<Owner: AnyObject & Sendable>(
    eventName: String, to owner: Owner,
    eventCallback: @escaping @Sendable (_ owner: Owner, PusherEvent) -> Void
  ) -> PusherBinding { handlers.list.bind(to: eventName, owner, eventCallback) }
}

final class EventHandler: Sendable {
  let binding: PusherBinding
  let call: @Sendable (PusherEvent) -> Void
  private let queue: EventQueue<PusherEvent>?
  private let isOwned: @Sendable () -> Bool
  private let isBound = Atomic<Bool>(true)

  /// Binds a closure or, if `queue` is given, a sequence.
  init(
    _ binding: PusherBinding, call: @escaping @Sendable (PusherEvent) -> Void,
    isOwned: @escaping @Sendable () -> Bool = { true }, queue: EventQueue<PusherEvent>? = nil
  ) { (self.binding, self.call, self.isOwned, self.queue) = (binding, call, isOwned, queue) }

  var isSequence: Bool { queue != nil }
  var isOrphaned: Bool { !isOwned() }

  /// Calls the handler, unless it was unbound in the meantime.
  @inline(__always) func receive(_ event: PusherEvent) {
    if isBound.load(ordering: .relaxed) { call(event) }
  }

  func receive(_ gap: PusherGap) { queue?.add(gap) }

  func receive(recovered count: Int) { queue?.add(recovered: count) }

  func unbind() {
    isBound.store(false, ordering: .relaxed)
    queue?.finish()
  }
}

struct BindingTable {
  /// Change count of a ``BindingList`` when this copy was made; no list has the initial value.
  fileprivate(set) var change = UInt.max
  private(set) var all: [EventHandler] = []
  private(set) var named = NameTable<[EventHandler]>()

  var isEmpty: Bool { all.isEmpty && named.isEmpty }

  /// Returns the handlers of events with this name; the handlers of this name alone come first.
  func handlers(of name: String) -> [EventHandler] {
    if !named.isEmpty, let those = named[name] { return those + all }
    return all
  }

  mutating func insert(_ handler: EventHandler, for name: String?) {
    if let name {
      named[name, default: []].append(handler)
    } else {
      all.append(handler)
    }
  }

  /// Removes and returns handlers; if `name` is given, only of events with this name.
  mutating func remove(
    from name: String?, where isUnwanted: (EventHandler) -> Bool
  ) -> [EventHandler] {
    var removed: [EventHandler] = []
    if name == nil {
      removed = all.filter(isUnwanted)
      if !removed.isEmpty { all.removeAll(where: isUnwanted) }
    }
    for name in name.map({ [$0] }) ?? named.names {
      let unwanted = named[name]?.filter(isUnwanted) ?? []
      if unwanted.isEmpty { continue }
      named[name]?.removeAll(where: isUnwanted)
      if named[name]?.isEmpty == true { named[name] = nil }
      removed += unwanted
    }
    return removed
  }
}

/// ``BindingTable`` for all threads; the callback thread reads a copy without a lock.
final class BindingList: Sendable {
  private let table = Locked(BindingTable())
  private let changes = Atomic<UInt>(0)

  @inline(__always) var changeCount: UInt { changes.load(ordering: .acquiring) }

  func bind(to name: String?, _ call: @escaping @Sendable (PusherEvent) -> Void) -> PusherBinding {
    let binding = PusherBinding()
    insert(EventHandler(binding, call: call), for: name)
    return binding
  }

  func bind<Owner: AnyObject & Sendable>(
    to name: String?, _ owner: Owner, _ call: @escaping @Sendable (Owner, PusherEvent) -> Void
  ) -> PusherBinding {
    unbindOrphans()
    let binding = PusherBinding()
    let whileOwned: @Sendable (PusherEvent) -> Void = { [weak owner, weak self] event in
      if let owner {
        call(owner, event)
      } else {
        self?.unbind(binding, from: name)
      }
    }
    let isOwned: @Sendable () -> Bool = { [weak owner] in owner != nil }
    let handler = EventHandler(binding, call: whileOwned, isOwned: isOwned)
    insert(handler, for: name)
    return binding
  }

  /// Removes handlers of owners that are gone, in case no event does so.
  private func unbindOrphans() {
    let known = table.withLock { $0 }
    // Outside the lock: a check may release the owner.
    for handler in known.all + known.named.elements.joined() where handler.isOrphaned {
      unbind(handler.binding)
    }
  }

  func insert(_ handler: EventHandler, for name: String?) {
    table.withLock { $0.insert(handler, for: name) }
    noteChange()
  }

  /// Returns whether the binding was found.
  @discardableResult func unbind(_ binding: PusherBinding, from name: String? = nil) -> Bool {
    remove(from: name) { $0.binding == binding }
  }

  /// Unbinds all handlers; if `name` is given, only of events with this name.
  func unbindAll(named name: String? = nil) { remove(from: name) { _ in true } }

  func endSequences() { remove(from: nil, where: \.isSequence) }

  @discardableResult
  private func remove(from name: String?, where isUnwanted: (EventHandler) -> Bool) -> Bool {
    // The handlers outlive the lock: a user's closure must not be released under it.
    let handlers = table.withLock { $0.remove(from: name, where: isUnwanted) }
    if handlers.isEmpty { return false }
    noteChange()
    for handler in handlers { handler.unbind() }
    return true
  }

  func tell(_ gap: PusherGap) {
    for handler in table.withLock({ $0.all }) { handler.receive(gap) }
  }

  func tell(recovered count: Int) {
    for handler in table.withLock({ $0.all }) { handler.receive(recovered: count) }
  }

  private func noteChange() { changes.wrappingAdd(1, ordering: .releasing) }

  /// Updates a copy of this list's table.
  @inline(__always) func refresh(_ copy: inout BindingTable) {
    let now = changeCount
    if now != copy.change { read(into: &copy, now) }
  }

  private func read(into copy: inout BindingTable, _ now: UInt) {
    let former = copy
    copy = table.withLock { $0 }
    copy.change = now
    // The last reference to a handler is released here, outside the lock.
    withExtendedLifetime(former) {}
  }
}

/// Events as sequences: plain, or with marks where events are missing.
extension PusherEventBindings {
  /// All events as a sequence, across reconnects, until the client disconnects.
  ///
  /// ```swift
  /// for await event in channel.events() { show(event) }
  /// ```
  ///
  /// <doc:ThreadsAndLifetime> says what ends the sequence. By default a slow reader loses events
  /// and never stops its client; with ``PusherBuffering/suspending`` no event is dropped.
  ///
  /// The sequence skips the places where events are missing. The client reports both kinds:
  /// - dropped events to ``PusherDelegate/connectionDroppedEvents(_:count:)``
  /// - gaps to ``PusherDelegate/connectionMayHaveMissedEvents(_:during:)``
  ///
  /// The logger gets a warning for each, and the metrics count them. ``feed(buffering:)`` marks
  /// both at their place among the events.
  public func events(buffering: PusherBuffering = .newest(1024)) -> PusherEvents {
    PusherEvents(read(buffering, reportsDrops: true) { _ in true })
  }

  /// Events of this name as a sequence; otherwise the same as ``events(buffering:)``.
  ///
  /// The buffer holds events of this name only.
  public func events(
    named eventName: String, buffering: PusherBuffering = .newest(1024)
  ) -> PusherEvents {
    PusherEvents(
      read(buffering, reportsDrops: true) { $0.eventName.isSame(as: eventName) })
  }

  /// All events as a sequence that also marks losses and gaps, at the place of the missing events.
  ///
  /// ```swift
  /// for await element in channel.feed() {
  ///   switch element {
  ///   case .event(let event): show(event)
  ///   case .lost(let count): warn("\(count) events were dropped")
  ///   case .gap(let gap): await reload(since: gap.from)
  ///   case .recovered: break
  ///   }
  /// }
  /// ```
  ///
  /// It begins, buffers and ends as ``events(buffering:)`` does. Delegate, logger and metrics are
  /// not told of losses in a feed, but of gaps.
  public func feed(buffering: PusherBuffering = .newest(1024)) -> PusherEventFeed {
    PusherEventFeed(read(buffering, reportsDrops: false) { _ in true })
  }

  private func read(
    _ buffering: PusherBuffering, reportsDrops: Bool,
    where isWanted: @escaping @Sendable (PusherEvent) -> Bool
  ) -> StreamReader<PusherEvent> {
    let binding = PusherBinding()
    let drops = reportsDrops ? handlers.connection.readers : nil
    let queue = EventQueue<PusherEvent>(buffering) { [weak connection = handlers.connection] in
      connection?.hold(reading: $0)
    } whenDropped: {
      drops?.noteDropped()
    } whenCancelled: { [weak list = handlers.list] _, _ in
      list?.unbind(binding)
    }
    let take: @Sendable (PusherEvent) -> Void = { if isWanted($0) { queue.add($0) } }
    handlers.list.insert(EventHandler(binding, call: take, queue: queue), for: nil)
    return StreamReader(queue)
  }
}
