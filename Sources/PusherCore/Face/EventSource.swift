/// A client of server-sent events (HTML Living Standard section 9.2).
///
/// ```swift
/// let source = EventSource(url: "https://example.com/stream")
/// source.addEventListener("price") { id, event, data in handle(data) }
/// source.connect()
/// ```
///
/// **Threads.** Everything can be called from any thread at any time, from handlers too. The source has one thread, its
/// own unless it shares a ``PusherRuntime``, which does its network work and calls all handlers, one at a time and in
/// the order of what happened; no lock is held meanwhile. A handler that blocks holds up everything of this source but loses nothing: what comes meanwhile
/// waits in the socket. Handlers do not throw.
///
/// **Reconnecting.** A stream that ends or is lost is requested again, after the last event that had an ID, as
/// ``EventSourceSettings/reconnect`` says; with the mode ``ReconnectPolicy/Mode/never`` the owner decides in
/// ``onComplete(_:)``.
///
/// **Life.** The source lives as long as its last reference; with it the connection is closed. Handlers are kept as long: one
/// that refers to its own source keeps it open forever, so let handlers capture the source weakly, `[weak source] in`.
public final class EventSource: Sendable {
  private let core: EventSourceCore

  /// A source that is not connected yet.
  ///
  /// - Parameters:
  ///   - url: An `http` or `https` URL; any other text fails when connecting.
  ///   - headers: Sent with every request. credentials and Host do not follow a redirect to another server. A
  ///     `Last-Event-ID` says where to begin, as `connect(lastEventId:)` does; the ids of events replace it.
  ///   - settings: Everything else.
  public init(
    url: String, headers: [String: String] = [:],
    settings: EventSourceSettings = EventSourceSettings()
  ) {
    core = EventSourceCore(url: url, headers: headers, settings: settings)
  }

  deinit {
    core.shutDown()
  }

  /// Where the stream is.
  public var url: String { core.url }
  /// What is sent with every request.
  public var headers: [String: String] { core.headers }
  /// The wait before a new attempt, in milliseconds: what the stream has asked for last, 3000 before that.
  public var retryTime: Int { core.state.withLock { $0.retryTime } }
  /// The ID of the last event that came; `nil` when none has had one since `connect`.
  public var lastEventId: String? { core.state.withLock { $0.lastEventID } }
  /// The state of the source.
  public var readyState: EventSourceState { core.state.withLock { $0.readyState } }

  /// Requests the stream, after the event `lastEventId` if one is given.
  ///
  /// It returns at once. Nothing happens unless the source is closed.
  public func connect(lastEventId: String? = nil) {
    core.connect(lastEventID: lastEventId)
  }

  /// Closes the stream, from any state; no attempt and no event follow, and the handlers of ``onComplete(_:)`` are told.
  public func disconnect() {
    core.disconnect()
  }

  /// The types of events that are listened to, sorted.
  public func events() -> [String] {
    core.state.withLock { $0.listeners.names.sorted() }
  }

  /// Calls `handler` whenever a stream begins, also after each reconnect.
  public func onOpen(_ handler: @escaping @Sendable () -> Void) {
    core.state.withLock { $0.openHandlers.append(handler) }
  }

  /// Calls `handler` when the source is closed and does not reconnect.
  ///
  /// It gets the status of the last answer, if there was one; whether the standard would have the source ask again; and
  /// what went wrong, if anything did. After ``disconnect()`` there is no error; after 204 the status says why.
  public func onComplete(
    _ handler:
      @escaping @Sendable (
        _ status: Int?, _ shouldReconnect: Bool?, _ error: EventSourceError?
      ) -> Void
  ) {
    core.state.withLock { $0.completeHandlers.append(handler) }
  }

  /// Calls `handler` for each event of the type `message`, the type of events that name none.
  public func onMessage(
    _ handler: @escaping @Sendable (_ id: String?, _ event: String?, _ data: String?) -> Void
  ) {
    core.state.withLock { $0.messageHandlers.append(handler) }
  }

  /// Calls `handler` for each event of this type; a type may have several handlers.
  public func addEventListener(
    _ event: String,
    handler: @escaping @Sendable (_ id: String?, _ event: String?, _ data: String?) -> Void
  ) {
    core.state.withLock { $0.listeners[event, default: []].append(handler) }
  }

  /// Drops the handlers of this type; those of ``onMessage(_:)`` stay.
  public func removeEventListener(_ event: String) {
    core.state.withLock { $0.listeners[event] = nil }
  }

  /// The events of every type as a sequence, from now until the source is closed.
  ///
  /// ```swift
  /// for await case .event(let message) in source.messages() { handle(message.data) }
  /// ```
  ///
  /// Losses and gaps are elements too: see ``PusherStreamElement``.
  ///
  /// - Parameter buffering: What happens to events that come faster than they are read.
  public func messages(buffering: PusherBuffering = .newest(1024)) -> EventSourceMessages {
    EventSourceMessages(core.messages(buffering))
  }

  /// The same with a buffer of this size, in which a new event takes the place of the oldest.
  @available(*, deprecated, message: "use messages(buffering: .newest(limit))")
  public func messages(limit: Int) -> EventSourceMessages {
    messages(buffering: .newest(limit))
  }
}

/// The state of an event source, with the numbers of the standard.
public enum EventSourceState: Int, Sendable, CaseIterable {
  /// The stream is asked for, or will be after a wait.
  case connecting = 0
  /// Events may come.
  case open = 1
  /// There is no stream; only another `connect` requests one.
  case closed = 2
}

/// One event as the library's users get it.
public struct EventSourceMessage: Sendable, Equatable {
  /// The last event ID, set by this event or an earlier one; `nil` when there is none.
  public let id: String?
  /// The type, `message` for an event that names none.
  public let event: String
  /// The data lines with a line feed between them.
  public let data: String
}

/// The request and the time limits of an ``EventSource``.
public struct EventSourceSettings: Sendable {
  /// GET unless set.
  public var method = "GET"
  /// Sent with the request.
  public var body: [UInt8] = []
  /// When a stream is asked for again, and the longest wait, which also bounds what a server may ask for.
  public var reconnect = ReconnectPolicy()
  /// The wait before a new attempt until the stream names one.
  public var reconnectionTime = Duration.seconds(3)
  /// A stream that is silent for this time, without even a comment, is closed and requested again.
  public var silenceTimeout: Duration?
  /// From the name's resolution to the answer's head, redirects included; events have no time limit.
  public var connectTimeout = Duration.seconds(10)
  /// The most bytes of one event's data; a larger event ends the source.
  public var maximumEventSize = 16 << 20
  /// Whether the server may compress; some servers hold events back for that.
  public var acceptsCompression = false
  /// How the server's certificate is checked, and what is shown to it.
  public var tls = TLSConfiguration()
  /// Proxies, and the environment variables to use; neither unless given.
  public var network = PusherNetwork()
  /// The thread that the source shares with others; `nil` for one of its own.
  public var runtime: PusherRuntime?

  /// The settings that fit most servers.
  public init() {}

  /// A file with the certificates to trust (PEM), in place of the system's: that of ``tls``.
  public var caFile: String? {
    get { tls.caFile }
    set { tls.caFile = newValue }
  }
}

/// Why an event stream ended or could not be opened.
public typealias EventSourceError = ConnectionLoss
