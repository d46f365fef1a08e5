/// Client of Pusher Channels and of services with the same protocol.
///
/// ```swift
/// let pusher = Pusher(key: "APP_KEY", options: PusherClientOptions(host: .cluster("eu")))
/// let channel = pusher.subscribe("my-channel")
/// channel.bind(eventName: "new-price") { event in handle(event.data) }
/// pusher.connect()
/// ```
///
/// The callback thread is the client's own, or the thread of a ``PusherRuntime``. It does the
/// network work and calls handlers, delegates and authorizers, one at a time and in order, without
/// a lock. A blocked handler delays this client, including its answers to pings, but loses nothing:
/// messages wait in the socket. A handler is not called after it was unbound, not even for the
/// current event; a handler bound during an event gets the next one. All members can be used from
/// any thread.
///
/// The connection closes with the last reference to the `Pusher`. The client keeps its closures: a
/// closure that refers to its own client must capture it weakly. See <doc:ThreadsAndLifetime>.
public final class Pusher: PusherEventBindings {
  /// State, delegate and settings of the connection.
  public let connection: PusherConnection

  /// Creates a client that is not connected; an empty key fails when connecting.
  public init(key: String, options: PusherClientOptions = PusherClientOptions()) {
    connection = PusherConnection(key: key, options: options)
  }

  deinit { connection.shutDown() }

  /// Key of the app.
  public var key: String { connection.key }

  /// Delegate; same as the connection's ``PusherConnection/delegate``.
  public weak var delegate: (any PusherDelegate)? {
    get { connection.delegate }
    set { connection.delegate = newValue }
  }

  /// Delegate that may be an actor; same as the connection's ``PusherConnection/asyncDelegate``.
  public weak var asyncDelegate: (any PusherAsyncDelegate)? {
    get { connection.asyncDelegate }
    set { connection.asyncDelegate = newValue }
  }

  /// Connects and then subscribes to all wanted channels.
  ///
  /// Returns immediately; the delegate gets the result. Does nothing while connecting or connected.
  /// While the client waits to reconnect, the next attempt starts immediately.
  public func connect() { connection.connect() }

  /// Closes the connection from any state; no attempt follows.
  ///
  /// Returns immediately. No event follows, and each sequence of
  /// ``PusherEventBindings/events(buffering:)`` ends after its buffered events. Channels and
  /// bindings stay for another ``connect()``.
  public func disconnect() { connection.disconnect() }

  /// User of the connection: sign-in, user events and watchlist.
  public var user: PusherUser { PusherUser(connection) }

  /// Same as ``PusherUser/signIn()``, at pusher-js's place.
  public func signIn() { user.signIn() }

  // MARK: Channels

  /// Subscribes to a channel as soon as there is a connection, and again after each reconnect.
  ///
  /// An invalid name (more than 200 bytes, or characters other than `A-Z a-z 0-9 _ - = @ , . ;`) is
  /// not sent: ``PusherChannel/failure`` is set immediately, and the delegate gets it later. A call
  /// for a failed channel makes another attempt; a call for a subscribed channel changes nothing.
  ///
  /// - Parameters:
  ///   - channelName: The name with its prefix; with `presence-` the result is a
  ///     ``PusherPresenceChannel``.
  ///   - auth: An existing authorisation. It is valid for one socket; later ones come from
  ///     ``PusherClientOptions/authMethod``.
  ///   - onMemberAdded: Called when a member joins a presence channel.
  ///   - onMemberRemoved: Called when a member leaves a presence channel.
  ///   - onSubscriptionCountChanged: Called with each subscription count; a later closure replaces
  ///     it.
  @discardableResult public func subscribe(
    _ channelName: String, auth: PusherAuth? = nil,
    onMemberAdded: (@Sendable (PusherPresenceChannelMember) -> Void)? = nil,
    onMemberRemoved: (@Sendable (PusherPresenceChannelMember) -> Void)? = nil,
    onSubscriptionCountChanged: (@Sendable (Int) -> Void)? = nil
  ) -> PusherChannel {
    let channel = connection.subscribe(channelName, auth: auth) {
      $0.renew(onMemberAdded, onMemberRemoved)
    }
    if let onSubscriptionCountChanged {
      channel.onSubscriptionCountChanged = onSubscriptionCountChanged
    }
    return channel
  }

  /// Subscribes to a presence channel; a name without `presence-` gives a channel that has failed.
  @discardableResult public func subscribeToPresenceChannel(
    channelName: String, auth: PusherAuth? = nil,
    onMemberAdded: (@Sendable (PusherPresenceChannelMember) -> Void)? = nil,
    onMemberRemoved: (@Sendable (PusherPresenceChannelMember) -> Void)? = nil
  ) -> PusherPresenceChannel {
    connection.subscribePresence(channelName, auth: auth) {
      $0.renew(onMemberAdded, onMemberRemoved)
    }
  }

  /// Subscribes to `private-` plus the name, as in libPusher.
  @discardableResult public func subscribeToPrivateChannel(named name: String) -> PusherChannel {
    connection.subscribe("private-" + name)
  }

