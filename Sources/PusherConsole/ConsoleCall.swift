internal import PusherCore
internal import PusherServer

/// A call of the console: a question or an order.
///
/// Questions are GET requests with a query, orders are POST requests with a JSON object. A failed
/// call gets a status from 400 and `{"error":"…"}`.
struct ConsoleCall {
  private let host: Server
  private let target: RequestTarget?
  /// Path after `/console/`, as sent.
  private let name: String
  private let method: String
  private let body: [UInt8]
  private let now: Instant
  /// A page of a past run answers no questions.
  private let isRecording: Bool

  init(
    _ request: HTTPRequestReader.Request, host: Server, isRecording: Bool, at now: Instant
  ) {
    (self.host, self.isRecording, self.now) = (host, isRecording, now)
    target = RequestTarget(request.head.target)
    name = RequestTarget.path(of: request.head.target).dropping(prefix: Console.path + "/") ?? ""
    method = request.head.method
    body = request.body
  }

  static let calls: [(name: String, methods: [String])] = [
    ("events", ["GET"]), ("channels", ["GET"]), ("channel", ["GET"]), ("connections", ["GET"]),
    ("faults", ["GET", "POST"]), ("disconnect", ["POST"]), ("terminate", ["POST"]),
    ("trigger", ["POST"]), ("webhook", ["POST"]), ("sign", ["POST"]), ("check", ["POST"]),
    ("snippets", ["GET"]),
  ]

  private typealias Part = (offset: Int, limit: Int)

  func begin() -> CallProgress {
    do throws(HTTPAnswer) {
      guard let call = Self.calls.first(where: { $0.name.isSame(as: name) }) else {
        throw .failure(404, "the console has no such call")
      }
      guard call.methods.contains(method) else {
        let refusal = HTTPAnswer.refusal(method, allow: call.methods.joined(separator: ", "))
        throw refusal.asFailure
      }
      guard target != nil else { throw .failure(400, "the query is not percent-encoded UTF-8") }
      return try perform()
    } catch { return .answer(error) }
  }

  /// Asks a hub; a server that cannot reach its other nodes has no answer.
  private func ask(
    _ hub: Hub, _ question: ClusterQuestion, _ next: @escaping (ClusterAnswer) -> CallProgress
  ) -> CallProgress {
    hub.ask(question, at: now) { answer, _ in
      if case .unavailable = answer { return .answer(.unavailableToConsole) }
      return next(answer)
    }
  }

  private func perform() throws(HTTPAnswer) -> CallProgress {
    if name.isSame(as: "events") {
      throw .failure(
        503, "\(ServerFeed.readerLimit) readers are already connected, or the recording is gone")
    }
    guard !isRecording else {
      throw .failure(409, "the console shows a past run, which answers no calls")
    }
    switch (method, name) {
    case ("GET", "channels"): return try channels()
    case ("GET", "channel"): return try channel()
    case ("GET", "connections"): return .answer(try connections())
    case ("GET", "faults"): return .answer(stagedFaults)
    case ("POST", "faults"): return .answer(try stageFaults())
    case ("GET", "snippets"): return .answer(try snippets())
    case ("POST", "disconnect"): return .answer(try disconnect())
    case ("POST", "terminate"): return .answer(try terminate())
    case ("POST", "trigger"): return try trigger()
    case ("POST", "webhook"): return .answer(try sendWebhook())
    case ("POST", "sign"): return .answer(try signed())
    case ("POST", "check"): return .answer(try checked())
    default: throw .failure(404, "the console has no such call")
    }
  }

  // MARK: Parameters

  private func order() throws(HTTPAnswer) -> JSONValue {
    do throws(HTTPAnswer) { return try HTTPAnswer.object(ofBody: body) } catch {
      throw error.asFailure
    }
  }

  private func askedHub() throws(HTTPAnswer) -> Hub { try hub(target?["app"]) }

  private func hub(_ id: String?) throws(HTTPAnswer) -> Hub {
    guard let id else { throw .failure(400, "the call names no app") }
    guard let hub = host.applications.hub(id: id) else {
      throw .failure(404, "no app has the id '\(id)'")
    }
    return hub
  }

  private func text(_ name: String, in order: JSONValue) throws(HTTPAnswer) -> String {
    guard let text = order[name]?.text else { throw .failure(400, "the body has no \(name)") }
    return text
  }
}

extension HTTPAnswer {
  static func failure(_ status: Int, _ reason: String) -> HTTPAnswer {
    .json(["error": .string(reason)], status: status)
  }

