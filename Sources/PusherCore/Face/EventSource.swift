/// A client of server-sent events (HTML Living Standard section 9.2).
///
/// ```swift
/// let source = EventSource(url: "https://example.com/stream")
/// source.addEventListener("price") { id, event, data in handle(data) }
/// source.connect()
/// ```
///
/// **Threads.** Everything can be called from any thread at any time, from handlers too. The source has one thread of
/// its own, which does its network work and calls all handlers, one at a time and in the order of what happened; no lock
/// is held meanwhile. A handler that blocks holds up everything of this source but loses nothing: what comes meanwhile
/// waits in the socket. Handlers do not throw.
///
/// **Reconnecting.** A stream that ends or is lost is asked for again, behind the last event that had an ID, as
/// ``EventSourceSettings/reconnect`` says; with the mode ``ReconnectPolicy/Mode/never`` the owner decides in
/// ``onComplete(_:)``.
///
/// **Life.** The source lives as long as its last reference; with it the connection is closed.
public final class EventSource: Sendable {
  private let core: EventSourceCore

  /// A source that is not connected yet.
  ///
  /// - Parameters:
  ///   - url: An `http` or `https` URL; one that is none fails when connecting.
  ///   - headers: Sent with every request; those for another server than the first's eyes do not follow a redirect. A
  ///     `Last-Event-ID` says where to begin, as `connect(lastEventId:)` does, and gives way to the events' own.
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
  /// How the source stands.
  public var readyState: EventSourceState { core.state.withLock { $0.readyState } }

  /// Asks for the stream, behind the event `lastEventId` if one is given.
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

  /// Has `handler` called whenever a stream begins, after each reconnect too.
  public func onOpen(_ handler: @escaping @Sendable () -> Void) {
    core.state.withLock { $0.openHandlers.append(handler) }
  }

  /// Has `handler` called when the source is closed and asks no more.
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

  /// Has `handler` called for each event of the type `message`, which is that of events without one.
  public func onMessage(
    _ handler: @escaping @Sendable (_ id: String?, _ event: String?, _ data: String?) -> Void
  ) {
    core.state.withLock { $0.messageHandlers.append(handler) }
  }

  /// Has `handler` called for each event of this type; a type may have several handlers.
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
  /// - Parameter limit: How many events may wait for a slow reader; then the oldest is dropped for a new one.
  public func messages(limit: Int = 1024) -> EventSourceMessages {
    EventSourceMessages(core, limit: limit)
  }
}

/// How an event source stands, with the numbers of the standard.
public enum EventSourceState: Int, Sendable, CaseIterable {
  /// The stream is asked for, or will be after a wait.
  case connecting = 0
  /// Events may come.
  case open = 1
  /// There is no stream, and none will be asked for without another `connect`.
  case closed = 2
}

/// One event as the library's users get it.
public struct EventSourceMessage: Sendable, Equatable {
  /// The last event ID, whether this event named it or an earlier one; `nil` when there is none.
  public let id: String?
  /// The type, `message` for an event that names none.
  public let event: String
  /// The data lines with a line feed between them.
  public let data: String
}

/// How an ``EventSource`` asks and how long it waits.
public struct EventSourceSettings: Sendable {
  /// GET unless set.
  public var method = "GET"
  /// Sent with the request.
  public var body: [UInt8] = []
  /// When a stream is asked for again, and the longest wait, which also bounds what a server may ask for.
  public var reconnect = ReconnectPolicy()
  /// The wait before a new attempt until the stream names one.
  public var reconnectionTime = Duration.seconds(3)
  /// A stream on which nothing comes for this time, not even a comment, is given up and asked for again.
  public var silenceTimeout: Duration?
  /// From the name's resolution to the answer's head, redirects included; its events may take as long as they like.
  public var connectTimeout = Duration.seconds(10)
  /// Bytes of one event's data at most; a larger one ends the source.
  public var maximumEventSize = 16 << 20
  /// Whether the server is told that it may compress; some hold events back for that.
  public var acceptsCompression = false
  /// A file with the certificates to trust (PEM), in place of the system's.
  public var caFile: String?

  /// The settings that fit most servers.
  public init() {}
}

/// Why an event stream ended, or never came to be: what ends any connection.
public typealias EventSourceError = ConnectionLoss
