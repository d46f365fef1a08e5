/// A client of Pusher Channels and of the services that speak its protocol.
///
/// ```swift
/// let pusher = Pusher(key: "APP_KEY", options: PusherClientOptions(host: .cluster("eu")))
/// let channel = pusher.subscribe("my-channel")
/// channel.bind(eventName: "new-price") { event in handle(event.data) }
/// pusher.connect()
/// ```
///
/// **Threads.** Everything can be called from any thread at any time, from handlers too. The client has one thread,
/// its own unless it shares a ``PusherRuntime``: the callback thread, which does its network work and makes all calls: handlers, delegates, authorisers. They
/// come one at a time and in the order of what happened, and no lock is held meanwhile. So a handler that blocks
/// holds up everything of this client, answers to the server's pings included, but loses nothing: what comes meanwhile
/// waits in the socket. Work that takes long belongs elsewhere, for instance into a task that reads
/// ``PusherEventBindings/events(buffering:)``. Handlers do not throw.
///
/// A handler that is unbound is not called again by this thread, not even for the event that is being handed out; a call
/// that another thread is in the middle of still ends. One that is bound while an event is handed out gets the next.
///
/// **Life.** The client lives as long as its `Pusher`: with the last reference to it the connection is closed, and
/// channels, connection and bindings that are still held do nothing any more. A handler, an ``Authorizer`` or another
/// closure that refers to its own client is such a reference, which the client keeps itself: it then lives forever. Capture
/// it weakly, or bind to an owner with ``PusherEventBindings/bind(eventName:to:eventCallback:)``. Delegates are referred to
/// weakly.
public final class Pusher: PusherEventBindings, AnyDataHandlers {
  /// The connection's state, delegate and settings.
  public let connection: PusherConnection

  /// A client that is not connected yet.
  ///
  /// - Parameters:
  ///   - key: The app's key; an empty one fails when connecting.
  ///   - options: Everything else.
  public init(key: String, options: PusherClientOptions = PusherClientOptions()) {
    connection = PusherConnection(key: key, options: options)
  }

  deinit {
    connection.shutDown()
  }

  /// The app's key.
  public var key: String { connection.key }

  /// The delegate: the same as the connection's ``PusherConnection/delegate``.
  public weak var delegate: (any PusherDelegate)? {
    get { connection.delegate }
    set { connection.delegate = newValue }
  }

  /// The delegate that may be an actor: the same as the connection's ``PusherConnection/asyncDelegate``.
  public weak var asyncDelegate: (any PusherAsyncDelegate)? {
    get { connection.asyncDelegate }
    set { connection.asyncDelegate = newValue }
  }

  /// Connects, and subscribes to every wanted channel once there is a connection.
  ///
  /// It returns at once; the delegate learns the result. Nothing happens while the client is connecting or connected;
  /// while it waits to reconnect, the next attempt is made at once.
  public func connect() {
    connection.connect()
  }

  /// Closes the connection from any state, also while waiting to reconnect; no attempt follows.
  ///
  /// It returns at once. No event is handed out afterwards, and each sequence of ``PusherEventBindings/events(buffering:)``
  /// ends once its buffered events are read. Channels and bindings stay for another ``connect()``.
  public func disconnect() {
    connection.disconnect()
  }

  /// The user of the connection: signing in, the user's events, the watchlist.
  public var user: PusherUser { PusherUser(connection) }

  /// The same as the user's ``PusherUser/signIn()``, where pusher-js has it.
  public func signIn() {
    user.signIn()
  }

  // MARK: Channels

  /// Wants a channel: it is subscribed as soon as there is a connection, and again after each reconnect.
  ///
  /// An invalid name (more than 200 bytes, or other characters than `A-Z a-z 0-9 _ - = @ , . ;`) is not sent:
  /// ``PusherChannel/failure`` tells so at once, and the delegate later. Asking for a channel whose subscription failed
  /// makes another attempt; asking for one that is subscribed changes nothing.
  ///
  /// - Parameters:
  ///   - channelName: The name with its prefix; with `presence-` the result is a ``PusherPresenceChannel``.
  ///   - auth: An authorisation from elsewhere; it is good for one socket, and afterwards the
  ///     ``PusherClientOptions/authMethod`` is asked.
  ///   - onMemberAdded: Called when a member joins a presence channel.
  ///   - onMemberRemoved: Called when a member leaves a presence channel.
  ///   - onSubscriptionCountChanged: Called when the server tells how many are subscribed; another one takes its place.
  @discardableResult
  public func subscribe(
    _ channelName: String, auth: PusherAuth? = nil,
    onMemberAdded: (@Sendable (PusherPresenceChannelMember) -> Void)? = nil,
    onMemberRemoved: (@Sendable (PusherPresenceChannelMember) -> Void)? = nil,
    onSubscriptionCountChanged: (@Sendable (Int) -> Void)? = nil
  ) -> PusherChannel {
    let channel = connection.subscribe(
      channelName,
      .init(
        auth: auth, handlers: .init(onMemberAdded: onMemberAdded, onMemberRemoved: onMemberRemoved))
    )
    if let onSubscriptionCountChanged { channel.tellCounts(to: onSubscriptionCountChanged) }
    return channel
  }

