internal import Synchronization

/// A channel that is subscribed, or will be.
///
/// It can be used from any thread. The channel and its bindings survive lost connections,
/// `disconnect()` and `connect()`. Unsubscribing ends the channel and drops its bindings;
/// subscribing again makes another object.
public class PusherChannel: PusherEventBindings, @unchecked Sendable {
  // All stored properties, also those of the only subclass, are constants of Sendable types. The
  // compiler does not check that for a class with a subclass.

  /// Maximum number of client events that wait for the subscription.
  public static let clientEventLimit = 100

  /// Name of the channel, prefix included.
  public let name: String
  /// Kind of channel, from the prefix of its name.
  public let kind: ChannelKind
  /// The client's connection.
  public let connection: PusherConnection
  /// Order in which channels were made.
  let serial: UInt64
  let bindings: BindingList
  private let state: Locked<Status>
  private static let lastSerial = Atomic<UInt64>(0)

  private struct Status {
    var isWanted: Bool
    var isSubscribed = false
    /// True after a lost socket interrupted the subscription, until a gap is reported.
    var wasLost = false
    var subscriptionCount: Int?
    var countHandler: (@Sendable (Int) -> Void)?
    var failure: SubscriptionFailure?
    /// Reason for a delayed subscription.
    var delay: SubscriptionFailure?
    var auth: PusherAuth?
    var unsent: [ClientEvent] = []
    /// Tasks that wait for the subscription, and readers of ``PusherChannel/failures``.
    var observers: [ObjectIdentifier: EventQueue<News>] = [:]

    func tell(_ news: News) {
      for observer in observers.values { observer.add(news) }
    }
  }

  /// - Parameter problem: Why the channel cannot be subscribed.
  init(
    name: String, connection: PusherConnection, problem: String? = nil,
    bindings: BindingList = BindingList()
  ) {
    self.name = name
    kind = ChannelKind(channelName: name)
    self.connection = connection
    self.bindings = bindings
    serial = Self.lastSerial.wrappingAdd(1, ordering: .relaxed).newValue
    let failure = problem.map { SubscriptionFailure(type: "InvalidName", message: $0) }
    state = Locked(Status(isWanted: failure == nil, failure: failure))
  }

  /// True if the server has confirmed the channel on the current connection.
  public var isSubscribed: Bool { state.withLock { $0.isSubscribed } }

  /// PusherSwift's name of ``isSubscribed``.
  public var subscribed: Bool { isSubscribed }

  /// Type of channel in PusherSwift's terms; ``kind`` tells encrypted channels apart.
  public var type: PusherChannelType { PusherChannelType(name: name) }

  /// Authorisation for the next subscription; `nil` if there is none or it was used.
  ///
  /// It is valid for one socket only; later ones come from ``PusherClientOptions/authMethod``.
  public var auth: PusherAuth? {
    get { state.withLock { $0.auth } }
    set { state.withLock { $0.auth = newValue } }
  }

  /// Called with each subscription count, on the callback thread.
  public var onSubscriptionCountChanged: (@Sendable (Int) -> Void)? {
    get { state.withLock { $0.countHandler } }
    set { state.replace(\.countHandler, with: newValue) }
  }

  /// Number of subscriptions that the server last reported on the current connection.
  ///
  /// `nil` before the first report. Servers report it only for apps with this feature, and never
  /// for presence channels. Each change is also an event `pusher:subscription_count` and a call of
  /// the delegate. Source: Pusher's page "Subscription count events".
  public var subscriptionCount: Int? { state.withLock { $0.subscriptionCount } }

  /// Failure of the last attempt to subscribe.
  public var failure: SubscriptionFailure? { state.withLock { $0.failure } }

  /// Unsubscribes from the channel and drops its bindings and waiting client events.
  public func unsubscribe() { connection.unsubscribe(self) }

  // MARK: For the client

  /// Takes the authorisation passed to `subscribe`, which is valid for one socket only.
  func takeAuth() -> PusherAuth? { state.replace(\.auth, with: nil) }

  func noteAsked() { state.withLock { $0.failure = nil } }

  func noteSubscribed() {
    state.withLock { state in
      state.isSubscribed = state.isWanted
      (state.failure, state.delay) = (nil, nil)
      if state.isSubscribed { state.tell(.subscribed) }
    }
  }

  func noteDelayed(_ delay: SubscriptionFailure?) {
    state.withLock { if !$0.isSubscribed { $0.delay = delay } }
  }

  var delay: SubscriptionFailure? { state.withLock { $0.delay } }

  func noteLost() {
    state.withLock { state in
      state.wasLost = state.wasLost || state.isSubscribed
      state.isSubscribed = false
      state.subscriptionCount = nil
    }
  }

