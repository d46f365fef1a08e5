internal import Synchronization

/// The connection of a ``Pusher``: its state, its delegate and its retries.
///
/// It can be used from any thread, and works while its ``Pusher`` lives. Changed retry settings
/// apply from the next `connect()`.
public final class PusherConnection: Sendable {
  let bindings = BindingList()
  /// Handlers of the user's events.
  let userBindings = BindingList()
  let watchlist = BindingList()
  let state: Locked<Status>
  let thread: OnDemandThread<ClientDriver>
  let logger: (any PusherLogger)?
  let metrics: (any PusherMetrics)?
  /// ``Status/generation`` whose events are dispatched, 0 for none; read for every event.
  let liveGeneration = Atomic<Int>(0)
  let readers = SlowReaders()
  private let notices = Locked<DelegateQueue?>(nil)

  struct Status {
    var place: Target
    var connectionState = ConnectionState.disconnected
    /// Number of `connect()` calls; identifies results of an earlier call.
    var generation = 0
    var isShutDown = false
    /// Channels that cannot be subscribed, until a thread reports them to the delegate.
    var refused: [PusherChannel] = []
    var changes: [(old: ConnectionState, new: ConnectionState)] = []
    var observers: [ObjectIdentifier: EventQueue<ConnectionState>] = [:]
    /// Reason of the last loss or failed attempt; `nil` if a connection or `disconnect()` followed.
    var failure: (any Error)?
    var channels = NameTable<PusherChannel>()
    var socketId: String?
    var user = UserStatus()
    var failedAttempts = 0
    var userDataFetcher: (@Sendable () -> PusherPresenceChannelMember)?
    weak var delegate: (any PusherDelegate)?
    weak var asyncDelegate: (any PusherAsyncDelegate)?

    /// Returns true if the attempt `generation` ends without a call of `disconnect()`.
    func gaveUp(_ generation: Int) -> Bool {
      ![.disconnected, .disconnecting].contains(connectionState) && generation == self.generation
    }
  }

  struct Target {
    var key: String
    var options: PusherClientOptions
    /// Number of `switch(to:)` calls, so that each is executed once.
    var number = 0
  }

  init(key: String, options: PusherClientOptions) {
    thread = OnDemandThread(options.runtime?.thread ?? LoopThread(name: "pusher-client"))
    logger = options.logger
    metrics = options.metrics
    state = Locked(Status(place: Target(key: key, options: options)))
  }

  /// Key of the app.
  public var key: String { state.withLock { $0.place.key } }

  /// Current options: the client's initial options with all later changes.
  public var options: PusherClientOptions { state.withLock { $0.place.options } }

  /// State of the connection.
  public var connectionState: ConnectionState { state.withLock { $0.connectionState } }

  /// The server's ID of the socket; `nil` without a connection.
  public var socketId: String? { state.withLock { $0.socketId } }

  /// URL of the socket, as in PusherSwift; `nil` if the options are invalid.
  public var url: String? {
    let place = state.withLock { $0.place }
    guard let url = try? place.options.destination(key: place.key).url else { return nil }
    return url.place + (url.query.map { "?" + $0 } ?? "")
  }

  /// Reason of the last lost connection or failed attempt: a ``ConnectionLoss`` or a
  /// ``PusherConfigurationError``.
  ///
  /// `nil` while there is a connection, after `disconnect()`, and after a `connect()` that does not
  /// only hasten the next attempt. After the end of a sequence of events it is the reason why the
  /// client makes no further attempt.
  public var failure: (any Error)? { state.withLock { $0.failure } }

  /// Number of failed attempts in a row; 0 after the server's greeting.
  public var reconnectAttempts: Int { state.withLock { $0.failedAttempts } }

  /// Channels that are wanted.
  public var channels: PusherChannels { PusherChannels(self) }

  /// Delegate; the reference is weak, so you must keep it.
  public weak var delegate: (any PusherDelegate)? {
    get { state.withLock { $0.delegate } }
    set { state.withLock { $0.delegate = newValue } }
  }

