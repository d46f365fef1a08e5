internal import PusherCore

extension Dialect {
  package static let reverb: Dialect = {
    var dialect = Dialect.compatible(
      "reverb", name: "Reverb",
      [.pingsWithFrames, .answersInfo, .countsConnections, .readsBinary, .limitsMessages])
    dialect.limits.times.ping = .seconds(60)
    dialect.limits.times.pong = .seconds(60)
    dialect.limits.sizes.clientMessage = 10_000
    dialect.limits.sizes.apiBody = 10_000
    dialect.limits.sizes.eventData = 10_000
    dialect.limits.channelsOfEvent = .max
    dialect.limits.batch = .max
    dialect.limits.presenceMembers = .max
    dialect.limits.sizes.channelData = .max
    dialect.limits.times.cachedEvent = nil
    dialect.text.embedsErrors = true
    dialect.text.pingData = nil
    dialect.text.pongData = nil
    dialect.mistakes[.uselessMessage] = .words(.generic, "Invalid message format")
    dialect.mistakes[.clientEvent] = .words(.generic, "Invalid message format")
    dialect.mistakes[.notMember] = .words(
      .unauthorized, "The client is not a member of the specified channel.")
    dialect.mistakes[.messageRate] = .words(.clientEventRate, "Rate limit exceeded")
    dialect.batchDone = ["batch": [:]]
    dialect.kind = reverbKind
    dialect.isCache = { channel in
      ["cache", "private-cache-", "presence-cache-"].contains { channel.begins(with: $0) }
    }
    // Reverb accepts all names except the empty name.
    dialect.channelProblem = { $0.isEmpty ? ChannelName.problem(in: $0) : nil }
    dialect.eventProblem = { $0.isEmpty ? TriggerRequest.problem(inName: $0) : nil }
    dialect.refused = { text, refusal, channel in
      switch refusal.cause {
      case .unauthorized: text.error(code: .unauthorized, message: "Connection is unauthorized")
      case .malformedMember: text.error(code: .generic, message: "Invalid message format")
      default: text.error(code: refusal.code, message: refusal.reason, channel: channel)
      }
    }
    // Reverb parses string data as JSON and refuses all other strings; missing data is `null`.
    dialect.relayed = { data in
      guard case .string(let text) = data else { return .some(data ?? .null) }
      return (try? JSONParser.parse(text)).map { .some($0) }
    }
    dialect.page = { $0 == "/up" ? .json(["health": "OK"]) : nil }
    dialect.cached = { event, _, channel in
      [
        "event": .string(event.name), "data": .string(event.data.dataText),
        "channel": .string(channel),
      ]
    }
    dialect.usersRefusal = { channel in
      guard channel.subscriptions > 0 else { return .json(.object([]), status: 404) }
      return reverbKind(channel.name) == .presence ? nil : .json(.object([]), status: 400)
    }
    dialect.eventRefusal = { event in
      var report = FieldReport()
      report.check(event, mayHaveChannels: true)
      return report.refusal
    }
    dialect.batchRefusal = { body in
      var report = FieldReport()
      report.check("batch", body, isArray: true)
      for (index, event) in (body["batch"]?.elements ?? []).enumerated() {
        report.place = "batch.\(index)."
        report.check(event, mayHaveChannels: false)
      }
      return report.refusal
    }
    return dialect
  }()

  /// Reverb matches prefixes without the dash, and treats encrypted channels as private.
  @Sendable private static func reverbKind(_ channel: String) -> ChannelKind {
    if channel.begins(with: "private") { return .private }
    return channel.begins(with: "presence") ? .presence : .public
  }
}

/// Mistakes in the fields of a body, one message per field, in the order of the fields.
private struct FieldReport {
  var place = ""
  private var messages: [JSONValue.Member] = []

  var refusal: HTTPAnswer? { messages.isEmpty ? nil : .json(.object(messages), status: 422) }

  mutating func check(_ event: JSONValue, mayHaveChannels: Bool) {
    check("name", event)
    check("data", event)
    if mayHaveChannels { check("channels", event, isArray: true, unless: "channel") }
    check("channel", event, unless: "channels")
    check("socket_id", event, isRequired: false)
    check("info", event, isRequired: false)
  }

  /// Checks one field of `value`; the field may be missing if `other` is present.
  mutating func check(
    _ name: String, _ value: JSONValue, isArray: Bool = false, isRequired: Bool = true,
    unless other: String? = nil
  ) {
    let isMissing = Self.isEmpty(value[name]) && other.map { Self.isEmpty(value[$0]) } ?? true
    if isRequired, isMissing {
      return add(name, "is required" + (other.map { " when \($0) is not present" } ?? ""))
    }
    guard let field = value[name] else { return }
    if !isArray, field.text == nil { add(name, "must be a string") }
    if isArray, field.elements == nil, field.members == nil { add(name, "must be an array") }
  }

  private mutating func add(_ name: String, _ what: String) {
    let shown = String((place + name).map { $0 == "_" ? " " : $0 })
    messages.append(.init(place + name, .array([.string("The \(shown) field \(what).")])))
  }

  /// Counts `null`, blank text, and empty arrays and objects as missing.
  private static func isEmpty(_ value: JSONValue?) -> Bool {
    switch value {
    case nil, .null: true
    case .string(let text): text.utf8.allSatisfy { $0 == 0x20 || 9...13 ~= $0 }
    case .array(let elements): elements.isEmpty
    case .object(let members): members.isEmpty
    case .bool, .number: false
    }
  }
}