  var asFailure: HTTPAnswer {
    var failure = HTTPAnswer.json(["error": .string(body)], status: status, allow: allow)
    failure.headers = headers
    return failure
  }

  static let done = HTTPAnswer.json([:])
  fileprivate static let unavailableToConsole = failure(
    503, "the server cannot reach its other nodes")

  /// The answer, never cached and never sniffed as another type.
  var closed: HTTPAnswer {
    var answer = self
    answer.headers.append("Cache-Control", "no-store")
    answer.headers.append("X-Content-Type-Options", "nosniff")
    return answer
  }
}

extension ConsoleCall {
  /// Sends an event as an API call does, without a signature.
  private func trigger() throws(HTTPAnswer) -> CallProgress {
    let order = try order()
    let hub = try hub(order["app"]?.text)
    let event = try event(order, hub.application)
    let call = APICall(
      path: ["events"], target: RequestTarget.none, body: event, hub: hub,
      dialect: host.applications.dialect, at: now)
    do throws(HTTPAnswer) {
      return try call.event().ending { answer in
        answer.status < 300 ? .done : .failure(answer.status, answer.body)
      }
    } catch { throw .failure(error.status, error.body) }
  }

  private func event(_ order: JSONValue, _ app: Application) throws(HTTPAnswer) -> [UInt8] {
    var event = TriggerRequest(
      name: try text("event", in: order), channels: [try text("channel", in: order)],
      data: try text("data", in: order))
    let excluded = order["socket_id"]?.text ?? ""
    event.socketID = excluded.isEmpty ? nil : excluded
    if host.applications.dialect.kind(event.channels[0]) == .encrypted {
      guard let key = app.masterKey else {
        throw .failure(400, "app '\(app.id)' has no key for encrypted channels")
      }
      do throws(TriggerError) {
        event = try event.encrypted(with: key, nonce: SecureRandom.bytes(SecretBox.nonceLength))
      } catch { throw .failure(400, "\(error)") }
    }
    let body = JSONValue.object(present: [
      "name": .string(event.name), "channel": .string(event.channels[0]),
      "data": .string(event.data), "socket_id": event.socketID.map { .string($0) },
    ])
    return Array(JSONWriter.text(body).utf8)
  }

  private func disconnect() throws(HTTPAnswer) -> HTTPAnswer {
    let order = try order()
    let hub = try hub(order["app"]?.text)
    let socketID = try text("socket_id", in: order)
    guard host.disconnect(socketID, ofApp: hub.application.id) else {
      throw .failure(404, "socket \(socketID) is not connected to this server")
    }
    return .done
  }

  private func terminate() throws(HTTPAnswer) -> HTTPAnswer {
    let order = try order()
    let hub = try hub(order["app"]?.text)
    let user = try text("user_id", in: order)
    guard hub.terminateConnections(userID: user, at: now) else { throw .unavailableToConsole }
    return .done
  }

  // MARK: Faults

  /// The staged faults, and how often each may still happen.
  private var stagedFaults: HTTPAnswer {
    let remainders = host.faults.remainders
    let left = remainders.map { remainder -> JSONValue in
      .object(present: [
        "times": remainder.times.map { .integer($0) },
        "connections": remainder.connections.map { .integer($0) },
      ])
    }
    return .json([
      "faults": .array(remainders.map { .string($0.fault.description) }), "left": .array(left),
    ])
  }

  /// Adds one fault, or lifts all.
  private func stageFaults() throws(HTTPAnswer) -> HTTPAnswer {
    let order = try order()
    if order["clear"] == true {
      host.faults.removeAll()
      return stagedFaults
    }
    let text = try text("add", in: order)
    guard host.faults.faults.count < FaultScript.limit else {
      throw .failure(400, "a server has at most \(FaultScript.limit) faults; remove them first")
    }
    do throws(ExplainedError) {
      host.stage([try StagedFault(parsing: text)])
    } catch {
      throw .failure(400, error.description)
    }
    return stagedFaults
  }

  // MARK: Webhooks

  private func sendWebhook() throws(HTTPAnswer) -> HTTPAnswer {
    let order = try order()
    let hub = try hub(order["app"]?.text)
    let body = try text("body", in: order)
    let name = (try? JSONParser.parse(body))?["events"]?.elements?.first?["name"]?.text
    guard host.sendWebhook(name ?? "webhook", Array(body.utf8), ofApp: hub.application.id) else {
      throw .failure(400, "app '\(hub.application.id)' has no webhook receivers")
    }
    return .done
  }
}