  /// Delegate that may be an actor; the reference is weak, so you must keep it.
  ///
  /// A new delegate gets the calls that wait.
  public weak var asyncDelegate: (any PusherAsyncDelegate)? {
    get { state.withLock { $0.asyncDelegate } }
    set { state.withLock { $0.asyncDelegate = newValue } }
  }

  /// Reason why the client makes no further attempt; `nil` if it makes one, or was disconnected.
  var finalFailure: (any Error)? {
    state.withLock { $0.connectionState == .disconnected ? $0.failure : nil }
  }

  func tell(_ notice: @autoclosure () -> DelegateNotice) {
    let (delegate, asyncDelegate) = state.withLock { ($0.delegate, $0.asyncDelegate) }
    guard delegate != nil || asyncDelegate != nil else { return }
    let notice = notice()
    if asyncDelegate != nil { noticeQueue()?.add(notice) }
    if let delegate { notice.tell(delegate, of: self) }
  }

  /// Returns the queue of the asynchronous delegate; `nil` after the client's end.
  private func noticeQueue() -> DelegateQueue? {
    notices.withLock { queue in
      if queue == nil, !state.withLock({ $0.isShutDown }) { queue = DelegateQueue(of: self) }
      return queue
    }
  }

  /// Returns this client's presence member, with ``AuthMethod/inline(secret:)``; `nil` for the
  /// socket ID.
  ///
  /// The callback thread calls it for each subscription of a presence channel.
  public var userDataFetcher: (@Sendable () -> PusherPresenceChannelMember)? {
    get { state.withLock { $0.userDataFetcher } }
    set { state.replace(\.userDataFetcher, with: newValue) }
  }

  /// Sends a client event on `channel`; same as
  /// ``PusherChannel/trigger(eventName:data:)-(_,JSONValue)``.
  public func sendEvent(
    event: String, data: JSONValue, channel: PusherChannel
  ) throws(ClientEventError) { try channel.trigger(eventName: event, data: data) }

  // MARK: Retries, read by `connect()`

  /// Maximum number of failed attempts in a row; `nil` for no limit, as in PusherSwift since 6.0.
  ///
  /// The count restarts after a connection of five seconds. The initial value is from
  /// ``PusherClientOptions/retries``; ``RetrySettings/pusherSwift`` has the README's six.
  public var reconnectAttemptsMax: Int? {
    get { options.retries.reconnectAttemptsMax }
    set { state.withLock { $0.place.options.retries.reconnectAttemptsMax = newValue } }
  }

  /// Maximum delay between two attempts, in seconds; default: 120, `nil` for no limit.
  public var maxReconnectGapInSeconds: Double? {
    get { options.retries.maxReconnectGap?.inSeconds }
    set {
      state.withLock { $0.place.options.retries.maxReconnectGap = newValue.map(Self.duration) }
    }
  }

  /// Minimum delay, from which longer delays grow; default: 1 s, at least 10 ms.
  public var reconnectDelay: Duration {
    get { options.retries.reconnectDelay }
    set {
      state.withLock { $0.place.options.retries.reconnectDelay = max(newValue, .milliseconds(10)) }
    }
  }

  /// Maximum time for the answer to a ping before the connection counts as lost; default: 30 s.
  public var pongResponseTimeout: Duration {
    get { options.retries.pongResponseTimeout }
    set { state.withLock { $0.place.options.retries.pongResponseTimeout = newValue } }
  }

  /// ``pongResponseTimeout`` in seconds, under PusherSwift's name.
  public var pongResponseTimeoutInterval: Double {
    get { pongResponseTimeout.inSeconds }
    set { pongResponseTimeout = Self.duration(newValue) }
  }

  /// ``PusherClientOptions/activityTimeout`` in seconds, under PusherSwift's name; default: 120.
  public var activityTimeoutInterval: Double {
    get { (options.activityTimeout ?? PusherClientOptions.standardActivityTimeout).inSeconds }
    set { state.withLock { $0.place.options.activityTimeout = Self.duration(newValue) } }
  }