  /// Returns once whether events may have been missed.
  @discardableResult func takeLoss() -> Bool { state.replace(\.wasLost, with: false) }

  func noteSubscriptionCount(_ count: Int) {
    let handler = state.withLock { state in
      state.subscriptionCount = count
      return state.countHandler
    }
    handler?(count)
  }

  /// The client makes no further attempt to connect.
  func noteGaveUp(_ error: any Error) { state.withLock { $0.tell(.gaveUp(error)) } }

  func noteFailed(_ failure: SubscriptionFailure) {
    state.withLock { state in
      state.isSubscribed = false
      state.failure = failure
      state.tell(.failed(failure))
    }
  }

  /// Adds an observer, and returns false if there will be no changes.
  ///
  /// `beginningNow` reports the current state first, if it ends a wait.
  func add(_ observer: EventQueue<News>, beginningNow: Bool) -> Bool {
    // After the observer is known, so that it misses no end of the client.
    defer { if beginningNow, let end = connection.finalFailure { observer.add(.gaveUp(end)) } }
    return state.withLock { state in
      if beginningNow, state.isSubscribed { observer.add(.subscribed) }
      if beginningNow, let failure = state.failure { observer.add(.failed(failure)) }
      guard state.isWanted else { return false }
      state.observers[ObjectIdentifier(observer)] = observer
      return true
    }
  }

  func removeObserver(_ key: ObjectIdentifier) { state.withLock { $0.observers[key] = nil } }

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
    onSubscriptionCountChanged = nil
  }

  /// Sends the client events that wait, until `send` cannot.
  func sendUnsent(_ send: (ClientEvent) -> Bool) {
    let events = state.withLock { $0.isSubscribed ? $0.unsent.takeAll() : [] }
    for (index, event) in events.enumerated() where !send(event) {
      let rest = events[index...]
      return state.withLock { if $0.isWanted { $0.unsent.insert(contentsOf: rest, at: 0) } }
    }
  }
}

extension PusherChannel {
  // MARK: Client events

  /// Sends an event to the channel's other subscribers, as soon as the channel is subscribed.
  ///
  /// Up to ``clientEventLimit`` events wait until then, also across reconnects; unsubscribing drops
  /// them. The server may reject an event later, because the app allows no client events or too
  /// many were sent in a second: see ``PusherDelegate/receivedError(error:)``. Source: Pusher's
  /// page "Client events".
  ///
  /// - Parameters:
  ///   - eventName: At most 200 bytes of UTF-8; `client-` is prepended if it is missing.
  ///   - data: At most 10,240 bytes of JSON.
  /// - Throws: ``ClientEventError`` for an invalid name or data, a channel that is neither private
  ///   nor presence, a full queue, and an unsubscribed channel. Nothing is sent then.
  public func trigger(eventName: String, data: JSONValue) throws(ClientEventError) {
    let event = try ClientEvent(channel: name, name: eventName, data: data)
    try state.withLock { (state) throws(ClientEventError) in
      guard state.isWanted else { throw .notSubscribed(channel: name) }
      guard state.unsent.count < Self.clientEventLimit else {
        throw .queueFull(channel: name, limit: Self.clientEventLimit)
      }
      state.unsent.append(event)
    }
    connection.post { [self] in $0.flush(self) }
  }

  /// Sends an event with data of your own type; `EncodingError` if it cannot be JSON.
  @_disfavoredOverload public func trigger(eventName: String, data: some Encodable) throws {
    try trigger(eventName: eventName, data: try JSONValue(encoding: data))
  }

  // MARK: Bindings

  /// Calls `eventCallback` for every event of the channel.
  @discardableResult public func bind(eventCallback: @escaping @Sendable (PusherEvent) -> Void)
    -> PusherBinding
  { bindings.bind(to: nil, eventCallback) }

  /// Calls `eventCallback` for the channel's events of this name.
  ///
  /// Events of the service have handlers too, such as `pusher:subscription_succeeded`,
  /// `pusher:member_added` and `pusher:cache_miss`.
  @discardableResult public func bind(
    eventName: String, eventCallback: @escaping @Sendable (PusherEvent) -> Void
  ) -> PusherBinding { bindings.bind(to: eventName, eventCallback) }

  /// Calls `callback` with the data of the channel's events of this name, as before PusherSwift 8.
  ///
  /// The data is a string if it is not JSON, or if
  /// ``PusherClientOptions/attemptToReturnJSONObject`` is off.
  @_disfavoredOverload @discardableResult public func bind(
    eventName: String, callback: @escaping @Sendable (JSONValue?) -> Void
  ) -> PusherBinding {
    let parses = connection.options.attemptToReturnJSONObject
    return bindings.bind(to: eventName) { callback($0.value(parsed: parses)) }
  }

  /// Handlers bound to events of the channel.
  public var handlers: PusherHandlers { PusherHandlers(list: bindings, connection: connection) }
}