extension ConsoleCall {
  /// Maximum number of entries per answer.
  private static let pageLimit = 200

  /// Returns the occupied channels whose names contain a text.
  private func channels() throws(HTTPAnswer) -> CallProgress {
    let hub = try askedHub()
    let part = try part()
    return ask(hub, .channels(prefix: "")) { answer in
      guard case .channels(let names) = answer else { answer.isUnexpected() }
      let wanted = Array((target?["filter"] ?? "").utf8)
      let found = names.filter { $0.holds(wanted) }
      let shown = Array(found.dropFirst(part.offset).prefix(part.limit))
      return ask(hub, .facts(shown)) { answer in
        guard case .facts(let facts) = answer else { answer.isUnexpected() }
        return .answer(
          .json(["total": .integer(found.count), "channels": .array(facts.map(summary))]))
      }
    }
  }

  private func summary(_ channel: ChannelFacts) -> JSONValue {
    let isPresence = host.applications.dialect.kind(channel.name) == .presence
    return .object(present: [
      "name": .string(channel.name), "subscriptions": .integer(channel.subscriptions),
      "users": isPresence ? .integer(channel.memberCount) : nil,
      "cached": .bool(channel.cached != nil),
    ])
  }

  private func channel() throws(HTTPAnswer) -> CallProgress {
    let hub = try askedHub()
    guard let name = target?["channel"] else { throw .failure(400, "the call names no channel") }
    return ask(hub, .facts([name], withMembers: true)) { answer in
      guard case .facts(let facts) = answer else { answer.isUnexpected() }
      return .answer(details(facts.first ?? ChannelFacts(name: name), hub))
    }
  }

  private func details(_ channel: ChannelFacts, _ hub: Hub) -> HTTPAnswer {
    let sockets = host.sessions(ofApp: hub.application.id)
      .filter { $0.subscriptions.contains(channel.name) }.map(\.socketID).sorted()
    let members = channel.members.members
    let listed = members.prefix(Self.pageLimit).map { member in
      JSONValue.object(present: ["user_id": .string(member.userID), "user_info": member.info])
    }
    let details = [
      JSONValue.Member("members", .array(listed)),
      .init("more_members", .integer(max(members.count - Self.pageLimit, 0))),
      .init("cached", channel.cached.map { ["data": .string($0.event.data.dataText)] } ?? .null),
      .init("sockets", .array(sockets.prefix(Self.pageLimit).map(JSONValue.string))),
      .init("more_sockets", .integer(max(sockets.count - Self.pageLimit, 0))),
    ]
    return .json(
      .object((summary(channel).members ?? []).filter { $0.name != "cached" } + details))
  }

  /// Returns the sockets with a property that contains a text.
  private func connections() throws(HTTPAnswer) -> HTTPAnswer {
    let hub = try askedHub()
    let part = try part()
    let wanted = Array((target?["filter"] ?? "").utf8)
    let wall = SystemClock.wall()
    let found = host.sessions(ofApp: hub.application.id).filter { $0.holds(wanted) }
      .sorted { $0.traffic.since < $1.traffic.since }
    let shown = found.dropFirst(part.offset).prefix(part.limit)
    return .json([
      "total": .integer(found.count),
      "connections": .array(shown.map { $0.facts(at: host.loop.now, wall) }),
    ])
  }

  private func part() throws(HTTPAnswer) -> Part {
    func number(_ name: String, _ usual: Int, _ range: ClosedRange<Int>) throws(HTTPAnswer) -> Int {
      guard let text = target?[name] else { return usual }
      guard let number = Int(text), range.contains(number) else {
        throw .failure(
          400, "\(name) must be a number from \(range.lowerBound) to \(range.upperBound)")
      }
      return number
    }
    return (
      try number("offset", 0, 0...1_000_000_000),
      try number("limit", Self.pageLimit, 1...Self.pageLimit)
    )
  }
}

extension ClientSession {
  private static let channelLimit = 100

  /// Searches the socket ID, user ID, address and channels.
  fileprivate func holds(_ wanted: [UInt8]) -> Bool {
    guard !wanted.isEmpty else { return true }
    return socketID.holds(wanted) || user?.id.holds(wanted) == true
      || carrier?.peer?.description.holds(wanted) == true
      || subscriptions.sorted.contains { $0.holds(wanted) }
  }