  /// Returns `seconds` as a duration from zero to a year; NaN gives zero.
  private static func duration(_ seconds: Double) -> Duration {
    seconds.isNaN ? .zero : min(.seconds(min(max(seconds, 0), 1e9)), RetrySettings.longestGap)
  }
}

/// State of a connection, in PusherSwift's order and with its numbers.
public enum ConnectionState: Int, Sendable, CaseIterable {
  /// The first connection since `connect()` is in progress.
  case connecting
  /// The server has greeted the socket.
  case connected
  /// `disconnect()` was called, and the socket is closing.
  case disconnecting
  /// There is no connection; only `connect()` makes one.
  case disconnected
  /// The connection or an attempt failed, and another attempt follows or is in progress.
  case reconnecting

  /// Returns the name of the state, such as `"connecting"`.
  public func stringValue() -> String { "\(self)" }
}

extension PusherConnection {
  var wantedChannels: NameTable<PusherChannel> { state.withLock { $0.channels } }

  func channel(_ name: String) -> PusherChannel? { state.withLock { $0.channels[name] } }

  /// Returns the wanted channel with this name; `prepare` runs before a subscription of its kind.
  func subscribe(
    _ name: String, auth: PusherAuth? = nil, prepare: (PusherPresenceChannel) -> Void = { _ in }
  ) -> PusherChannel {
    let problem =
      UserChannel.userID(channelName: name) == nil
      ? ChannelName.problem(in: name) : "sign in to subscribe to the channel of a user"
    if let problem { return refuse(make(name, problem)) }
    let channel = state.withLock { state in
      if let channel = state.channels[name] { return channel }
      let channel = make(name)
      if !state.isShutDown { state.channels[name] = channel }
      return channel
    }
    if let auth { channel.auth = auth }
    if let presence = channel as? PusherPresenceChannel { prepare(presence) }
    post { $0.subscribe(channel) }
    return channel
  }

  /// Returns a presence channel; a name with another prefix gives a failed channel.
  func subscribePresence(
    _ name: String, auth: PusherAuth? = nil, prepare: (PusherPresenceChannel) -> Void
  ) -> PusherPresenceChannel {
    // A channel of another kind must not be requested.
    if ChannelKind(channelName: name) == .presence,
      let channel = subscribe(name, auth: auth, prepare: prepare) as? PusherPresenceChannel
    {
      return channel
    }
    return refuse(
      PusherPresenceChannel(
        name: name, connection: self,
        problem: "'\(name)' is not a presence channel: its name does not begin with presence-"))
  }

  private func refuse<Channel: PusherChannel>(_ channel: Channel) -> Channel {
    state.withLock { if !$0.isShutDown { $0.refused.append(channel) } }
    post { $0.reportRefused() }
    return channel
  }

  private func make(_ name: String, _ problem: String? = nil) -> PusherChannel {
    ChannelKind(channelName: name) == .presence
      ? PusherPresenceChannel(name: name, connection: self, problem: problem)
      : PusherChannel(name: name, connection: self, problem: problem)
  }

  func unsubscribe(_ channel: PusherChannel) {
    let isKnown = state.withLock { state in
      guard state.channels[channel.name] === channel else { return false }
      state.channels[channel.name] = nil
      return true
    }
    guard isKnown else { return }
    channel.end()
    post { $0.unsubscribe(channel) }
  }

  func unsubscribeAll() {
    for channel in state.replace(\.channels, with: NameTable()).elements {
      channel.end()
      post { $0.unsubscribe(channel) }
    }
  }
}

extension PusherConnection {
  /// Enqueues an order for the client's thread, unless the client is gone.
  ///
  /// Without a thread the order is not needed: `connect()` reads all wanted channels and refused
  /// subscriptions itself.
  func post(_ order: @escaping @Sendable (ClientDriver) -> Void) {
    if !isShutDown { thread.post { [self] in carryOut(order, on: $0) } }
  }

  private func carryOut(_ order: (ClientDriver) -> Void, on driver: ClientDriver) {
    deliverChanges()
    order(driver)
  }

  var isShutDown: Bool { state.withLock { $0.isShutDown } }