  /// Subscribes to `presence-` plus the name, as in libPusher; the delegate reference is weak.
  @discardableResult public func subscribeToPresenceChannel(
    named name: String, delegate: (any PusherPresenceChannelDelegate)? = nil
  ) -> PusherPresenceChannel {
    connection.subscribePresence("presence-" + name) {
      if let delegate { $0.delegate = delegate }
    }
  }

  /// Returns the wanted channel with this name, prefix included; `nil` if there is none.
  public func channel(named name: String) -> PusherChannel? { connection.channel(name) }

  /// Channels that the server has confirmed on the current connection.
  public var subscribedChannels: [PusherChannel] { connection.channels.subscribed }

  /// Unsubscribes from a channel and drops its bindings; does nothing if it is not wanted.
  public func unsubscribe(_ channelName: String) {
    if let channel = connection.channel(channelName) { connection.unsubscribe(channel) }
  }

  /// Unsubscribes from all channels and drops their bindings, but not the client's.
  public func unsubscribeAll() { connection.unsubscribeAll() }
}

extension Pusher {
  /// Calls `eventCallback` for every event on any channel, including the service's own.
  ///
  /// Errors of the server are events named `pusher:error`.
  @discardableResult public func bind(eventCallback: @escaping @Sendable (PusherEvent) -> Void)
    -> PusherBinding
  { connection.bindings.bind(to: nil, eventCallback) }

  /// Calls `eventCallback` for every event of this name on any channel.
  @discardableResult public func bind(
    eventName: String, eventCallback: @escaping @Sendable (PusherEvent) -> Void
  ) -> PusherBinding { connection.bindings.bind(to: eventName, eventCallback) }

  /// Calls `callback` with the whole message of every event, as before PusherSwift 8.
  ///
  /// The message is an object with `event` and, if the event has them, `channel`, `data` and
  /// `user_id`. `data` is a string if it is not JSON, or if
  /// ``PusherClientOptions/attemptToReturnJSONObject`` is off.
  @_disfavoredOverload
  @discardableResult
  public func bind(callback: @escaping @Sendable (JSONValue?) -> Void) -> PusherBinding {
    let parses = connection.options.attemptToReturnJSONObject
    return connection.bindings.bind(to: nil) { callback($0.message(parsed: parses)) }
  }

  /// Handlers bound to events of any channel.
  public var handlers: PusherHandlers {
    PusherHandlers(list: connection.bindings, connection: connection)
  }

  /// Unbinds one handler of the client; does nothing if it is not bound.
  public func unbind(callbackId: PusherBinding) { removeBinding(callbackId) }
}

// Handlers written for PusherSwift 7, which take `Any?`. In an extension of the protocol they rank
// below the class's own, with `JSONValue` or `PusherEvent`.
extension PusherEventBindings where Self: Pusher {
  /// Calls `callback` with the message of every event, as in PusherSwift 7.
  ///
  /// The message has `event` and, if present, `channel`, `data` and `user_id`. Members of `data`
  /// with other names are included, since PusherSwift 7's README reads them there.
  @_disfavoredOverload
  @discardableResult
  public func bind(callback: @escaping @Sendable (Any?) -> Void) -> PusherBinding {
    let parses = connection.options.attemptToReturnJSONObject
    return connection.bindings.bind(to: nil) { event in
      let message = event.message(parsed: parses)
      let data = message["data"]?.members ?? []
      callback(JSONValue.object(data + (message.members ?? [])).untyped)
    }
  }

  /// Same as `bind(callback:)`, without a label, as PusherSwift 7's README writes it.
  @_disfavoredOverload @discardableResult public func bind(
    _ callback: @escaping @Sendable (Any?) -> Void
  ) -> PusherBinding { bind(callback: callback) }

  /// Same as `bind(callback:)`, with a trailing closure.
  @discardableResult public func bind(
    eventCallback: @escaping @Sendable (Any?) -> Void
  ) -> PusherBinding { bind(callback: eventCallback) }

  /// Calls `eventCallback` with the data of every event of this name on any channel.
  @discardableResult public func bind(
    eventName: String, eventCallback: @escaping @Sendable (Any?) -> Void
  ) -> PusherBinding {
    let parses = connection.options.attemptToReturnJSONObject
    return connection.bindings.bind(to: eventName) {
      eventCallback($0.value(parsed: parses)?.untyped)
    }
  }
}

extension Pusher {
  /// Connects, and returns after the task is cancelled and the connection is closed.
  ///
  /// So a client can be a service of swift-service-lifecycle. Lost connections are retried as
  /// ``PusherClientOptions/autoReconnect`` and the delegate decide. The method also returns after
  /// ``disconnect()``.
  ///
  /// - Throws: ``ConnectionLoss`` or ``PusherConfigurationError`` when no further attempt follows.
  public func run() async throws {
    connection.connect()
    for await state in connection.states where state == .disconnected {
      if let failure = connection.failure { throw failure }
      return
    }
    connection.disconnect()
    // A separate task, since this cancelled one cannot wait.
    let states = connection.states
    await Task { for await state in states where state == .disconnected { return } }.value
  }
}
