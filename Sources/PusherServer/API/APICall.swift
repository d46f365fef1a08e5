package import PusherCore

/// The HTTP API: turns one request into one answer, and changes the hub.
///
/// Source: Pusher's page "HTTP API reference".
package struct APIRouter {
  private let applications: Applications

  package init(_ applications: Applications) { self.applications = applications }

  /// - Parameters:
  ///   - seconds: Time since 1970.
  ///   - isHeld: Makes an authentic call pause before it has an effect.
  package func begin(
    _ request: HTTPRequestReader.Request, seconds: Int64, isHeld: Bool = false, at now: Instant
  ) -> CallProgress {
    let progress: CallProgress
    do throws(HTTPAnswer) {
      let perform = try call(request, seconds: seconds)
      progress = isHeld ? .pauses(perform) : perform(now)
    } catch { progress = .answer(error) }
    return progress.ending(dialect.worded)
  }

  private var dialect: Dialect { applications.dialect }

  /// Checks a request, and returns the rest of its call.
  private func call(
    _ request: HTTPRequestReader.Request, seconds: Int64
  ) throws(HTTPAnswer) -> (Instant) -> CallProgress {
    let head = request.head
    guard let target = RequestTarget(head.target) else {
      throw .refusal(400, "the path or the query is not percent-encoded UTF-8")
    }
    if let page = dialect.page(target.path) { throw page }
    guard let place = place(of: target) else {
      throw .refusal(404, "Unknown path: the API is at /apps/ID, sockets at /app/KEY")
    }
    guard let (method, perform) = route(place.call) else { throw .refusal(404, "Unknown API call") }
    guard head.method == method else { throw .refusal(head.method, allow: method) }
    guard let hub = place.hub else { throw .refusal(404, "Unknown app: \(place.app)") }
    if let refusal = refusal(request, target, for: hub.application, seconds: seconds) {
      throw refusal
    }
    guard hub.application.isEnabled else { throw .refusal(403, "The app is disabled") }
    return { now in
      let call = APICall(
        path: place.call, target: target, body: request.body, hub: hub, dialect: dialect, at: now)
      do throws(HTTPAnswer) { return try perform(call) } catch { return .answer(error) }
    }
  }

  /// Finds the app by its key for the official Python library, which closes a user's connections at
  /// `/users/ID/terminate_connections`.
  private func place(of target: RequestTarget) -> (app: String, hub: Hub?, call: [String])? {
    guard let segments = target.segments, segments.count >= 3 else { return nil }
    if segments[0] == "apps" {
      return (segments[1], applications.hub(id: segments[1]), Array(segments.dropFirst(2)))
    }
    guard dialect.has(.findsAppByKey), segments[0] == "users",
      segments[2] == "terminate_connections"
    else { return nil }
    let key = target["auth_key"] ?? ""
    return ("with key '\(key)'", applications.hub(key: key), segments)
  }

  private typealias Perform = (APICall) throws(HTTPAnswer) -> CallProgress

  private func route(_ path: [String]) -> (method: String, perform: Perform)? {
    switch (path.first, path.count, path.last) {
    case ("events", 1, _): ("POST", { (call) throws(HTTPAnswer) in try call.event() })
    case ("batch_events", 1, _): ("POST", { (call) throws(HTTPAnswer) in try call.batch() })
    case ("users", 3, "events"): ("POST", { (call) throws(HTTPAnswer) in try call.userEvent() })
    case ("users", 3, "terminate_connections"):
      ("POST", { (call) throws(HTTPAnswer) in try call.terminate() })
    case ("channels", 1, _): ("GET", { (call) throws(HTTPAnswer) in try call.channels() })
    case ("channels", 2, _): ("GET", { (call) throws(HTTPAnswer) in try call.channel() })
    case ("channels", 3, "users"): ("GET", { (call) throws(HTTPAnswer) in try call.users() })
    case ("connections", 1, _) where dialect.has(.countsConnections): ("GET", { $0.connections() })
    default: nil
    }
  }
}