  func takeRefused() -> [PusherChannel] { state.replace(\.refused, with: []) }

  /// Stops or resumes reading for one reader.
  func hold(reading isBehind: Bool) {
    if readers.change(isBehind) { post { $0.read() } }
  }

  func trim() { post { $0.trim() } }

  // MARK: Connecting

  /// Same as ``Pusher/connect()``; works from any state but `connecting` and `connected`.
  public func connect() {
    let generation = state.withLock { state -> Int? in
      guard !state.isShutDown, ![.connecting, .connected].contains(state.connectionState)
      else { return nil }
      state.generation += 1
      // A client that is reconnecting only tries sooner: the last reason is still the reason.
      if state.connectionState != .reconnecting { state.failure = nil }
      liveGeneration.store(state.generation, ordering: .relaxed)
      Self.change(&state, to: .connecting)
      return state.generation
    }
    guard let generation else { return }
    thread.post { [self] in
      carryOut({ $0.connect(generation) }, on: $0)
    } begin: { [self] in
      ClientDriver(loop: $0, connection: self)
    } failed: { [self] in
      threadFailed($0, generation)
    }
  }

  /// Same as ``Pusher/disconnect()``.
  public func disconnect() {
    // Comes first: the end of a slow sequence lets the client handle what it has already read.
    liveGeneration.store(0, ordering: .relaxed)
    endSequences()
    let isNeeded = state.withLock { state -> Bool in
      state.failure = nil
      if [.disconnected, .disconnecting].contains(state.connectionState) { return false }
      liveGeneration.store(0, ordering: .relaxed)
      Self.change(&state, to: .disconnecting)
      return true
    }
    if isNeeded { post { $0.disconnect() } }
  }

  /// Ends the sequences of events, because the client will not reconnect on its own.
  private func endSequences() {
    bindings.endSequences()
    for channel in state.withLock({ $0.channels.elements }) { channel.bindings.endSequences() }
    userBindings.endSequences()
    trim()
  }

  /// Reports the failure on this thread, since there is no callback thread.
  private func threadFailed(_ reason: String, _ generation: Int) {
    let failure = PusherConfigurationError.system(reason)
    if change(to: .disconnected, generation: generation, because: failure) {
      tell(.failed(failure, willRetry: false))
    }
  }

  func shutDown() {
    let (channels, observers) = state.withLock { state in
      state.isShutDown = true
      liveGeneration.store(0, ordering: .relaxed)
      Self.change(&state, to: .disconnected)
      state.changes = []
      (state.socketId, state.failure) = (nil, nil)
      defer { (state.channels, state.observers) = (NameTable(), [:]) }
      return (state.channels, state.observers.values)
    }
    for observer in observers { observer.finish() }
    for channel in channels.elements { channel.end() }
    bindings.unbindAll()
    noteUserLost()
    userBindings.unbindAll()
    watchlist.unbindAll()
    notices.withLock { $0 }?.end()
    userDataFetcher = nil
    _ = takeRefused()
    thread.post { $0.retire() }
  }

  // MARK: State

  private static func change(_ state: inout Status, to new: ConnectionState) {
    guard state.connectionState != new else { return }
    state.changes.append((state.connectionState, new))
    state.connectionState = new
    for observer in state.observers.values { observer.add(new) }
  }

  /// Changes the state after the attempt `generation`, unless a newer call has replaced it.
  @discardableResult func change(
    to new: ConnectionState, generation: Int, socketId: String? = nil,
    because failure: (any Error)? = nil
  ) -> Bool {
    // Before the state changes: a caller that sees the state may already request a new sequence.
    let endsSequences = state.withLock { state -> Bool in
      guard new == .disconnected, state.gaveUp(generation) else { return false }
      // A reader may ask for the cause as soon as its sequence ends.
      state.failure = failure
      return true
    }
    if endsSequences { endSequences() }
    let isCurrent = state.withLock { state in
      guard state.generation == generation, !state.isShutDown,
        new == .disconnected || state.connectionState != .disconnecting
      else { return false }
      state.socketId = socketId
      // While an attempt runs, the reason of the last one is still the reason.
      let isTrying = new == .connecting || new == .reconnecting
      state.failure = failure ?? (isTrying ? state.failure : nil)
      if new == .disconnected { liveGeneration.store(0, ordering: .relaxed) }
      Self.change(&state, to: new)
      return true
    }
    if isCurrent, new == .disconnected, let failure {
      for channel in wantedChannels.elements { channel.noteGaveUp(failure) }
    }
    deliverChanges()
    return isCurrent
  }

