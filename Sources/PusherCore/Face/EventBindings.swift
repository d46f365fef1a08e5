internal import Synchronization

/// Names one handler that was bound, so that it can be unbound: PusherSwift's callback id, libPusher's binding.
public struct PusherBinding: Sendable, Hashable, CustomStringConvertible {
  private static let last = Atomic<UInt64>(0)

  /// Unique within the process.
  let number: UInt64

  /// A token that no other handler has.
  init() {
    number = Self.last.wrappingAdd(1, ordering: .relaxed).newValue
  }

  /// The number that tells bindings apart.
  public var description: String { "binding \(number)" }
}

/// A client, a channel or a user: something whose events handlers are bound to.
///
/// A handler is kept until it is unbound, its channel is unsubscribed or its client is gone, and keeps what it refers to. So
/// one that refers to its own client keeps that connected forever: let it capture the client weakly, or bind it to an
/// owner by ``bind(eventName:to:eventCallback:)``.
public protocol PusherEventBindings: Sendable {
  /// What is bound; only the library can do anything with it.
  var handlers: PusherHandlers { get }
}

/// The handlers of a client, a channel or a user.
public struct PusherHandlers: Sendable {
  let list: BindingList
  let connection: PusherConnection
}

extension PusherEventBindings {
  /// Unbinds one handler from events of this name; nothing happens when it is not bound to them.
  public func unbind(eventName: String, callbackId: PusherBinding) {
    handlers.list.unbind(callbackId, from: eventName)
    handlers.connection.trim()
  }

  /// Unbinds one handler, whatever it is bound to; answers whether it was bound here.
  @discardableResult
  public func removeBinding(_ binding: PusherBinding) -> Bool {
    defer { handlers.connection.trim() }
    return handlers.list.unbind(binding)
  }

  /// Unbinds all handlers of events of this name.
  public func unbindAll(forEventName eventName: String) {
    handlers.list.unbindAll(named: eventName)
    handlers.connection.trim()
  }

  /// Unbinds all handlers of the client, the channel or the user, but not those of its channels or of the watchlist.
  public func unbindAll() {
    handlers.list.unbindAll()
    handlers.connection.trim()
  }

  /// Calls `eventCallback` for the events whose names match one of `patterns` and none of `excluded`.
  ///
  /// In a pattern `*`, `?` and `[...]` have their usual meaning; a backslash stands for itself, alone or doubled, so that
  /// `App\\Events\\*` means PHP's classes. The dot or backslash that Laravel Echo puts in front of a whole name may be
  /// there or not.
  @discardableResult
  public func bind(
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
  /// ```swift
  /// channel.bind(eventName: "new-price", to: self) { view, event in view.show(event) }
  /// ```
  ///
  /// The binding does not keep its owner, so that a handler that uses its owner alone leaks nothing. A handler whose owner
  /// is gone is not called, and is released with the next event or the next binding to an owner.
  @discardableResult
  public func bind<Owner: AnyObject & Sendable>(
    to owner: Owner, eventCallback: @escaping @Sendable (_ owner: Owner, PusherEvent) -> Void
  ) -> PusherBinding {
    handlers.list.bind(to: nil, owner, eventCallback)
  }

  /// Calls `eventCallback` with `owner` for the events of one name, until `owner` is gone; see
  /// ``bind(to:eventCallback:)``.
  @discardableResult
  public func bind<Owner: AnyObject & Sendable>(
    eventName: String, to owner: Owner,
    eventCallback: @escaping @Sendable (_ owner: Owner, PusherEvent) -> Void
  ) -> PusherBinding {
    handlers.list.bind(to: eventName, owner, eventCallback)
  }

  /// All events as a sequence, from now until the client is disconnected.
  ///
  /// ```swift
  /// for await case .event(let event) in channel.events() { handle(event) }
  /// ```
  ///
  /// A lost connection does not end the sequence: the client reconnects. These do: `disconnect()`, a failure after which
  /// the client makes no further attempt, unsubscribing the channel, and releasing the client. The loop then reads what
  /// is buffered, and ends. After another `connect()`, ask for another sequence.
  ///
  /// Losses and gaps are elements too: see ``PusherStreamElement``. The default drops rather than holds, so that a reader
  /// that stops reading never stops its client; with ``PusherBuffering/suspending`` nothing is dropped.
  ///
  /// - Parameter buffering: What happens to events that come faster than they are read.
  public func events(buffering: PusherBuffering = .newest(1024)) -> PusherEvents {
    let binding = PusherBinding()
    let queue = EventQueue<PusherEvent>(buffering) { [weak connection = handlers.connection] in
      connection?.hold(reading: $0)
    } whenCancelled: { [weak list = handlers.list] _ in
      list?.unbind(binding)
    }
    handlers.list.insert(EventHandler(binding, queue), for: nil)
    return PusherEvents(StreamReader(queue))
  }
}

/// A bound handler.
final class EventHandler: Sendable {
  let binding: PusherBinding
  let call: @Sendable (PusherEvent) -> Void
  /// The sequence that it feeds, if it feeds one.
  private let queue: EventQueue<PusherEvent>?
  private let isOwned: @Sendable () -> Bool
  private let isBound = Atomic<Bool>(true)

  /// - Parameter isOwned: Whether the owner lives on, if there is one.
  init(
    _ binding: PusherBinding, call: @escaping @Sendable (PusherEvent) -> Void,
    isOwned: @escaping @Sendable () -> Bool = { true }
  ) {
    (self.binding, self.call, self.isOwned) = (binding, call, isOwned)
    queue = nil
  }

  init(_ binding: PusherBinding, _ queue: EventQueue<PusherEvent>) {
    self.binding = binding
    call = { queue.add($0) }
    isOwned = { true }
    self.queue = queue
  }

