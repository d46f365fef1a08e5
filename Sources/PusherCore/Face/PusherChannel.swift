internal import Synchronization

/// A channel that is subscribed, or will be.
///
/// It can be used from any thread. It and its bindings survive the loss of a connection, `disconnect()` and `connect()`;
/// unsubscribing ends it: its bindings are dropped, and subscribing again makes another object.
public class PusherChannel: PusherEventBindings, AnyDataHandlers, @unchecked Sendable {
  // All stored properties, those of the only subclass included, are constants of Sendable types; the compiler
  // does not check that for a class that has one.

  /// How many client events may wait for the channel to be subscribed.
  public static let clientEventLimit = 100

  /// The channel's name, prefix included.
  public let name: String
  /// The kind of channel, by the name's prefix.
  public let type: ChannelKind
  let connection: PusherConnection
  /// Tells in which order channels were made.
  let serial: UInt64
  let bindings: BindingList
  private let state: Locked<Status>
  private static let lastSerial = Atomic<UInt64>(0)

  private struct Status {
    var isWanted: Bool
    var isSubscribed = false
    /// Whether the socket was lost while it was subscribed, and nobody was told of the gap yet.
    var wasLost = false
    var subscriptionCount: Int?
    /// The handler that was given to `subscribe`.
    var countBinding: PusherBinding?
    var failure: SubscriptionFailure?
    /// Why the subscription takes longer, as far as the server told.
    var delay: SubscriptionFailure?
    var auth: PusherAuth?
    var unsent: [ClientEvent] = []
    /// Who waits for the subscription, or reads ``PusherChannel/failures``.
    var observers: [ObjectIdentifier: EventQueue<News>] = [:]

    func tell(_ news: News) {
      for observer in observers.values { observer.add(news) }
    }
  }

  /// - Parameter failure: Why the channel cannot be subscribed.
  /// - Parameter bindings: The bindings of these events, when they outlive the channel.
  init(
    name: String, connection: PusherConnection, failure: SubscriptionFailure? = nil,
    bindings: BindingList = BindingList()
  ) {
    self.name = name
    type = ChannelKind(channelName: name)
    self.connection = connection
    self.bindings = bindings
    serial = Self.lastSerial.wrappingAdd(1, ordering: .relaxed).newValue
    state = Locked(Status(isWanted: failure == nil, failure: failure))
  }

  /// Whether the server has confirmed the channel on the present connection.
  public var isSubscribed: Bool { state.withLock { $0.isSubscribed } }

  /// ``isSubscribed`` under PusherSwift's name.
  public var subscribed: Bool { isSubscribed }

  /// How many subscriptions the channel has, as the server told last on the present connection.
  ///
  /// `nil` until it tells, which it only does for apps that have the feature enabled, and never on presence channels.
  /// Each change comes as an event `pusher:subscription_count` and to the delegate. Source: Pusher's page
  /// "Subscription count events".
  public var subscriptionCount: Int? { state.withLock { $0.subscriptionCount } }

  /// Why the channel is not subscribed, when the last attempt failed.
  public var failure: SubscriptionFailure? { state.withLock { $0.failure } }

  /// Unsubscribes from the channel, and drops its bindings and the client events that still wait.
  public func unsubscribe() {
    connection.unsubscribe(self)
  }

  // MARK: For the client

  /// What a later `subscribe` changes.
  func renew(auth: PusherAuth?) {
    state.withLock { $0.auth = auth ?? $0.auth }
  }

  /// The authorisation that was given to `subscribe`; it is good for one socket, so it is used once.
  func takeAuth() -> PusherAuth? {
    state.withLock { state in
      defer { state.auth = nil }
      return state.auth
    }
  }

  /// Another attempt is made.
  func noteAsked() {
    state.withLock { $0.failure = nil }
  }

  func noteSubscribed() {
    state.withLock { state in
      state.isSubscribed = state.isWanted
      (state.failure, state.delay) = (nil, nil)
      if state.isSubscribed { state.tell(.subscribed) }
    }
  }

  /// The server's rate limit holds the subscription up.
  func noteDelayed(_ delay: SubscriptionFailure) {
    state.withLock { if !$0.isSubscribed { $0.delay = delay } }
  }

  /// Why the subscription takes longer, as far as the server told.
  var delay: SubscriptionFailure? { state.withLock { $0.delay } }

  func noteLost() {
    state.withLock { state in
      state.wasLost = state.wasLost || state.isSubscribed
      state.isSubscribed = false
      state.subscriptionCount = nil
    }
  }

  /// Another session begins, which tells no gap of the former.
  func forgetLoss() {
    state.withLock { $0.wasLost = false }
  }

  /// Answers whether events may have been missed, once.
  func takeLoss() -> Bool {
    state.withLock { state in
      defer { state.wasLost = false }
      return state.wasLost
    }
  }

  /// Calls `handler` with each count, in place of an earlier one.
  func tellCounts(to handler: @escaping @Sendable (Int) -> Void) {
    let name = connection.options.service.eventPrefix + "subscription_count"
    let binding = bindings.bind(to: name) { event in
      if let count = event.jsonObject?["subscription_count"]?.integer { handler(count) }
    }
    let former = state.withLock { state in
      defer { state.countBinding = binding }
      return state.countBinding
    }
    if let former { bindings.unbind(former) }
  }