  fileprivate func facts(at now: Instant, _ wall: WallTime) -> JSONValue {
    let names = subscriptions.sorted
    let age = traffic.since.duration(to: now)
    let since = WallTime(
      millisecondsSince1970: wall.millisecondsSince1970 - age.wholeNanoseconds / 1_000_000)
    return .object(present: [
      "socket_id": .string(socketID), "address": carrier?.peer.map { .string($0.description) },
      "since": .string(since.rfc3339), "user_id": user.map { .string($0.id) },
      "channels": .array(names.prefix(Self.channelLimit).map(JSONValue.string)),
      "more_channels": .integer(max(names.count - Self.channelLimit, 0)),
      "received": .integer(traffic.received), "sent": .integer(traffic.sent),
      "queued_bytes": .integer(output.count),
    ])
  }
}

extension ConsoleCall {
  /// Returns the answer of an authorisation endpoint, with the signed text.
  private func signed() throws(HTTPAnswer) -> HTTPAnswer {
    let order = try order()
    let app = try hub(order["app"]?.text).application
    let socketID = try socketID(in: order)
    if let userData = order["user_data"]?.text {
      return .json([
        "string_to_sign": .string(
          SubscriptionSignature.stringToSign(socketID: socketID, userData: userData)),
        "auth": .string(app.signature.signIn(socketID: socketID, userData: userData)),
        "user_data": .string(userData),
      ])
    }
    let channel = try text("channel", in: order)
    let data = order["channel_data"]?.text.flatMap { $0.isEmpty ? nil : $0 }
    let auth = app.signature.authorize(socketID: socketID, channel: channel, channelData: data)
    let isEncrypted = host.applications.dialect.kind(channel) == .encrypted
    return .json(
      .object(texts: [
        "string_to_sign": SubscriptionSignature.stringToSign(
          socketID: socketID, channel: channel, channelData: data), "auth": auth.auth,
        "channel_data": data,
        "shared_secret": isEncrypted ? app.masterKey?.sharedSecret(channel: channel) : nil,
      ]))
  }

  private func socketID(in order: JSONValue) throws(HTTPAnswer) -> String {
    let id = try text("socket_id", in: order)
    guard SocketID.isValid(id) else {
      throw .failure(400, "socket_id must be two numbers joined by a dot, not '\(id)'")
    }
    return id
  }

  // MARK: Checks

  /// Explains why an app's authorisation is invalid, or confirms it.
  private func checked() throws(HTTPAnswer) -> HTTPAnswer {
    let order = try order()
    let claim = AuthorizationClaim(
      key: try text("key", in: order).trimmed, socketID: try text("socket_id", in: order).trimmed,
      channel: try text("channel", in: order).trimmed, auth: try text("auth", in: order).trimmed,
      channelData: order["channel_data"]?.text.flatMap { $0.isEmpty ? nil : $0 })
    let findings = claim.findings(
      apps: host.applications.hubs.map(\.application),
      kind: host.applications.dialect.kind(claim.channel))
    return .json([
      "valid": .bool(findings.isEmpty), "findings": .array(findings.map(JSONValue.string)),
      "string_to_sign": .string(claim.stringToSign),
    ])
  }
}

extension String {
  /// Pasted text often has blanks and line ends around it.
  fileprivate var trimmed: String { ASCII.trimmed(self[...]) { $0 <= 0x20 } }
}

extension ConsoleCall {
  /// The snippets for an app; `url` is the address at which the page found this server.
  private func snippets() throws(HTTPAnswer) -> HTTPAnswer {
    let hub = try askedHub()
    let url: HTTPURL
    do throws(HTTPError) {
      url = try HTTPURL(parsing: target?["url"] ?? "")
    } catch { throw .failure(400, "url is not the address of this server: \(error)") }
    let place = SnippetTarget(hub.application, at: url, signsChannels: host.signsChannels)
    let list = place.snippets.map { name, text -> JSONValue in
      ["name": .string(name), "text": .string(text)]
    }
    return .json(
      .object(present: [
        "snippets": .array(list), "missing_secret": place.missingSecret.map { .string($0) },
      ]))
  }
}

/// An authorisation that an app's endpoint gave to a socket, to be checked for its developer.
private struct AuthorizationClaim {
  let key: String
  let socketID: String
  let channel: String
  /// `KEY:HEX`, or only the signature.
  let auth: String
  let channelData: String?