extension APIRouter {
  /// Returns `nil` if the call is authentic.
  private func refusal(
    _ request: HTTPRequestReader.Request, _ target: RequestTarget, for application: Application,
    seconds: Int64
  ) -> HTTPAnswer? {
    guard let key = target["auth_key"], let given = target["auth_signature"] else {
      return .refusal(401, "this call needs auth_key and auth_signature")
    }
    guard key.isSame(as: application.key) else {
      return .refusal(401, "Unknown auth_key: this is not the key of app \(application.id)")
    }
    guard target["auth_version"] == APIRequestSignature.version else {
      return .refusal(401, "auth_version is not \(APIRequestSignature.version)")
    }
    if let refusal = timestampRefusal(target, seconds) ?? bodyRefusal(target, request.body) {
      return refusal
    }
    let signed = APIRequestSignature.stringToSign(
      method: request.head.method, path: target.path, parameters: target.parameters)
    guard !APIRequestSignature.isValid(given, of: signed, secret: application.secret) else {
      return nil
    }
    let shown = JSONWriter.text(.string(signed))
    return .refusal(
      401,
      "Invalid signature: you should have sent HmacSHA256Hex(\(shown), your_secret_key), "
        + "but you sent \(JSONWriter.text(.string(given)))")
  }

  private func timestampRefusal(_ target: RequestTarget, _ seconds: Int64) -> HTTPAnswer? {
    guard let text = target["auth_timestamp"], let timestamp = Int64(text) else {
      return .refusal(401, "auth_timestamp is not a Unix time in seconds")
    }
    let tolerance = APIRequestSignature.timestampTolerance
    guard dialect.has(.checksTimestamps) else { return nil }
    guard (seconds - tolerance...seconds + tolerance).contains(timestamp) else {
      return .refusal(
        401,
        "Timestamp expired: Given timestamp (\(timestamp)) not within \(tolerance)s "
          + "of server time (\(seconds))")
    }
    return nil
  }

  private func bodyRefusal(_ target: RequestTarget, _ body: [UInt8]) -> HTTPAnswer? {
    let digest = APIRequestSignature.bodyDigest(body)
    guard let given = target["body_md5"] else {
      return body.isEmpty ? nil : .refusal(401, "a call with a body needs body_md5")
    }
    guard given.lowercased() == digest else {
      return .refusal(401, "Invalid body_md5: the body's MD5 is \(digest)")
    }
    return nil
  }
}

/// An authentic call of the HTTP API.
///
/// All checks come before the first effect. The call asks the hub one question at a time. An answer
/// may come at once or later. A class, because every answer passes the call on.
package final class APICall {
  /// Parts of the path after the app.
  private let path: [String]
  private let target: RequestTarget
  private let body: [UInt8]
  private let hub: Hub
  private let dialect: Dialect
  private var now: Instant

  package init(
    path: [String], target: RequestTarget, body: [UInt8], hub: Hub, dialect: Dialect,
    at now: Instant
  ) {
    (self.path, self.target, self.body) = (path, target, body)
    (self.hub, self.dialect, self.now) = (hub, dialect, now)
  }

  /// Asks the hub; `next` continues the call, with the time of the answer.
  private func ask(
    _ question: ClusterQuestion, _ next: @escaping (APICall, ClusterAnswer) -> CallProgress
  ) -> CallProgress {
    hub.ask(question, at: now) { answer, now in
      if case .unavailable = answer { return .answer(.unavailable) }
      self.now = now
      return next(self, answer)
    }
  }

  private func askFacts(
    _ names: [String], withMembers: Bool = false,
    _ next: @escaping (APICall, [ChannelFacts]) -> CallProgress
  ) -> CallProgress {
    ask(.facts(names, withMembers: withMembers)) { call, answer in
      guard case .facts(let facts) = answer else { answer.isUnexpected() }
      return next(call, facts)
    }
  }

  private func done(_ value: JSONValue) -> CallProgress { .answer(.json(value)) }

  // MARK: Events

  /// Publishes all events, or none if the app is over its quota.
  private func publish(_ events: [APIEvent], isBatch: Bool = false) -> CallProgress {
    let count = events.reduce(0) { $0 + $1.channels.count }
    let bytes = events.reduce(0) { $0 + $1.channels.count * $1.bytes }
    return ask(.admit(events: count, bytes: bytes)) { call, answer in
      if case .overQuota(let reason) = answer { return .answer(.refusal(403, reason)) }
      for event in events {
        for channel in event.channels {
          call.hub.publish(
            name: event.name, channel: channel, data: event.data, except: event.socketID,
            at: call.now)
        }
      }
      return call.ask(.published) { call, _ in call.published(events, isBatch) }
    }
  }

  private func published(_ events: [APIEvent], _ isBatch: Bool) -> CallProgress {
    guard dialect.has(.answersInfo), events.contains(where: { !$0.info.isEmpty }) else {
      return done(isBatch ? dialect.batchDone : dialect.done)
    }
    guard isBatch else {
      return askFacts(events[0].channels) { call, facts in
        let channels = facts.map {
          JSONValue.Member($0.name, .object(call.attributes(of: $0, events[0].info)))
        }
        return call.done(["channels": .object(channels)])
      }
    }
    return askFacts(events.flatMap { $0.channels.prefix(1) }) { call, facts in
      let entries = zip(events, facts).map { JSONValue.object(call.attributes(of: $1, $0.info)) }
      return call.done(["batch": .array(entries)])
    }
  }

  // MARK: Facts

  private func attributes(of channel: ChannelFacts, _ info: [String]) -> [JSONValue.Member] {
    var members: [JSONValue.Member] = []
    let isCounted = dialect.has(.countsEmptyChannels) || channel.subscriptions > 0
    let isPresence = dialect.kind(channel.name) == .presence
    if info.ask(for: "user_count"), isPresence, isCounted {
      members.append(.init("user_count", .integer(channel.memberCount)))
    }
    if info.ask(for: "subscription_count"), isCounted,
      !isPresence || dialect.has(.countsMembersTwice)
    {
      members.append(.init("subscription_count", .integer(channel.subscriptions)))
    }
    if info.ask(for: "cache"), let (event, timeLeft) = channel.cached {
      members.append(.init("cache", dialect.cached(event, timeLeft, channel.name)))
    }
    return members
  }

  // MARK: The list of channels

  /// Adds the next 1,000 channels; each portion has its own turn of the loop.
  private func list(_ list: ChannelList) -> CallProgress {
    askFacts(Array(list.names.prefix(ChannelList.portion))) { call, facts in
      // Skips channels that became empty after the names were read.
      for channel in facts where channel.subscriptions > 0 {
        let attributes =
          call.dialect.listed(channel) ?? call.attributes(of: channel, list.info)
        list.members.append(.init(channel.name, .object(attributes)))
      }
      list.names = list.names.dropFirst(ChannelList.portion)
      guard !list.names.isEmpty else { return call.done(["channels": .object(list.members)]) }
      return .pauses { now in
        call.now = now
        return call.list(list)
      }
    }
  }
}