  /// Whether it feeds a sequence.
  var isSequence: Bool { queue != nil }

  /// Whether its owner is gone.
  var isOrphaned: Bool { !isOwned() }

  /// Calls the handler with an event, unless it was unbound meanwhile.
  @inline(__always)
  func receive(_ event: PusherEvent) {
    if isBound.load(ordering: .relaxed) { call(event) }
  }

  /// Tells the sequence, if there is one.
  func receive(_ gap: PusherGap) {
    queue?.add(gap)
  }

  func unbind() {
    isBound.store(false, ordering: .relaxed)
    queue?.finish()
  }
}

/// The handlers of a client or of a channel.
struct BindingTable {
  /// Handlers of every event.
  private(set) var all: [EventHandler] = []
  /// Handlers of the events of one name.
  private(set) var named = NameTable<[EventHandler]>()

  var isEmpty: Bool { all.isEmpty && named.isEmpty }

  /// Whether a handler gets the events of this name.
  func wants(_ name: String) -> Bool { !all.isEmpty || named[name] != nil }

  /// Those that get the events of this name, first those of the name alone.
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

  /// Removes one handler; with a name only if it was bound to that name.
  mutating func remove(_ binding: PusherBinding, named name: String?) -> EventHandler? {
    if let name { return Self.remove(binding, from: &named, name) }
    if let place = all.firstIndex(where: { $0.binding == binding }) {
      return all.remove(at: place)
    }
    for name in named.names {
      if let handler = Self.remove(binding, from: &named, name) { return handler }
    }
    return nil
  }

  private static func remove(
    _ binding: PusherBinding, from named: inout NameTable<[EventHandler]>, _ name: String
  ) -> EventHandler? {
    guard let place = named[name]?.firstIndex(where: { $0.binding == binding }) else { return nil }
    let handler = named[name]?.remove(at: place)
    if named[name]?.isEmpty == true { named[name] = nil }
    return handler
  }

  /// Removes and returns the handlers that feed sequences; a sequence is never bound to a name.
  mutating func removeSequences() -> [EventHandler] {
    let sequences = all.filter(\.isSequence)
    if !sequences.isEmpty { all.removeAll(where: \.isSequence) }
    return sequences
  }

  /// Takes all handlers of one name out.
  mutating func removeAll(named name: String) -> [EventHandler] {
    named.removeValue(of: name) ?? []
  }
}

/// A ``BindingTable`` that any thread may change, and that the callback thread reads without a lock while it does not
/// change.
///
/// Removed handlers are always handed to the caller: the last reference to a user's closure must not be released under
/// the lock.
final class BindingList: Sendable {
  private let table = Locked(BindingTable())
  /// Counts the changes.
  private let changes = Atomic<UInt>(0)

  /// How often handlers were bound or unbound; read for every event.
  @inline(__always)
  var changeCount: UInt { changes.load(ordering: .acquiring) }

  /// The last copy.
  struct Snapshot {
    fileprivate(set) var table = BindingTable() {
      didSet { isEmpty = table.isEmpty }
    }
    /// The change it belongs to; no list has the first value.
    fileprivate(set) var changes = UInt.max
    /// Whether there is no handler.
    private(set) var isEmpty = true
  }

  func bind(
    to name: String?, _ call: @escaping @Sendable (PusherEvent) -> Void
  ) -> PusherBinding {
    let binding = PusherBinding()
    insert(EventHandler(binding, call: call), for: name)
    return binding
  }

  /// Binds a handler that ends with its owner.
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

  /// Owners that come and go must not leave handlers behind where no event comes.
  private func unbindOrphans() {
    let known = table.withLock { $0 }
    // Outside the lock: to look at an owner may release it.
    for handler in known.all + known.named.elements.joined() where handler.isOrphaned {
      unbind(handler.binding)
    }
  }

  func insert(_ handler: EventHandler, for name: String?) {
    table.withLock { $0.insert(handler, for: name) }
    noteChange()
  }

  /// Answers whether the binding was here.
  @discardableResult
  func unbind(_ binding: PusherBinding, from name: String? = nil) -> Bool {
    let handler = table.withLock { $0.remove(binding, named: name) }
    noteChange()
    handler?.unbind()
    return handler != nil
  }

  func unbindAll(named name: String) {
    let handlers = table.withLock { $0.removeAll(named: name) }
    noteChange()
    for handler in handlers { handler.unbind() }
  }

  func unbindAll() {
    let former = table.withLock { table in
      let former = table
      table = BindingTable()
      return former
    }
    noteChange()
    for handler in former.all { handler.unbind() }
    for handler in former.named.elements.joined() { handler.unbind() }
  }

  /// Ends the sequences; other handlers stay.
  func endSequences() {
    let handlers = table.withLock { $0.removeSequences() }
    guard !handlers.isEmpty else { return }
    noteChange()
    for handler in handlers { handler.unbind() }
  }

  /// Tells the sequences of a gap.
  func tell(_ gap: PusherGap) {
    for handler in table.withLock({ $0.all }) { handler.receive(gap) }
  }

  private func noteChange() {
    changes.wrappingAdd(1, ordering: .releasing)
  }

  /// Brings `snapshot`, taken from this list before, up to date; answers whether it was not.
  @inline(__always)
  @discardableResult
  func refresh(_ snapshot: inout Snapshot) -> Bool {
    let now = changeCount
    guard now != snapshot.changes else { return false }
    read(&snapshot, now)
    return true
  }

  private func read(_ snapshot: inout Snapshot, _ now: UInt) {
    let former = snapshot.table
    snapshot.table = table.withLock { $0 }
    snapshot.changes = now
    // The last reference to a handler is released here, outside the lock.
    withExtendedLifetime(former) {}
  }
}
