/// A client of server-sent events (HTML Living Standard section 9.2).
///
/// ```swift
/// let source = EventSource(url: "https://example.com/stream")
/// source.addEventListener("price") { id, event, data in handle(data) }
/// source.connect()
/// ```
///
/// The source has its own thread, or shares a ``PusherRuntime``. The thread does the network work
/// and calls all handlers, one at a time and in order, without a lock. A blocked handler delays
/// this source but loses nothing. All members can be used from any thread.
///
/// After its end or loss the stream is requested again, from the last event with an ID, as
/// ``EventSourceSettings/reconnect`` says. With ``ReconnectPolicy/Mode/never`` you decide in
/// ``onComplete(_:)``. The connection closes with the last reference to the source. The source
/// keeps its handlers, which must capture it weakly, `[weak source] in`.
public final class EventSource: Sendable {
  private let core: EventSourceCore

  /// Creates a source that is not connected.
  ///
  /// An invalid `url` fails when connecting. Credentials and Host in `headers` do not follow a
  /// redirect to another server. `Last-Event-ID` sets the start, as in `connect(lastEventId:)`; IDs
  /// of events replace it.
  public init(
    url: String, headers: [String: String] = [:],
    settings: EventSourceSettings = EventSourceSettings()
  ) { core = EventSourceCore(url: url, headers: headers, settings: settings) }

  deinit { core.shutDown() }

  /// URL of the stream.
  public var url: String { core.url }
  /// Header fields of every request.
  public var headers: [String: String] { core.headers }
  /// Delay before a new attempt, in milliseconds: the stream's last value, initially 3000.
  public var retryTime: Int { core.state.withLock { $0.retryTime } }
  /// ID of the last event; `nil` if no event since `connect` had one.
  public var lastEventId: String? { core.state.withLock { $0.lastEventID } }
  /// Reason of the last loss or failed attempt.
  ///
  /// `nil` while a stream is open, after `connect` and ``disconnect()``, and after a stream that
  /// the server ended properly. So it tells why a sequence of ``messages(buffering:)`` or
  /// ``feed(buffering:)`` has ended.
  public var failure: EventSourceError? { core.state.withLock { $0.failure } }
  /// State of the source.
  public var readyState: EventSourceState { core.state.withLock { $0.readyState } }

  /// Requests the stream, after the event `lastEventId` if given; does nothing unless closed.
  public func connect(lastEventId: String? = nil) { core.connect(lastEventID: lastEventId) }

  /// Closes the stream from any state; no attempt or event follows.
  public func disconnect() { core.disconnect() }

  /// Types of events with listeners, sorted.
  public func events() -> [String] { core.state.withLock { $0.listeners.names.sorted() } }

  /// Calls `handler` when a stream begins, also after each reconnect.
  public func onOpen(_ handler: @escaping @Sendable () -> Void) {
    core.state.withLock { $0.openHandlers.append(handler) }
  }

  /// Calls `handler` when the source is closed and does not reconnect.
  ///
  /// The arguments are the status of the last response, whether the standard allows another
  /// request, and the error. There is no error after ``disconnect()`` and after a 204.
  public func onComplete(
    _ handler:
      @escaping @Sendable (_ status: Int?, _ shouldReconnect: Bool?, _ error: EventSourceError?) ->
      Void
  ) { core.state.withLock { $0.completeHandlers.append(handler) } }

  /// Calls `handler` for each event of the type `message`, which is the default type.
  public func onMessage(
    _ handler: @escaping @Sendable (_ id: String?, _ event: String?, _ data: String?) -> Void
  ) { core.state.withLock { $0.messageHandlers.append(handler) } }

  /// Calls `handler` for each event of this type; a type may have several handlers.
  public func addEventListener(
    _ event: String,
    handler: @escaping @Sendable (_ id: String?, _ event: String?, _ data: String?) -> Void
  ) { core.state.withLock { $0.listeners[event, default: []].append(handler) } }