private final class ChannelList {
  static let portion = 1000

  let info: [String]
  var names: ArraySlice<String>
  var members: [JSONValue.Member] = []

  init(_ names: [String], _ info: [String]) { (self.names, self.info) = (names[...], info) }
}

extension [String] {
  /// Returns true if these words of `info` name this one.
  fileprivate func ask(for word: String) -> Bool { contains { $0.isSame(as: word) } }
}

private struct APIEvent {
  let name: String
  let channels: [String]
  /// A string, or any other value if the dialect allows it.
  let data: JSONValue
  let bytes: Int
  let socketID: String?
  let info: [String]
}

extension APICall {
  package func event() throws(HTTPAnswer) -> CallProgress {
    let value = try HTTPAnswer.object(ofBody: body, tellsError: true)
    if let refusal = dialect.eventRefusal(value) { throw refusal }
    return publish([try checkedEvent(value)])
  }

  /// The answer has an entry for each event if any event asks for information.
  func batch() throws(HTTPAnswer) -> CallProgress {
    let value = try HTTPAnswer.object(ofBody: body, tellsError: true)
    if let refusal = dialect.batchRefusal(value) { throw refusal }
    guard let elements = value["batch"]?.elements else {
      throw .refusal(400, "the body has no array called batch")
    }
    guard elements.count <= hub.limits.batch else {
      throw .refusal(
        400, "a batch has at most \(hub.limits.batch) events; this one has \(elements.count)")
    }
    var events: [APIEvent] = []
    for (index, element) in elements.enumerated() {
      do throws(HTTPAnswer) {
        events.append(try checkedEvent(element))
      } catch {
        throw .refusal(error.status, "event \(index + 1): \(error.body)")
      }
    }
    return publish(events, isBatch: true)
  }

  /// The answer has no information about the user's own channel.
  func userEvent() throws(HTTPAnswer) -> CallProgress {
    let members = try HTTPAnswer.object(ofBody: body, tellsError: true).members ?? []
    let channel = JSONValue.Member("channel", .string(UserChannel.name(userID: path[1])))
    let others = members.filter { !["channels", "channel", "info"].contains($0.name) }
    return publish([try checkedEvent(.object(others + [channel]))])
  }