  /// Reports state changes to the delegate; only on the callback thread.
  func deliverChanges() {
    while true {
      let changes = state.replace(\.changes, with: [])
      if changes.isEmpty { return }
      for change in changes { tell(.changed(from: change.old, to: change.new)) }
    }
  }
}

extension PusherConnection {
  /// Moves to another cluster or host; channels, bindings and other options stay.
  ///
  /// Replaces port (1 to 65535; `nil` for 443 with TLS and 80 without) and path too, which belong
  /// to the host. See ``switch(to:key:)``.
  public func `switch`(
    to host: PusherHost, port: Int? = nil, path: String? = nil
  ) throws(PusherConfigurationError) {
    var options = options
    options.host = host
    options.port = port
    options.path = path
    try self.switch(to: options)
  }

  /// Replaces the options, and the app if a key is given; channels and bindings stay.
  ///
  /// ```swift
  /// var options = pusher.connection.options
  /// options.authMethod = .endpoint(authEndpoint: "https://example.com/pusher/auth")
  /// try pusher.connection.switch(to: options, key: "ANOTHER_KEY")
  /// ```
  ///
  /// Returns immediately. A connected client goes to ``ConnectionState/reconnecting`` and connects
  /// to the new place. It authorises and subscribes all channels there, signs the user in, and
  /// reports the gap to the delegate. A connecting or waiting client makes its next attempt there
  /// immediately, a disconnected client at its next `connect()`. If the new place cannot be
  /// reached, retries follow as after any loss; the client does not return to the former place.
  /// `connectionWillReconnect` is not called, since you have decided already.
  /// ``PusherClientOptions/runtime`` cannot change.
  ///
  /// - Throws: ``PusherConfigurationError`` for settings that cannot work; nothing changes then.
  public func `switch`(
    to options: PusherClientOptions, key: String? = nil
  ) throws(PusherConfigurationError) {
    try options.check(key: key ?? self.key)
    state.withLock { state in
      let runtime = state.place.options.runtime
      state.place.options = options
      state.place.options.runtime = runtime
      if let key { state.place.key = key }
      state.place.number += 1
    }
    post { $0.move() }
  }
}

extension PusherClientOptions {
  /// Rejects options that cannot work, including unreadable files.
  fileprivate func check(key: String) throws(PusherConfigurationError) {
    let destination = try destination(key: key)
    _ = try sessionOptions()
    guard destination.url.isSecure else { return }
    do throws(TLSError) {
      _ = try TLSContext.client(destination.tls, environment: destination.trust)
    } catch { throw .tls("\(error)") }
  }
}

/// Channels that a client wants.
public struct PusherChannels: Sendable {
  private let connection: PusherConnection

  init(_ connection: PusherConnection) { self.connection = connection }

  /// Channels by name, as of now; names are ASCII, so that `String` keys distinguish them.
  public var channels: [String: PusherChannel] {
    Dictionary(connection.wantedChannels.elements.map { ($0.name, $0) }) { $1 }
  }

  /// Returns the channel with this name, prefix included; `nil` if it is not wanted.
  public func find(name: String) -> PusherChannel? { connection.channel(name) }

  /// Returns the presence channel with this name, prefix included; `nil` if there is none.
  public func findPresence(name: String) -> PusherPresenceChannel? {
    connection.channel(name) as? PusherPresenceChannel
  }

  /// Channels that the server has confirmed on the current connection.
  public var subscribed: [PusherChannel] {
    connection.wantedChannels.elements.filter(\.isSubscribed)
  }
}
