import CConsolePage
package import PusherCore
package import PusherServer

/// The console of a node: its page, its event stream and its calls.
///
/// All paths begin with `/console`; see docs/console.md. Only the loop's thread may use it.
package final class Console: ServerConsole {
  package static let path = ServerRoute.console.paths[0]
  package static let paths = [path] + ConsoleCall.calls.map { "\(path)/\($0.name)" }

  private unowned let host: Server
  private let options: ConsoleOptions
  /// One run of the console: 16 hexadecimal digits.
  ///
  /// Entry numbers begin anew with each run. The ID of a message is `INSTANCE-NUMBER`, so an ID of
  /// an earlier run cannot be taken for one of this run.
  private let instance = Hex.encode(SecureRandom.bytes(8))
  private let started = SystemClock.wall().rfc3339
  private var streams: [ConsoleStream] = []

  package init(_ options: ConsoleOptions, host: Server) {
    (self.options, self.host) = (options, host)
    host.feed.keep(options.history)
  }

  // MARK: Streams

  package func stream(
    for request: HTTPRequestReader.Request, on connection: ServerConnection, at now: Instant
  ) -> (any ConnectionSocket)? {
    let head = request.head
    guard RequestTarget.path(of: head.target).isSame(as: Self.path + "/events"),
      head.method == "GET", refusal(head) == nil, let (take, close) = source(for: head)
    else { return nil }
    let stream = ConsoleStream(
      of: instance, hello: hello, on: connection, at: now, take: take
    ) { [weak self] ended in
      close()
      self?.streams.removeAll { $0 === ended }
    }
    streams.append(stream)
    return stream
  }

  /// Returns the entries after the ones that the reader has; `nil` if there are too many readers,
  /// or the recording cannot be read.
  private func source(
    for head: HTTPRequestHead
  ) -> (take: () -> Portion?, close: () -> Void)? {
    let feed = host.feed
    let last = head.headers["Last-Event-ID"].flatMap(number)
    let wakeUp = host.loop.wakeUp
    guard let recording = options.recording else {
      let start = last.map { ServerFeed.Start.after($0) } ?? .oldest
      guard let reader = feed.open(wakeUp, from: start) else { return nil }
      return ({ (feed.take(reader), false) }, { feed.close(reader) })
    }
    guard let run = RecordedRun(recording, feed, after: last ?? 0, wakeUp: wakeUp) else {
      return nil
    }
    return (run.take, run.close)
  }

  /// Returns the number in a message's ID; `nil` for an ID of another run, and for other text.
  private func number(of messageID: String) -> Int? {
    guard let digits = messageID.dropping(prefix: instance + "-"),
      digits.utf8.allSatisfy({ $0 &- 0x30 < 10 })
    else { return nil }
    return Int(digits)
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
      "version": .string(options.version), "instance": .string(instance),
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

  package func begin(_ request: HTTPRequestReader.Request, at now: Instant) -> CallProgress {
    let isPage = RequestTarget.path(of: request.head.target).isSame(as: Self.path)
    if let refusal = refusal(request.head) {
      return .answer(isPage ? refusal : refusal.asFailure.closed)
    }
    if isPage { return .answer(page(request.head)) }
    let call = ConsoleCall(request, host: host, isRecording: options.recording != nil, at: now)
    return call.begin().ending(\.closed)
  }

  private func page(_ head: HTTPRequestHead) -> HTTPAnswer {
    guard head.method == "GET" || head.method == "HEAD" else {
      return .refusal(head.method, allow: "GET, HEAD")
    }
    return head.takesGzip ? Self.compressedPage : Self.page
  }

  // MARK: Access

  // A request needs the token of the run. Pages of other origins have no token and cannot read an
  // answer: the console sends no CORS fields. The `Origin` field still betrays a page that learned
  // the token.

  private func refusal(_ head: HTTPRequestHead) -> HTTPAnswer? {
    guard isOwn(head) else { return .refusal(403, "the console answers only its own page") }
    guard let given = token(in: head),
      Digest.equalInConstantTime(
        Digest.sha256(Array(given.utf8)), Digest.sha256(Array(options.token.utf8)))
    else {
      return .refusal(
        403, "the console needs the token of this run: open the address that serve printed")
    }
    return nil
  }

  /// Reads the `Authorization` field, or the query if the method changes nothing.
  private func token(in head: HTTPRequestHead) -> String? {
    if let field = head.headers["Authorization"] {
      let words = field.utf8.split(separator: 0x20, omittingEmptySubsequences: true)
      guard words.count == 2, String(Substring(words[0])).lowercased() == "bearer" else {
        return nil
      }
      return String(Substring(words[1]))
    }
    guard head.method == "GET" || head.method == "HEAD" else { return nil }
    return RequestTarget(head.target)?["token"]
  }

  /// Excludes pages of other origins (the Fetch standard; Fetch Metadata, section
  /// "Sec-Fetch-Site").
  private func isOwn(_ head: HTTPRequestHead) -> Bool {
    let sites = head.headers.all("Sec-Fetch-Site")
    guard sites.allSatisfy({ ["same-origin", "none"].contains($0) }) else { return false }
    let origins = head.headers.all("Origin")
    guard let host = head.headers["Host"] else { return origins.isEmpty }
    // A proxy in front of this server may use TLS, so both schemes are valid.
    return origins.allSatisfy {
      $0.lowercased() == "http://\(host.lowercased())"
        || $0.lowercased() == "https://\(host.lowercased())"
    }
  }
}

package struct ConsoleOptions: Sendable, Equatable, CustomReflectable {
  /// Secret that a browser must send; never logged.
  package let token: String
  package let keepsToken: Bool
  package let version: String
  /// File of a past run, shown instead of current events.
  package let recording: String?
  package let reach: Reach
  /// Number of current entries that are kept for later readers.
  package let history: Int

  /// - Parameters:
  ///   - token: Only letters, digits, `-`, `.`, `_` and `~`; new for each run unless it is kept.
  ///   - history: Has no effect on a recording.
  package init(
    token: String, keepsToken: Bool = false, version: String, recording: String? = nil,
    reach: Reach = .thisMachine, history: Int = 0
  ) {
    (self.token, self.keepsToken, self.version) = (token, keepsToken, version)
    (self.recording, self.reach) = (recording, reach)
    self.history = recording == nil ? history : 0
  }

  /// Empty, so that `dump` shows no secret.
  package var customMirror: Mirror { Mirror(self, children: []) }
}

// The console's page: one document that includes its style sheet and scripts and loads nothing
// else.
//
// The first request assembles it from the files in `Page`. The Content-Security-Policy names the
// hash of each part, so that injected text never runs.
extension Console {
  private static let page: HTTPAnswer = {
    let (text, policy) = assembled(file("console.html") ?? "")
    var answer = HTTPAnswer.text(text)
    answer.contentType = "text/html; charset=utf-8"
    answer.headers = HTTPHeaders([
      ("Content-Security-Policy", policy), ("X-Content-Type-Options", "nosniff"),
      ("Referrer-Policy", "no-referrer"), ("Cache-Control", "no-store"),
      ("Cross-Origin-Opener-Policy", "same-origin"),
      ("Cross-Origin-Resource-Policy", "same-origin"), ("Vary", "Accept-Encoding"),
    ])
    return answer
  }()

  /// A third of the size; the page holds no secret that the compressed length could reveal.
  private static let compressedPage: HTTPAnswer = {
    var compressed = page
    compressed.headers.append("Content-Encoding", "gzip")
    compressed.encoded = ContentEncoder.gzip(Array((page.body + "\n").utf8))
    return compressed
  }()

  private static func file(_ name: String) -> String? {
    unsafe pusher_page_file(name).map { unsafe String(cString: $0) }
  }

  /// Returns the document with the files inlined, and the policy that allows exactly these files.
  ///
  /// Source: CSP Level 3, sections "script-src" and "Trusted Types".
  private static func assembled(_ document: String) -> (text: String, policy: String) {
    var text = ""
    var hashes: (style: [String], script: [String]) = ([], [])
    for line in document.pieces(separatedBy: "\n") {
      guard let part = part(line), let content = file(part.file) else {
        text += line + "\n"
        continue
      }
      text += "<\(part.element)>\(content)</\(part.element)>\n"
      let hash = "'sha256-\(Base64.encode(Digest.sha256(Array(content.utf8))))'"
      if part.element == "style" { hashes.style.append(hash) } else { hashes.script.append(hash) }
    }
    let policy = [
      "default-src 'none'", "style-src \(list(hashes.style))",
      "script-src \(list(hashes.script))", "connect-src 'self'", "base-uri 'none'",
      "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ]
    return (text, policy.joined(separator: "; "))
  }

  private static func list(_ hashes: [String]) -> String {
    hashes.isEmpty ? "'none'" : hashes.joined(separator: " ")
  }

  private static func part(_ line: String) -> (element: String, file: String)? {
    let forms: [(String, StaticString, StaticString)] = [
      ("style", #"<link rel="stylesheet" href=""#, #"">"#),
      ("script", #"<script src=""#, #""></script>"#),
    ]
    for (element, beginning, end) in forms {
      guard let start = line.range(ofBytes: beginning)?.upperBound,
        let stop = line.range(ofBytes: end, from: start)?.lowerBound
      else { continue }
      return (element, String(line[start..<stop]))
    }
    return nil
  }
}