  func noteSubscriptionCount(_ count: Int) {
    state.withLock { $0.subscriptionCount = count }
  }

  func noteFailed(_ failure: SubscriptionFailure) {
    state.withLock { state in
      state.isSubscribed = false
      state.failure = failure
      state.tell(.failed(failure))
    }
  }

  /// Lets somebody know what happens from now on; answers false when nothing will.
  ///
  /// - Parameter beginningNow: Whether the present state is told, if it ends a wait.
  func add(_ observer: EventQueue<News>, beginningNow: Bool) -> Bool {
    state.withLock { state in
      if beginningNow, state.isSubscribed { observer.add(.subscribed) }
      if beginningNow, let failure = state.failure { observer.add(.failed(failure)) }
      guard state.isWanted else { return false }
      state.observers[ObjectIdentifier(observer)] = observer
      return true
    }
  }

  func removeObserver(_ key: ObjectIdentifier) {
    _ = state.withLock { $0.observers.removeValue(forKey: key) != nil }
  }

  /// The channel is given up for good.
  func end() {
    let observers = state.withLock { state in
      state.isWanted = false
      state.isSubscribed = false
      state.unsent = []
      defer { state.observers = [:] }
      return state.observers.values
    }
    for observer in observers { observer.finish() }
    bindings.unbindAll()
  }

  /// Takes the client events that wait, in their order.
  func takeUnsent() -> [ClientEvent] {
    state.withLock { state in
      guard state.isSubscribed else { return [] }
      defer { state.unsent = [] }
      return state.unsent
    }
  }

  /// Puts back events that could not be sent.
  func putBack(_ events: ArraySlice<ClientEvent>) {
    state.withLock { state in
      if state.isWanted { state.unsent.insert(contentsOf: events, at: 0) }
    }
  }

  private func enqueue(_ event: ClientEvent) throws(ClientEventError) {
    try state.withLock { (state) throws(ClientEventError) in
      guard state.isWanted else { throw .notSubscribed(channel: name) }
      guard state.unsent.count < Self.clientEventLimit else {
        throw .queueFull(channel: name, limit: Self.clientEventLimit)
      }
      state.unsent.append(event)
    }
  }
}

// MARK: Client events

extension PusherChannel {
  /// Sends an event to the channel's other subscribers, as soon as the channel is subscribed.
  ///
  /// Until then up to ``clientEventLimit`` events wait in their order; they are kept over reconnects and dropped when
  /// the channel is unsubscribed. What the server refuses later, such as too many a second (code 4301), comes as
  /// ``PusherDelegate/receivedError(error:)``. Source: Pusher's page "Client events".
  ///
  /// - Parameters:
  ///   - eventName: At most 200 bytes of UTF-8; `client-` is put in front unless it is there.
  ///   - data: At most 10,240 bytes of JSON.
  /// - Throws: ``ClientEventError`` for names and data that servers refuse, on channels that are neither private nor
  ///   presence, when too many events wait, and after the channel was unsubscribed. Nothing is sent then.
  public func trigger(eventName: String, data: JSONValue) throws(ClientEventError) {
    try enqueue(try ClientEvent(channel: name, name: eventName, data: data))
    connection.post(.flush(self))
  }

  /// The same with data of a type of yours.
  ///
  /// - Throws: `EncodingError` for data that cannot be JSON, and ``ClientEventError``.
  @_disfavoredOverload
  public func trigger(eventName: String, data: some Encodable) throws {
    try trigger(eventName: eventName, data: try JSONValue(encoding: data))
  }
}

// MARK: Bindings

extension PusherChannel {
  /// Calls `eventCallback` for every event of the channel.
  ///
  /// The handler is kept until it is unbound: one that refers to its client keeps that forever, unless it does so weakly.
  /// ``PusherEventBindings/bind(to:eventCallback:)`` has an owner instead.
  @discardableResult
  public func bind(eventCallback: @escaping @Sendable (PusherEvent) -> Void) -> PusherBinding {
    bindings.bind(to: nil, eventCallback)
  }

  /// Calls `eventCallback` for the channel's events of one name.
  ///
  /// Also the service's own, such as `pusher:subscription_succeeded`, `pusher:member_added` and `pusher:cache_miss`.
  ///
  /// The handler is kept until it is unbound: one that refers to its client keeps that forever, unless it does so weakly.
  /// ``PusherEventBindings/bind(eventName:to:eventCallback:)`` has an owner instead.
  @discardableResult
  public func bind(
    eventName: String, eventCallback: @escaping @Sendable (PusherEvent) -> Void
  ) -> PusherBinding {
    bindings.bind(to: eventName, eventCallback)
  }

  /// Calls `callback` with the data of the channel's events of one name, as before PusherSwift 8.
  ///
  /// The data is a value, or its text where it is not JSON or ``PusherClientOptions/attemptToReturnJSONObject`` is off.
  @_disfavoredOverload
  @discardableResult
  public func bind(
    eventName: String, callback: @escaping @Sendable (JSONValue?) -> Void
  ) -> PusherBinding {
    let parses = connection.options.attemptToReturnJSONObject
    return bindings.bind(to: eventName) { callback($0.value(parsed: parses)) }
  }

  /// What is bound to the channel's events.
  public var handlers: PusherHandlers { PusherHandlers(list: bindings, connection: connection) }
}
