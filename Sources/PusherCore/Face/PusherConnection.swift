internal import Synchronization

/// The connection of a ``Pusher``: its state, its delegate, and how it is renewed.
///
/// It can be used from any thread. It works for as long as its ``Pusher`` lives.
public final class PusherConnection: Sendable {
  let bindings = BindingList()
  let userState = UserState()
  let state: Locked<Status>
  /// The client's own thread, or that of its runtime.
  let thread: LoopThread
  let logger: (any PusherLogger)?
  let metrics: (any PusherMetrics)?
  /// The ``Status/generation`` whose events are handed out, 0 for none; read for every event.
  let liveGeneration = Atomic<Int>(0)
  /// Whether sequences or the asynchronous delegate are behind.
  let readingHold = ReadingHold()
  private let notices = DelegateQueue()

  /// The state that all threads share.
  struct Status {
    var place: Target
    var connectionState = ConnectionState.disconnected
    /// Counts the calls of `connect()`, so that results of an earlier call can be recognised.
    var generation = 0
    var isShutDown = false
    /// Orders for the callback thread.
    var thread = ThreadOrders<ClientOrder>()
    /// State changes that wait to be told to the delegate.
    var changes: [StateChange] = []
    /// The readers of ``PusherConnection/states``.
    var observers: [ObjectIdentifier: EventQueue<ConnectionState>] = [:]
    /// Why there is no connection and no further attempt; `nil` when this side wanted that.
    var failure: (any Error)?
    var channels = NameTable<PusherChannel>()
    var socketId: String?
    var failedAttempts = 0
    var userDataFetcher: (@Sendable () -> PusherPresenceChannelMember)?
    weak var delegate: (any PusherDelegate)?
    weak var asyncDelegate: (any PusherAsyncDelegate)?

    /// Whether the attempt `generation` ends without a call of `disconnect()`.
    func gaveUp(_ generation: Int) -> Bool {
      switch connectionState {
      case .disconnected, .disconnecting: false
      case .connecting, .connected, .reconnecting: generation == self.generation
      }
    }
  }

  /// Which app, where and how.
  struct Target {
    var key: String
    var options: PusherClientOptions
    /// Counts the calls of `switch(to:)`, so that each is carried out once.
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

  /// The app's key.
  public var key: String { state.withLock { $0.place.key } }

  /// What counts now: what the client was made with, and what was changed since.
  public var options: PusherClientOptions { state.withLock { $0.place.options } }

  /// The state of the connection.
  public var connectionState: ConnectionState { state.withLock { $0.connectionState } }

  /// The server's name for the socket; `nil` while there is none.
  public var socketId: String? { state.withLock { $0.socketId } }

  /// The address of the socket, as PusherSwift has it; `nil` while the options name none that can be.
  public var url: String? {
    let place = state.withLock { $0.place }
    guard let url = try? place.options.destination(key: place.key).url else { return nil }
    return url.place + (url.query.map { "?" + $0 } ?? "")
  }

  /// How many attempts in a row have failed; 0 once the server has greeted the socket.
  public var reconnectAttempts: Int { state.withLock { $0.failedAttempts } }

  /// The channels that are wanted.
  public var channels: PusherChannels { PusherChannels(self) }

  /// The delegate; referred to weakly, so you must keep it.
  public weak var delegate: (any PusherDelegate)? {
    get { state.withLock { $0.delegate } }
    set { state.withLock { $0.delegate = newValue } }
  }

  /// The delegate with asynchronous methods, which may be an actor; referred to weakly, so you must keep it.
  ///
  /// Another one is told what had not been told yet.
  public weak var asyncDelegate: (any PusherAsyncDelegate)? {
    get { state.withLock { $0.asyncDelegate } }
    set { state.withLock { $0.asyncDelegate = newValue } }
  }

  /// Tells the delegates, the asynchronous one later.
  func tell(_ notice: @autoclosure () -> DelegateNotice) {
    let (delegate, asyncDelegate) = state.withLock { ($0.delegate, $0.asyncDelegate) }
    guard delegate != nil || asyncDelegate != nil else { return }
    let notice = notice()
    if asyncDelegate != nil { notices.add(notice, of: self) }
    if let delegate { notice.tell(delegate, of: self) }
  }

  /// The client is gone.
  func endNotices() {
    notices.end()
  }

  /// Names this client's member on presence channels, with ``AuthMethod/inline(secret:)``; without it the socket's id
  /// is the member's.
  ///
  /// It is called on the callback thread, for each subscription of a presence channel.
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

  // MARK: Retries, read by `connect()`

  /// How many attempts in a row may fail before the client stays disconnected; `nil`, as in PusherSwift since 6.0, for
  /// no limit.
  ///
  /// They are counted anew once a connection has lasted five seconds. A new value counts from the next `connect()`.
  /// ``PusherClientOptions/retries`` says what counts at first; ``RetrySettings/pusherSwift`` has the six of its README.
  public var reconnectAttemptsMax: Int? {
    get { options.retries.reconnectAttemptsMax }
    set { state.withLock { $0.place.options.retries.reconnectAttemptsMax = newValue } }
  }

  /// The longest wait between two attempts, in seconds; 120 unless set, `nil` for no limit.
  ///
  /// A new value counts from the next `connect()`.
  public var maxReconnectGapInSeconds: Double? {
    get { options.retries.maxReconnectGap?.inSeconds }
    set {
      state.withLock { $0.place.options.retries.maxReconnectGap = newValue.map(Self.duration) }
    }
  }

  /// The shortest wait before an attempt, from which the longer ones grow; 1 s unless set, and at least 10 ms.
  ///
  /// <doc:Reconnecting> tells which attempts wait. A new value counts from the next `connect()`.
  public var reconnectDelay: Duration {
    get { options.retries.reconnectDelay }
    set {
      state.withLock { $0.place.options.retries.reconnectDelay = max(newValue, .milliseconds(10)) }
    }
  }

  /// How long the server may take to answer a ping before the connection counts as lost; 30 s unless set.
  ///
  /// A new value counts from the next `connect()`.
  public var pongResponseTimeout: Duration {
    get { options.retries.pongResponseTimeout }
    set { state.withLock { $0.place.options.retries.pongResponseTimeout = newValue } }
  }

  /// The duration of `seconds`, up to a year; a value that is not a number counts as zero.
  private static func duration(_ seconds: Double) -> Duration {
    seconds.isNaN ? .zero : min(.seconds(min(max(seconds, 0), 1e9)), RetrySettings.longestGap)
  }
}

/// The state of a connection, in PusherSwift's order and with its numbers.
public enum ConnectionState: Int, Sendable, CaseIterable {
  /// The first connection since `connect()` is being made.
  case connecting
  /// The server has greeted the socket.
  case connected
  /// `disconnect()` was called, and the socket is being closed.
  case disconnecting
  /// There is no connection; only another `connect()` makes one.
  case disconnected
  /// The connection, or an attempt to get one, was lost, and another attempt follows or is under way.
  case reconnecting

  /// The state's name, such as `"connecting"`.
  public func stringValue() -> String { "\(self)" }
}