  /// Removes the handlers of this type, but not those of ``onMessage(_:)``.
  public func removeEventListener(_ event: String) {
    core.state.withLock { $0.listeners[event] = nil }
  }

  /// All events as a sequence, until the source is closed; ``failure`` then has the reason.
  ///
  /// Call this before `connect`. Cancelling the task that reads closes the source, unless another
  /// sequence, a listener or ``onMessage(_:)`` gets its events. By default a slow reader loses
  /// events. The sequence skips the places where events are missing: ``onDropped(_:)`` and
  /// ``onGap(_:)`` report them, and ``feed(buffering:)`` marks them.
  public func messages(buffering: PusherBuffering = .newest(1024)) -> EventSourceMessages {
    EventSourceMessages(core.messages(buffering, reportsDrops: true))
  }

  /// All events as a sequence that also marks losses and gaps; see ``PusherFeedElement``.
  public func feed(buffering: PusherBuffering = .newest(1024)) -> EventSourceFeed {
    EventSourceFeed(core.messages(buffering, reportsDrops: false))
  }

  /// Calls `handler` after the stream was requested again, before further events.
  ///
  /// A server that keeps its events sends those of the gap. Others do not, and they are missing.
  public func onGap(_ handler: @escaping @Sendable (_ gap: PusherGap) -> Void) {
    core.state.withLock { $0.gapHandlers.append(handler) }
  }

  /// Calls `handler` with the number of events that slow readers of ``messages(buffering:)`` did
  /// not get since the last call.
  ///
  /// The first call comes immediately, further ones at most once a second.
  public func onDropped(_ handler: @escaping @Sendable (_ count: Int) -> Void) {
    core.state.withLock { $0.dropHandlers.append(handler) }
  }
}

/// State of an event source, with the numbers of the standard.
public enum EventSourceState: Int, Sendable, CaseIterable {
  /// The stream is requested, or will be after a delay.
  case connecting = 0
  /// Events may arrive.
  case open = 1
  /// There is no stream; only `connect` requests one.
  case closed = 2
}

/// Event of an ``EventSource``.
public struct EventSourceMessage: Sendable, Equatable {
  /// Last event ID, set by this event or an earlier one; `nil` if there is none.
  public let id: String?
  /// Event type; `message` if the event names none.
  public let event: String
  /// Data lines, joined by line feeds.
  public let data: String
}

/// Request and time limits of an ``EventSource``.
public struct EventSourceSettings: Sendable {
  /// HTTP method.
  public var method = "GET"
  /// Body of the request.
  public var body: [UInt8] = []
  /// Retries; the maximum delay also limits the delay that a server may ask for.
  public var reconnect = ReconnectPolicy()
  /// Delay before a new attempt, until the stream sets one.
  public var reconnectionTime = Duration.seconds(3)
  /// Maximum silence, comments included, before the stream is closed and requested again.
  public var silenceTimeout: Duration?
  /// Maximum time from name resolution to the response head, redirects included.
  public var connectTimeout = Duration.seconds(10)
  /// Maximum size of one event's data, in bytes; a larger event ends the source.
  public var maximumEventSize = 16 << 20
  /// Allows compression; some servers then delay events.
  public var acceptsCompression = false
  /// Checks of the server's certificate, and the client's certificate.
  public var tls = TLSConfiguration()
  /// Proxies and environment variables; neither is used by default.
  public var network = PusherNetwork()
  /// Thread shared with other clients and sources; `nil` for an own thread.
  public var runtime: PusherRuntime?

  /// Creates settings that fit most servers.
  public init() {}

  /// PEM file with the certificates to trust instead of the system's; same as in ``tls``.
  public var caFile: String? {
    get { tls.caFile }
    set { tls.caFile = newValue }
  }
}

/// Reason why an event stream ended or could not be opened.
public typealias EventSourceError = ConnectionLoss
