internal import PusherCore

struct StreamSettings: FeedCommandSettings {
  /// http or https URL; a password comes from a file only.
  var url: HTTPURL
  var network: NetworkSettings
  var feed: FeedSettings
  var request: EventStreamSettings
  var fields: RequestFields
  var headers: [NamedValue]
  var keepsCookies: Bool
  /// The field that names a session, and whether it is sent back.
  var sessionHeader: String?
  /// A GET may continue the answer to a POST.
  var isContinuedByGET = false
  var showsHeaders: Bool
  /// The event before the first one; empty for none, `nil` for that of the state file.
  var lastEventID: String?
  var stateFile: String?

  init(_ resolved: inout Resolved) throws(UsageError) {
    url = try Self.url(&resolved)
    fields = try RequestFields(&resolved)
    headers = fields.fixed
    let data = try resolved[.data].text.map { (text: String) throws(UsageError) in
      try resolved.textOrFile(text, "--data", limit: TriggerSettings.dataLimit)
    }
    request = try Self.request(data, resolved)
    let hasType = fields.all.contains { $0.name.lowercased() == "content-type" }
    if let data, !hasType {
      resolved.warnOfBrokenJSON(data, "--data", sentAs: "a form")
      headers.append(Self.contentType(of: data))
    }
    if !fields.all.contains(where: { $0.name.lowercased() == "user-agent" }) {
      headers.append(NamedValue(name: "User-Agent", value: "pusher-cli/\(Version.current)"))
    }
    stateFile = try FeedSettings.stateFile(resolved)
    headers.removeAll { $0.name.lowercased() == "last-event-id" }
    lastEventID = try Self.lastEventID(resolved, among: fields.all)
    network = try NetworkSettings(&resolved)
    // A request that may have an effect is repeated only with `--reconnect` or `--retry-post`.
    let hasEffect = request.method != "GET" || data != nil
    feed = try FeedSettings(&resolved, isRepeatable: !hasEffect)
    feed.retriesWhenAsked = try Self.retriesPost(resolved, hasEffect: hasEffect)
    // The answer to a question may take long to begin, and the question is not asked again.
    if data != nil, !resolved[.sseActivityTimeout].isGiven { feed.activityTimeout = nil }
    keepsCookies = resolved[.cookies].isOn
    showsHeaders = resolved[.showHeaders].isOn
    sessionHeader = resolved[.sessionHeader].text
    // Without an awaited event, the end of the answer is the end of the run.
    isContinuedByGET =
      sessionHeader != nil && request.method == "POST" && feed.reconnect != .always
      && !feed.printing.wishes.areNone
    if isContinuedByGET, !resolved[.reconnect].isGiven { feed.reconnect = .automatic }
    if let sessionHeader, !ASCII.isToken(sessionHeader) {
      throw UsageError(
        "--session-header: '\(sessionHeader)' is not the name of a field, such as Mcp-Session-Id")
    }
  }

  /// Without --session-header, the session of MCP is only shown.
  var sessionField: SessionField {
    SessionField(sessionHeader ?? "Mcp-Session-Id", isSent: sessionHeader != nil)
  }

  /// True if `--retry-post` would send the request again, and is not given.
  var needsRetryPost: Bool {
    !feed.retriesWhenAsked && feed.reconnect != .always
      && (request.method != "GET" || !request.body.isEmpty)
  }

  /// Returns the Content-Type of a body: JSON if it is JSON, else a form, as with curl.
  private static func contentType(of body: String) -> NamedValue {
    let isJSON = (try? JSONParser.parse(body)) != nil
    return NamedValue(
      name: "Content-Type",
      value: isJSON ? "application/json" : "application/x-www-form-urlencoded")
  }