  /// Returns the problems, one sentence each; empty if a server would accept the authorisation.
  func findings(apps: [Application], kind: ChannelKind) -> [String] {
    var findings = problems(kind)
    guard let app = apps.first(where: { $0.key.isSame(as: key) }) else {
      return findings + ["no app of this server has the key '\(key)'"]
    }
    if let named, !named.isSame(as: key) {
      findings.append("auth begins with the key '\(named)', but the app's key is '\(key)'")
    }
    guard isHexadecimal else {
      return findings + ["the signature is not 64 hexadecimal digits (HMAC SHA-256)"]
    }
    guard !isSignature(app, socketID, channel, channelData) else {
      if hex != hex.lowercased() { findings.append("the signature must be in lower case") }
      return findings
    }
    return findings + [reason(app, others: apps)]
  }

  private func problems(_ kind: ChannelKind) -> [String] {
    var problems: [String] = []
    if !SocketID.isValid(socketID) {
      problems.append("the socket id must be two numbers joined by a dot, not '\(socketID)'")
    }
    if let problem = ChannelName.problem(in: channel) {
      problems.append("the channel name is invalid: \(problem)")
    }
    switch kind {
    case .presence: problems += presenceProblems
    default:
      if channelData != nil, kind.needsAuthorization {
        problems.append("channel_data is only for presence channels; do not sign it for others")
      }
    }
    if !kind.needsAuthorization {
      problems.append("'\(channel)' is a public channel, which needs no authorisation")
    }
    return problems
  }

  private var presenceProblems: [String] {
    guard let channelData else { return ["a presence channel needs channel_data with a user_id"] }
    guard let data = try? JSONParser.parse(channelData), case .object = data else {
      return ["channel_data is not a JSON object"]
    }
    guard let id = data["user_id"]?.identifier, !id.isEmpty else {
      return ["channel_data has no user_id"]
    }
    return []
  }

  // MARK: The signature

  var stringToSign: String {
    SubscriptionSignature.stringToSign(
      socketID: socketID, channel: channel, channelData: channelData)
  }

  private var named: String? {
    auth.utf8.firstIndex(of: UInt8(ascii: ":")).map { String(auth[..<$0]) }
  }

  private var hex: String {
    auth.utf8.firstIndex(of: UInt8(ascii: ":")).map { String(auth[$0...].dropFirst()) } ?? auth
  }

  private var isHexadecimal: Bool {
    hex.utf8.count == 64 && hex.utf8.allSatisfy { Hex.value(of: $0) != nil }
  }

  private func isSignature(
    _ app: Application, _ socketID: String, _ channel: String, _ data: String?
  ) -> Bool {
    isAuth(
      app.signature.authorize(socketID: socketID, channel: channel, channelData: data).auth, of: app
    )
  }

  private func isAuth(_ right: String, of app: Application) -> Bool {
    let right = right.dropping(prefix: app.key + ":") ?? ""
    return Digest.equalInConstantTime(Array(hex.lowercased().utf8), Array(right.utf8))
  }

  /// Tries common mistakes to explain why the signature differs.
  private func reason(_ app: Application, others: [Application]) -> String {
    if channelData != nil, isSignature(app, socketID, channel, nil) {
      return "the signature leaves out channel_data; sign 'SOCKET_ID:CHANNEL:CHANNEL_DATA'"
    }
    if let data = channelData, let value = try? JSONParser.parse(data),
      isSignature(app, socketID, channel, JSONWriter.text(value))
    {
      return "channel_data was changed after it was signed: sign exactly the text that is sent"
    }
    for former in others
    where !former.key.isSame(as: app.key) && isSignature(former, socketID, channel, channelData) {
      return "the signature was made with the secret of app '\(former.id)'"
    }
    for other in otherSpellings where isSignature(app, socketID, other, channelData) {
      return "the signature is for channel '\(other)'"
    }
    let signIn = app.signature.signIn(socketID: socketID, userData: channelData ?? "")
    if isAuth(signIn, of: app) {
      return "the signature is for a user's sign-in, not for a subscription"
    }
    return "the signature does not match: the socket id, the channel, channel_data or the "
      + "app's secret was different where it was signed"
  }

  /// Other channel names that are easily signed by mistake.
  private var otherSpellings: [String] {
    var names = ["private-", "presence-", "private-encrypted-"].map { $0 + channel }
    for prefix in ["private-encrypted-", "private-", "presence-"] {
      guard let plain = channel.dropping(prefix: prefix) else { continue }
      names += [plain, "private-" + plain, "presence-" + plain, "private-encrypted-" + plain]
    }
    names.append(channel.lowercased())
    return names.filter { !$0.isSame(as: channel) }
  }
}