  /// The same as ``subscribe(_:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)`` for a name that begins with `presence-`.
  ///
  /// With any other name the result is a channel that has failed.
  @discardableResult
  public func subscribeToPresenceChannel(
    channelName: String, auth: PusherAuth? = nil,
    onMemberAdded: (@Sendable (PusherPresenceChannelMember) -> Void)? = nil,
    onMemberRemoved: (@Sendable (PusherPresenceChannelMember) -> Void)? = nil
  ) -> PusherPresenceChannel {
    connection.subscribePresence(
      channelName,
      .init(
        auth: auth, handlers: .init(onMemberAdded: onMemberAdded, onMemberRemoved: onMemberRemoved))
    )
  }

  /// Subscribes to `private-` and the name, as in libPusher.
  @discardableResult
  public func subscribeToPrivateChannel(named name: String) -> PusherChannel {
    connection.subscribe("private-" + name, .init())
  }

  /// Subscribes to `presence-` and the name, as in libPusher.
  ///
  /// - Parameters:
  ///   - name: The name without its prefix.
  ///   - delegate: Told of members; referred to weakly.
  @discardableResult
  public func subscribeToPresenceChannel(
    named name: String, delegate: (any PusherPresenceChannelDelegate)? = nil
  ) -> PusherPresenceChannel {
    connection.subscribePresence("presence-" + name, .init(delegate: delegate))
  }

  /// The wanted channel with this name, prefix included; `nil` when there is none.
  public func channel(named name: String) -> PusherChannel? {
    connection.channel(name)
  }

  /// The channels that the server has confirmed on the present connection.
  public var subscribedChannels: [PusherChannel] { connection.channels.subscribed }

  /// Unsubscribes from a channel and drops its bindings; nothing happens when it is not wanted.
  public func unsubscribe(_ channelName: String) {
    if let channel = connection.channel(channelName) { connection.unsubscribe(channel) }
  }

  /// Unsubscribes from all channels and drops their bindings; those of the client stay.
  public func unsubscribeAll() {
    connection.unsubscribeAll()
  }
}

/// Events of any channel.
extension Pusher {
  /// Calls `eventCallback` for every event on any channel, including the service's own.
  ///
  /// Errors of the server come as events called `pusher:error`.
  ///
  /// The handler is kept until it is unbound: one that refers to its client keeps that forever, unless it does so weakly.
  /// ``PusherEventBindings/bind(to:eventCallback:)`` has an owner instead.
  @discardableResult
  public func bind(eventCallback: @escaping @Sendable (PusherEvent) -> Void) -> PusherBinding {
    connection.bindings.bind(to: nil, eventCallback)
  }

  /// Calls `eventCallback` for every event of one name on any channel.
  ///
  /// The handler is kept until it is unbound: one that refers to its client keeps that forever, unless it does so weakly.
  /// ``PusherEventBindings/bind(eventName:to:eventCallback:)`` has an owner instead.
  @discardableResult
  public func bind(
    eventName: String, eventCallback: @escaping @Sendable (PusherEvent) -> Void
  ) -> PusherBinding {
    connection.bindings.bind(to: eventName, eventCallback)
  }

  /// Calls `callback` with the whole message of every event, as before PusherSwift 8.
  ///
  /// It is an object with `event` and, where the event has them, `channel`, `data` and `user_id`; `data` is a value, or
  /// its text where it is not JSON or ``PusherClientOptions/attemptToReturnJSONObject`` is off.
  @_disfavoredOverload
  @discardableResult
  public func bind(callback: @escaping @Sendable (JSONValue?) -> Void) -> PusherBinding {
    let parses = connection.options.attemptToReturnJSONObject
    return connection.bindings.bind(to: nil) { callback($0.message(parsed: parses)) }
  }

  /// What is bound to events of any channel.
  public var handlers: PusherHandlers {
    PusherHandlers(list: connection.bindings, connection: connection)
  }

  /// Unbinds one handler of the client, whatever it is bound to; nothing happens when it is not bound.
  public func unbind(callbackId: PusherBinding) {
    removeBinding(callbackId)
  }
}