  func terminate() throws(HTTPAnswer) -> CallProgress {
    guard hub.terminateConnections(userID: path[1], at: now) else { throw .unavailable }
    return ask(.published) { call, _ in call.published([], false) }
  }

  private func checkedEvent(_ value: JSONValue) throws(HTTPAnswer) -> APIEvent {
    guard let name = value["name"]?.text else {
      throw .refusal(400, "the event's name is missing or not a string")
    }
    if let problem = dialect.eventProblem(name) { throw .refusal(400, problem) }
    let (data, bytes) = try checkedData(value["data"])
    return APIEvent(
      name: name, channels: try checkedChannels(value), data: data, bytes: bytes,
      socketID: try checkedSocketID(value["socket_id"]), info: Self.names(value["info"]?.text))
  }

  private func checkedSocketID(_ value: JSONValue?) throws(HTTPAnswer) -> String? {
    guard let value, value != .null, dialect.has(.checksExcludedSocket) else { return value?.text }
    guard let id = value.text, SocketID.isValid(id) else {
      throw .refusal(400, "Invalid socket_id: it must be two numbers joined by a dot")
    }
    return id
  }

  private func checkedData(_ data: JSONValue?) throws(HTTPAnswer) -> (data: JSONValue, bytes: Int) {
    if let refusal = dialect.dataRefusal(data) { throw refusal }
    guard let data, data.text != nil || dialect.has(.acceptsEveryData) else {
      throw .refusal(400, "data must be a string; encode an object as a JSON string")
    }
    let count = data.dataText.utf8.count
    guard count <= hub.limits.sizes.eventData else {
      throw .refusal(
        413,
        "The data content of this event has \(count) bytes and exceeds "
          + "the allowed maximum (\(hub.limits.sizes.eventData) bytes)")
    }
    return (data, count)
  }

  private func checkedChannels(_ value: JSONValue) throws(HTTPAnswer) -> [String] {
    let elements = value["channels"]?.elements ?? value["channel"].map { [$0] } ?? []
    let limit = hub.limits.channelsOfEvent
    guard !elements.isEmpty else { throw .refusal(400, "the event names no channel") }
    guard elements.count <= limit else {
      throw .refusal(
        400, "an event has at most \(limit) channels; this one has \(elements.count)")
    }
    var channels: [String] = []
    for element in elements {
      guard let name = element.text else { throw .refusal(400, "a channel name is not a string") }
      if let problem = dialect.channelProblem(name) {
        throw .refusal(400, "Invalid channel '\(name)': \(problem)")
      }
      guard !name.begins(with: "#") || UserChannel.userID(channelName: name) != nil else {
        throw .refusal(
          400, "Invalid channel '\(name)': a user's channel is \(UserChannel.prefix)ID")
      }
      channels.append(name)
    }
    let isEncrypted = channels.contains { dialect.kind($0) == .encrypted }
    guard !isEncrypted || channels.count == 1 else {
      throw .refusal(400, "an event for an encrypted channel can have no other channel")
    }
    return channels
  }
}

extension APICall {
  /// Returns the occupied channels, filtered by prefix if the call names one.
  func channels() throws(HTTPAnswer) -> CallProgress {
    let prefix = target["filter_by_prefix"] ?? ""
    let info = Self.names(target["info"])
    let isMixed =
      info.ask(for: "user_count") && !prefix.begins(with: "presence-")
    guard !isMixed || !dialect.has(.refusesMissingCounts) else {
      throw .refusal(400, "user_count needs a filter_by_prefix that begins with presence-")
    }
    return ask(.channels(prefix: prefix)) { call, answer in
      guard case .channels(let names) = answer else { answer.isUnexpected() }
      return call.list(ChannelList(names, info))
    }
  }

  func channel() throws(HTTPAnswer) -> CallProgress {
    let name = try checkedName()
    let info = Self.names(target["info"])
    let isMissing =
      info.ask(for: "user_count") && dialect.kind(name) != .presence
    guard !isMissing || !dialect.has(.refusesMissingCounts) else {
      throw .refusal(400, "only presence channels have a user_count")
    }
    return askFacts([name]) { call, facts in
      let channel = facts.first ?? ChannelFacts(name: name)
      if let all = call.dialect.attributes(channel) { return call.done(.object(all)) }
      let occupied = JSONValue.Member("occupied", .bool(channel.subscriptions > 0))
      return call.done(.object([occupied] + call.attributes(of: channel, info)))
    }
  }