  private static func url(_ resolved: inout Resolved) throws(UsageError) -> HTTPURL {
    guard let operand = resolved.operands.first else {
      throw UsageError("no URL: give one, as in 'pusher-cli sse https://example.com/stream'")
    }
    if resolved.operands.count > 1 {
      throw UsageError(
        "sse takes one URL (found '\(Disclosure.place.shown(resolved.operands[1]))' too)",
        helpFor: resolved.command)
    }
    let isFile = operand.hasPrefix("@")
    let text = try resolved.textOrFile(operand, "the URL")
    let scheme = text.prefix { $0 != ":" }.lowercased()
    guard text.holds("://"), scheme == "http" || scheme == "https" else {
      let clause =
        scheme == "ws" || scheme == "wss" ? "; 'pusher-cli subscribe --url' takes ws and wss" : ""
      throw UsageError("the URL does not begin with http:// or https://\(clause)")
    }
    let url: HTTPURL
    do throws(HTTPError) {
      url = try HTTPURL(parsing: text)
    } catch {
      let reason = "\(error)"
      throw UsageError("the URL is invalid: \(reason.dropping(prefix: "invalid URL: ") ?? reason)")
    }
    if !isFile, url.userInfo?.contains(":") == true {
      throw UsageError(
        "a password in the URL would show in ps; put the URL into a file and give @FILE")
    }
    return url
  }

  /// Returns whether to send a request with an effect again; a file's option is for those only.
  private static func retriesPost(
    _ resolved: Resolved, hasEffect: Bool
  ) throws(UsageError) -> Bool {
    guard resolved[.retryPost].isOn else { return false }
    guard hasEffect || resolved[.retryPost].source != nil else {
      throw UsageError(
        "--retry-post is for a request with --data, or with another --method than GET; "
          + "use --reconnect always")
    }
    return hasEffect
  }

  private static func request(
    _ data: String?, _ resolved: Resolved
  ) throws(UsageError) -> EventStreamSettings {
    let method = resolved[.method].text ?? (data == nil ? "GET" : "POST")
    guard method.utf8.allSatisfy({ (0x41...0x5A).contains($0) }) else {
      throw UsageError("--method: '\(method)' is not a method such as GET or POST")
    }
    let size = resolved[.maxEvent].bytes
    return EventStreamSettings(
      method: method, body: data.map { Array($0.utf8) } ?? [],
      acceptsCompression: resolved[.compression].isOn,
      // The flags exclude each other.
      accepts: resolved[.lines].isOn
        ? .lines : resolved[.acceptJSON].isOn ? .namedTypesAndDocuments : .namedTypes,
      // A line is a name, a colon, a space and a value.
      limits: EventStreamLimits(line: size + 64, event: size))
  }

  /// Returns the last event ID of the option or the header.
  ///
  /// The header is not sent with every request, since that would repeat the same events.
  private static func lastEventID(
    _ resolved: Resolved, among headers: [NamedValue]
  ) throws(UsageError) -> String? {
    let field = headers.last { $0.name.lowercased() == "last-event-id" }
    guard field == nil || resolved[.lastEventID].text == nil else {
      throw UsageError("--last-event-id and --header both name the last event; give one")
    }
    if let field { return field.value }
    guard let typed = resolved[.lastEventID].text else { return nil }
    if let objection = EventID.objection(to: typed.utf8) {
      throw UsageError("--last-event-id \(objection)")
    }
    return typed
  }
}

/// Matches data: a pattern with `*` or `?`, else the exact text, such as `[DONE]`.
struct DataPattern: Equatable, Sendable {
  let text: String
  private let glob: Glob?

  init(_ text: String) {
    self.text = text
    glob =
      text.utf8.contains { $0 == UInt8(ascii: "*") || $0 == UInt8(ascii: "?") } ? Glob(text) : nil
  }

  func matches(_ data: String) -> Bool { glob?.matches(data) ?? data.isSame(as: text) }
}

/// A file with headers that is read again for each connection.
struct FieldFile: Equatable, Sendable {
  let path: String
  var fields: [NamedValue]
}

struct RequestFields: Equatable, Sendable {
  var fixed: [NamedValue] = []
  /// All current headers, including those of files.
  var all: [NamedValue] = []
  /// Regular files, read again for each connection; a pipe can be read only once.
  var files: [FieldFile] = []
  var command: String?
  var areFresh: Bool { !files.isEmpty || command != nil }
}

extension RequestFields {
  init(_ resolved: inout Resolved) throws(UsageError) {
    command = resolved[.headerCommand].text
    let origin = Flag.header.spelling
    for value in resolved[.header].texts {
      let text = try resolved.textOrFile(value, origin, limit: NamedValue.headerLimit)
      let lines = try NamedValue.headers(text, origin)
      all += lines
      let path = value.dropping(prefix: "@")
      if let path, resolved.files.permissions(path) != nil {
        files.append(FieldFile(path: path, fields: lines))
      } else {
        fixed += lines
      }
    }
  }
}
