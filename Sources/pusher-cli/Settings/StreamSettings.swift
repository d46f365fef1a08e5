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
  /// The event before the first one; empty for none, `nil` for that of the state file.
  var lastEventID: String?
  var stateFile: String?

  init(_ reader: inout SettingsReader) throws(UsageError) {
    let typed = reader.typed
    url = try reader.streamURL()
    fields = try reader.requestFields()
    headers = fields.fixed
    let data = try typed.text(.data).map { (text: String) throws(UsageError) in
      try reader.textOrFile(text, "--data", limit: TriggerSettings.dataLimit)
    }
    request = try reader.streamRequest(data)
    let hasType = fields.all.contains { $0.name.lowercased() == "content-type" }
    if let data, !hasType {
      reader.warnOfBrokenJSON(data, "--data", sentAs: "a form")
      headers.append(Self.contentType(of: data))
    }
    if !fields.all.contains(where: { $0.name.lowercased() == "user-agent" }) {
      headers.append(NamedValue(name: "User-Agent", value: "pusher-cli/\(Version.current)"))
    }
    stateFile = typed.text(.stateFile)
    guard stateFile != "-" else {
      throw UsageError("--state-file cannot use '-'; name a file")
    }
    if stateFile != nil { try reader.keepPlace() }
    headers.removeAll { $0.name.lowercased() == "last-event-id" }
    lastEventID = try reader.lastEventID(among: fields.all)
    network = try reader.network()
    // A request that may have an effect is repeated only with `--reconnect` or `--retry-post`.
    let hasEffect = request.method != "GET" || data != nil
    feed = try reader.feed(isRepeatable: !hasEffect)
    feed.retriesWhenAsked = try reader.retriesPost(hasEffect: hasEffect)
    // The answer to a question may take long to begin, and the question is not asked again.
    if data != nil, !typed.isGiven(.sseActivityTimeout) { feed.activityTimeout = nil }
    keepsCookies = typed.isOn(.cookies)
    sessionHeader = typed.text(.sessionHeader)
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

extension SettingsReader {
  fileprivate mutating func streamURL() throws(UsageError) -> HTTPURL {
    guard let operand = typed.operands.first else {
      throw UsageError("no URL: give one, as in 'pusher-cli sse https://example.com/stream'")
    }
    if typed.operands.count > 1 {
      throw UsageError(
        "sse takes one URL (found '\(Disclosure.place.shown(typed.operands[1]))' too)",
        helpFor: typed.command)
    }
    let isFile = operand.hasPrefix("@")
    let text = try textOrFile(operand, "the URL", limit: 65_536)
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

  /// Refuses options with which the stream has no single place up to which all is done.
  fileprivate func keepPlace() throws(UsageError) {
    for flag in [Flag.execJobs, .forwardJobs] where typed.number(flag) > 1 {
      throw UsageError("--state-file keeps one position in the stream; leave out \(flag.spelling)")
    }
    guard !typed.isGiven(.forwardTimeout) || typed.isGiven(.forwardDead) else {
      throw UsageError(
        "--state-file must lose no event: with --forward-timeout, give --forward-dead too")
    }
  }

  /// Returns whether to send a request with an effect again; a file's option is for those only.
  fileprivate func retriesPost(hasEffect: Bool) throws(UsageError) -> Bool {
    guard typed.isOn(.retryPost) else { return false }
    guard hasEffect || typed.origin(.retryPost) != nil else {
      throw UsageError(
        "--retry-post is for a request with --data, or with another --method than GET; "
          + "use --reconnect always")
    }
    return hasEffect
  }

  fileprivate func streamRequest(_ data: String?) throws(UsageError) -> EventStreamSettings {
    let method = typed.text(.method) ?? (data == nil ? "GET" : "POST")
    guard method.utf8.allSatisfy({ (0x41...0x5A).contains($0) }) else {
      throw UsageError("--method: '\(method)' is not a method such as GET or POST")
    }
    let size = typed.bytes(.maxEvent)
    return EventStreamSettings(
      method: method, body: data.map { Array($0.utf8) } ?? [],
      acceptsCompression: typed.isOn(.compression), accepts: acceptedAnswers,
      // A line is a name, a colon, a space and a value.
      limits: EventStreamLimits(line: size + 64, event: size))
  }

  /// The flags exclude each other.
  private var acceptedAnswers: AcceptedAnswers {
    if typed.isOn(.lines) { return .lines }
    return typed.isOn(.acceptJSON) ? .namedTypesAndDocuments : .namedTypes
  }

  /// Returns the last event ID of the option or the header.
  ///
  /// The header is not sent with every request, since that would repeat the same events.
  fileprivate func lastEventID(among headers: [NamedValue]) throws(UsageError) -> String? {
    let field = headers.last { $0.name.lowercased() == "last-event-id" }
    guard field == nil || typed.text(.lastEventID) == nil else {
      throw UsageError("--last-event-id and --header both name the last event; give one")
    }
    if let field { return field.value }
    guard let typed = typed.text(.lastEventID) else { return nil }
    if let objection = EventID.objection(to: typed.utf8) {
      throw UsageError("--last-event-id \(objection)")
    }
    return typed
  }
}
