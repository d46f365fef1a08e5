internal import Synchronization

/// The connection of a ``Pusher``: its state, its delegate and its retries.
///
/// It can be used from any thread, and works while its ``Pusher`` lives. Changed retry settings
/// apply from the next `connect()`.
public final class PusherConnection: Sendable {
  let bindings = BindingList()
  let userState = UserState()
  let state: Locked<Status>
  let thread: LoopThread
  let logger: (any PusherLogger)?
  let metrics: (any PusherMetrics)?
  /// ``Status/generation`` whose events are dispatched, 0 for none; read for every event.
  let liveGeneration = Atomic<Int>(0)
  let readingHold = ReadingHold()
  let drops = DropCounter()
  private let notices = Locked<DelegateQueue?>(nil)

  struct Status {
    var place: Target
    var connectionState = ConnectionState.disconnected
    /// Number of `connect()` calls; identifies results of an earlier call.
    var generation = 0
    var isShutDown = false
    var thread = ThreadOrders<ClientOrder>()
    var changes: [StateChange] = []
    var observers: [ObjectIdentifier: EventQueue<ConnectionState>] = [:]
    /// Reason of the last loss or failed attempt; `nil` if a connection or `disconnect()` followed.
    var failure: (any Error)?
    var channels = NameTable<PusherChannel>()
    var socketId: String?
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

  struct StateChange {
    let old: ConnectionState
    let new: ConnectionState
  }

  init(key: String, options: PusherClientOptions) {
    thread = options.runtime?.thread ?? LoopThread(name: "pusher-client")
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

  func endNotices() { notices.withLock { $0 }?.end() }

  /// Returns this client's presence member, with ``AuthMethod/inline(secret:)``; `nil` for the
  /// socket ID.
  ///
  /// The callback thread calls it for each subscription of a presence channel.
  public var userDataFetcher: (@Sendable () -> PusherPresenceChannelMember)? {
    get { state.withLock { $0.userDataFetcher } }
    set {
      let former = state.withLock { state in
        defer { state.userDataFetcher = newValue }
        return state.userDataFetcher
      }
      // The former closure is released here, outside the lock.
      withExtendedLifetime(former) {}
    }
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