// Handlers written for PusherSwift 7, which take `Any?`. In an extension of the protocol they rank
// below the class's own, with `JSONValue` or `PusherEvent`.
extension PusherEventBindings where Self: PusherChannel {
  /// Calls `callback` with the data of the channel's events of this name, as in PusherSwift 7.
  @_disfavoredOverload @discardableResult public func bind(
    eventName: String, callback: @escaping @Sendable (Any?) -> Void
  ) -> PusherBinding {
    let parses = connection.options.attemptToReturnJSONObject
    return bindings.bind(to: eventName) { callback($0.value(parsed: parses)?.untyped) }
  }

  /// Same as `bind(eventName:callback:)`, with a trailing closure.
  @discardableResult public func bind(
    eventName: String, eventCallback: @escaping @Sendable (Any?) -> Void
  ) -> PusherBinding { bind(eventName: eventName, callback: eventCallback) }
}

/// A channel with a list of its members.
///
/// The members are known after the subscription. After a reconnect the server's new list replaces
/// the old one, and the differences are reported as joins and leaves.
public final class PusherPresenceChannel: PusherChannel, @unchecked Sendable {
  private let presence = Locked(Presence())

  private struct Presence {
    var roster = PresenceRoster()
    var myId: String?
    var onMemberAdded: (@Sendable (PusherPresenceChannelMember) -> Void)?
    var onMemberRemoved: (@Sendable (PusherPresenceChannelMember) -> Void)?
    weak var delegate: (any PusherPresenceChannelDelegate)?
  }

  /// Members in the order in which they joined.
  public var members: [PusherPresenceChannelMember] { presence.withLock { $0.roster }.members }

  /// Number of members.
  public var memberCount: Int { presence.withLock { $0.roster.count } }

  /// Member id of this client; `nil` before the channel is subscribed.
  public var myId: String? { presence.withLock { $0.myId } }

  /// Returns this client's own member; `nil` before the channel is subscribed.
  public func me() -> PusherPresenceChannelMember? {
    presence.withLock { presence in presence.myId.flatMap { presence.roster[$0] } }
  }

  /// Returns the member with this id.
  public func findMember(userId: String) -> PusherPresenceChannelMember? {
    presence.withLock { $0.roster[userId] }
  }

  /// Called when a member joins, on the callback thread.
  public var onMemberAdded: (@Sendable (PusherPresenceChannelMember) -> Void)? {
    get { presence.withLock { $0.onMemberAdded } }
    set { presence.replace(\.onMemberAdded, with: newValue) }
  }

  /// Called when a member leaves, on the callback thread.
  public var onMemberRemoved: (@Sendable (PusherPresenceChannelMember) -> Void)? {
    get { presence.withLock { $0.onMemberRemoved } }
    set { presence.replace(\.onMemberRemoved, with: newValue) }
  }

  /// Delegate for joins and leaves, in addition to the closures; the reference is weak.
  public weak var delegate: (any PusherPresenceChannelDelegate)? {
    get { presence.withLock { $0.delegate } }
    set { presence.withLock { $0.delegate = newValue } }
  }

  // MARK: For the client

  /// Replaces the closures that are given.
  func renew(
    _ added: (@Sendable (PusherPresenceChannelMember) -> Void)?,
    _ removed: (@Sendable (PusherPresenceChannelMember) -> Void)?
  ) {
    if let added { onMemberAdded = added }
    if let removed { onMemberRemoved = removed }
  }

  func noteMembers(_ roster: PresenceRoster, myId: String?) {
    presence.withLock { presence in
      presence.roster = roster
      presence.myId = myId ?? presence.myId
    }
  }

  func noteAdded(_ member: PusherPresenceChannelMember) {
    let (handler, delegate) = presence.withLock { presence in
      presence.roster.insert(member.userId, member.userInfo)
      return (presence.onMemberAdded, presence.delegate)
    }
    handler?(member)
    delegate?.presenceChannel(self, memberAdded: member)
  }

  func noteRemoved(_ member: PusherPresenceChannelMember) {
    let (handler, delegate) = presence.withLock { presence in
      _ = presence.roster.remove(member.userId)
      return (presence.onMemberRemoved, presence.delegate)
    }
    handler?(member)
    delegate?.presenceChannel(self, memberRemoved: member)
  }

  override func end() {
    super.end()
    (onMemberAdded, onMemberRemoved) = (nil, nil)
  }
}

extension Locked {
  /// Replaces a field and returns its former value, which so is released outside the lock.
  @discardableResult
  func replace<Field: Sendable>(_ field: WritableKeyPath<Value, Field>, with new: Field) -> Field {
    withLock { value in
      defer { value[keyPath: field] = new }
      return value[keyPath: field]
    }
  }
}