  func users() throws(HTTPAnswer) -> CallProgress {
    let name = try checkedName()
    return askFacts([name], withMembers: true) { call, facts in
      let channel = facts.first ?? ChannelFacts(name: name)
      if let refusal = call.dialect.usersRefusal(channel) { return .answer(refusal) }
      let showsInfo = call.dialect.has(.tellsUserInfo) && call.target["with_user_info"] == "1"
      let users = channel.members.members.map { member in
        JSONValue.object(present: ["id": member.id, "user_info": showsInfo ? member.info : nil])
      }
      return call.done(["users": .array(users)])
    }
  }

  func connections() -> CallProgress { done(["connections": .integer(hub.connectionCount)]) }

  /// Reads names separated by commas.
  private static func names(_ list: String?) -> [String] {
    (list ?? "").split(separator: ",").map { String($0.filter { $0 != " " }) }
  }

  private func checkedName() throws(HTTPAnswer) -> String {
    guard let problem = dialect.channelProblem(path[1]) else { return path[1] }
    throw .refusal(400, "Invalid channel: \(problem)")
  }
}

extension HTTPAnswer {
  /// Returns a body as a JSON object; throws status 400 for any other body.
  package static func object(
    ofBody body: [UInt8], tellsError: Bool = false
  ) throws(HTTPAnswer) -> JSONValue {
    let text = try text(ofBody: body)
    do throws(JSONError) {
      let value = try JSONParser.parse(text)
      if case .object = value { return value }
    } catch  where tellsError {
      throw .refusal(400, "the body is \(error)")
    } catch {}
    throw .refusal(400, "the body is not a JSON object")
  }
}

/// Progress of a call of the HTTP API or of the console.
package enum CallProgress {
  case answer(HTTPAnswer)
  /// The call waits for the hub's answer with this number, and continues with it.
  case waits(Hub, Int, (ClusterAnswer, Instant) -> CallProgress)
  /// The call continues in the loop's next turn, so that other connections are served.
  case pauses((Instant) -> CallProgress)

  /// Returns the same call with a changed answer.
  package func ending(_ change: @escaping (HTTPAnswer) -> HTTPAnswer) -> CallProgress {
    switch self {
    case .answer(let answer): .answer(change(answer))
    case .waits(let hub, let number, let next):
      .waits(hub, number) { answer, now in next(answer, now).ending(change) }
    case .pauses(let next): .pauses { now in next(now).ending(change) }
    }
  }
}

extension Hub {
  /// Asks a question for a call, and continues the call if the answer is available at once.
  package func ask(
    _ question: ClusterQuestion, at now: Instant,
    _ next: @escaping (ClusterAnswer, Instant) -> CallProgress
  ) -> CallProgress {
    switch ask(question, at: now) {
    case .answered(let answer): next(answer, now)
    case .later(let number): .waits(self, number, next)
    }
  }
}

/// The calls of a server that have no answer yet.
package struct CallTable<Caller> {
  private typealias Waiting = (next: (ClusterAnswer, Instant) -> CallProgress, caller: Caller)

  private var waiting: [ObjectIdentifier: [Int: Waiting]] = [:]
  private var paused: [(next: (Instant) -> CallProgress, caller: Caller)] = []

  package init() {}

  package var hasTurn: Bool { !paused.isEmpty }

  /// Stores a call until it can continue; returns its answer if there is one already.
  package mutating func keep(_ progress: CallProgress, for caller: Caller) -> HTTPAnswer? {
    switch progress {
    case .answer(let answer): return answer
    case .waits(let hub, let number, let next):
      waiting[ObjectIdentifier(hub), default: [:]][number] = (next, caller)
    case .pauses(let next): paused.append((next, caller))
    }
    return nil
  }

  /// Passes answers of a hub to their calls; returns the answers of finished calls.
  package mutating func take(from hub: Hub, at now: Instant) -> [(Caller, HTTPAnswer)] {
    hub.takeAnswers().compactMap { number, answer in
      guard let call = waiting[ObjectIdentifier(hub)]?.removeValue(forKey: number) else {
        return nil
      }
      return keep(call.next(answer, now), for: call.caller).map { (call.caller, $0) }
    }
  }

  /// Gives each paused call a turn; returns the answers of finished calls.
  package mutating func takeTurns(at now: Instant) -> [(Caller, HTTPAnswer)] {
    paused.takeAll().compactMap { next, caller in
      keep(next(now), for: caller).map { (caller, $0) }
    }
  }
}
