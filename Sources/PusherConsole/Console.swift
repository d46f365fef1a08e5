package import PusherCore
package import PusherServer

/// The console of a node: its page, its event stream and its calls.
///
/// All paths begin with `/console`; see docs/console.md. Only the loop's thread may use it.
package final class Console: ServerConsole {
  package static let path = ConsolePath.page
  package static let paths = [path] + ConsoleCall.calls.map { "\(path)/\($0.name)" }

  private unowned let host: any ConsoleHost
  private let options: ConsoleOptions
  private let access: ConsoleAccess
  private let instance = StreamInstance.unique()
  private let started = SystemClock.wall().rfc3339
  private var streams: [ConsoleStream] = []

  package init(_ options: ConsoleOptions, host: any ConsoleHost) {
    (self.options, self.host) = (options, host)
    access = ConsoleAccess(token: options.token)
    host.feed.keep(options.history)
  }

  // MARK: Streams

  package func stream(
    for request: HTTPRequestReader.Request, on connection: ServerConnection, at now: Instant
  ) -> (any ConnectionSocket)? {
    let head = request.head
    guard RequestTarget.path(of: head.target).isSame(as: Self.path + "/events"),
      head.method == "GET", access.refusal(head) == nil, let source = source(for: head)
    else { return nil }
    let stream = ConsoleStream(source, hello: hello, on: connection, at: now) { [weak self] ended in
      self?.streams.removeAll { $0 === ended }
    }
    streams.append(stream)
    return stream
  }

  /// Returns the entries after the ones that the reader has.
  private func source(for head: HTTPRequestHead) -> (any ConsoleSource)? {
    let last = head.headers["Last-Event-ID"].flatMap(instance.number)
    let wakeUp = host.loop.wakeUp
    guard let recording = options.recording else {
      let start = last.map { ServerFeed.Start.after($0) } ?? .oldest
      return LiveSource(host.feed, of: instance, from: start, wakeUp: wakeUp)
    }
    return RecordedRun(recording, host.feed, of: instance, after: last ?? 0, wakeUp: wakeUp)
  }

  package func flush(at now: Instant) {
    guard !streams.isEmpty else { return }
    var hasMore = false
    for stream in streams where stream.flush(at: now) { hasMore = true }
    if hasMore { host.loop.wakeUp.signal() }
  }

  package func appsChanged() {
    for stream in streams where options.recording == nil { stream.greet(hello) }
    if !streams.isEmpty { host.loop.wakeUp.signal() }
  }

  private var hello: JSONValue {
    [
      "version": .string(options.version), "instance": .string(instance.id),
      "started": .string(started), "time": .string(SystemClock.wall().rfc3339),
      "keeps_token": .bool(options.keepsToken),
      "service": .string(host.applications.dialect.name), "shared": .bool(host.isShared),
      "recording": options.recording.map { .string(Self.lastPart($0)) } ?? .null,
      "apps": .array(host.applications.hubs.map { Self.facts(of: $0.application) }),
    ]
  }

  private static func facts(of app: Application) -> JSONValue {
    [
      "id": .string(app.id), "key": .string(app.key), "enabled": .bool(app.isEnabled),
      "client_events": .bool(app.allowsClientEvents), "encrypts": .bool(app.masterKey != nil),
      "webhooks": .array(app.webhooks.map { .string($0.origin) }),
    ]
  }

  /// Folders stay private.
  private static func lastPart(_ path: String) -> String {
    path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } ?? path
  }

  // MARK: Requests

  package func begin(_ request: HTTPRequestReader.Request, at now: Instant) -> CallBeginning {
    let isPage = RequestTarget.path(of: request.head.target).isSame(as: Self.path)
    if let refusal = access.refusal(request.head) {
      return .answer(isPage ? refusal : refusal.asFailure.closed)
    }
    if isPage { return .answer(page(request.head)) }
    var call = ConsoleCall(request, host: host, isRecording: options.recording != nil, at: now)
    let progress = call.begin()
    if case .answer(let answer) = progress { return .answer(answer) }
    return .call(call, progress)
  }

  private func page(_ head: HTTPRequestHead) -> HTTPAnswer {
    guard head.method == "GET" || head.method == "HEAD" else {
      return .refusal(head.method, allow: "GET, HEAD")
    }
    return head.takesGzip ? ConsolePage.compressed : ConsolePage.answer
  }
}
