internal import PusherCore

/// Tells what happens to the connection and its channels: to people on stderr, and with `-L` as lines on stdout.
final class Lifecycle {
  private let settings: SubscribeSettings
  private let diagnostics: Diagnostics
  private let printer: EventPrinter
  /// A `pusher:error` that nothing has explained yet; most are followed by what they led to.
  private var pendingError: String?
  /// The last `pusher:error` of this connection that had a code, in words.
  private var lastError: (code: Int, text: String)?
  /// The events left out that the user has been told of; further names are told of with `-v` only.
  private var namesLeftOut: Set<String> = []
  private static let mostNames = 16
  private let hints: Hints
  /// Whom the present connection is to; a redirect changes it.
  private var host: String

  private let startedAt: Instant
  /// Where the connection stands, for whoever asks.
  private var state = "connecting"
  private var reconnects = 0
  private var hasBeenConnected = false

  init(
    settings: SubscribeSettings, diagnostics: Diagnostics, printer: EventPrinter,
    startedAt: Instant
  ) {
    self.startedAt = startedAt
    self.settings = settings
    self.diagnostics = diagnostics
    self.printer = printer
    hints = Hints(connection: settings.connection, subprotocols: settings.subprotocols)
    host = settings.connection.host
  }

  private var key: String { Diagnostics.shortened(key: settings.connection.key) }

  /// Says and prints one happening.
  func report(_ event: SessionEvent, at now: Instant) {
    switch event {
    case .connected(let socketID, let timeout): connected(socketID, timeout)
    case .subscribed(let channel, let presence):
      let members = presence.map { " (\($0.count) there)" } ?? ""
      diagnostics.info("subscribed to \(channel)\(members)")
      // The list is made only for those who want to see it.
      let list = settings.printing.printsLifecycle ? presence : nil
      line(
        name("subscription_succeeded"), channel, list.map { [.init("presence", $0.json)] } ?? [])
    case .subscriptionFailed(let channel, let failure): subscriptionFailed(channel, failure)
    case .authorizationDelayed(let channel, let reason, let delay):
      diagnostics.warning(
        "authorisation for \(channel) failed (\(reason)); asking again in \(delay.inWords)")
    case .signedIn(let userID, let userData):
      diagnostics.info("signed in as user \(userID)")
      line(name("signin_success"), nil, [.init("user_data", userData)])
    case .signInFailed(let failure): signInFailed(failure)
    case .signInDelayed(let reason, let delay):
      diagnostics.warning(
        "authentication of the user failed (\(reason)); asking again in \(delay.inWords)")
    case .watchlist(let isOnline, let userIDs):
      printer.print(
        event: name(isOnline ? "online" : "offline"), channel: nil,
        data: .object([.init("user_ids", .array(userIDs.map(JSONValue.string)))]))
    case .membersLeftOut(let channel, let limits):
      diagnostics.warning(
        "\(channel) has more members than are kept, \(limits.members) or "
          + "\(Quantities.words(size: limits.bytes)); its list leaves the others out (--max-members N)"
      )
    case .memberAdded(let channel, let member):
      printer.print(event: name("member_added"), channel: channel, data: member.json)
    case .memberRemoved(let channel, let member):
      printer.print(event: name("member_removed"), channel: channel, data: member.json)
    case .error(let code, let message): error(code, message)
    case .redirected(let status, let place):
      diagnostics.info("redirected (\(status)) to \(place)")
      host = (try? HTTPURL(parsing: place))?.host ?? host
    case .disconnected(let loss, let code, let delay, let attempt):
      disconnected(loss, code, delay, attempt)
    case .gap(let from, let to): gap(from, to, at: now)
    case .decryptionFailed(let channel, let event, let data, let reason):
      undecrypted(channel, event, data, reason)
    case .unknownInternalEvent(let name, let channel): leftOut(name, channel)
    case .malformed(let reason, let bytes): malformed(reason, bytes)
    case .ended(let reason): ended(reason)
    }
  }

  private func connected(_ socketID: String, _ timeout: Duration) {
    lastError = nil
    hasBeenConnected = true
    state = "connected"
    let way = settings.connection.proxy(to: host).map { " through proxy \($0)" } ?? ""
    diagnostics.info("connected to \(host)\(way), socket \(socketID)")
    line(
      name("connection_established"), nil,
      [
        .init("socket_id", .string(socketID)),
        .init("activity_timeout", .integer(Int(timeout.components.seconds))),
        .init("host", .string(host)),
      ])
  }

  /// What the service calls one of the protocol's events.
  private func name(_ event: String) -> String {
    settings.connection.service.eventPrefix + event
  }

  private func signInFailed(_ failure: SubscriptionFailure) {
    pendingError = nil
    let message = Redaction.redact(failure.message)
    var hint = ""
    if case .secret = settings.userSignIn, failure.status == 401 {
      hint = " (does the secret belong to key \(key)?)"
    }
    diagnostics.error("sign-in refused: \(message)\(hint)")
    line(
      name("signin_error"), nil,
      [
        .init("type", .string(failure.type)), .init("error", .string(message)),
        .init("status", failure.status.map(JSONValue.integer) ?? .null),
      ])
  }

  private func line(_ event: String, _ channel: String?, _ data: [JSONValue.Member]) {
    guard settings.printing.printsLifecycle else { return }
    printer.printLifecycle(event: event, channel: channel, data: .object(data))
  }

  private func subscriptionFailed(_ channel: String, _ failure: SubscriptionFailure) {
    pendingError = nil
    let message = Redaction.redact(failure.message)
    var hint = ""
    let isAboutSecret =
      failure.status == 401
      || failure.status == nil && failure.type == "SubscriptionError"
        && ChannelKind(channelName: channel).needsAuthorization
    if case .secret = settings.authorization, isAboutSecret {
      hint = " (does the secret belong to key \(key)?)"
    }
    diagnostics.error("\(channel) refused: \(message)\(hint)")
    line(
      name("subscription_error"), channel,
      [
        .init("type", .string(failure.type)), .init("error", .string(message)),
        .init("status", failure.status.map(JSONValue.integer) ?? .null),
      ])
  }

  private func error(_ code: Int?, _ text: String) {
    let message = Redaction.redact(text)
    flushPendingError()
    let said = "the server reports error \(code.map { "\($0): " } ?? "")\(message)"
    pendingError = said
    if let code { lastError = (code, said) }
    line(
      name("error"), nil,
      [.init("code", code.map(JSONValue.integer) ?? .null), .init("message", .string(message))])
  }

  /// Says the last `pusher:error` if it led to nothing that has been said since.
  func flushPendingError() {
    guard let text = pendingError else { return }
    pendingError = nil
    diagnostics.warning(text)
  }

  private func disconnected(
    _ loss: ConnectionLoss, _ code: Int?, _ delay: Duration?, _ attempt: Int
  ) {
    pendingError = nil
    state = "disconnected"
    host = settings.connection.host
    if let delay {
      reconnects += 1
      state = "reconnecting"
      let when = delay == .zero ? "now" : "in \(delay.inWords)"
      diagnostics.warning("connection lost (\(words(loss, code))); retrying \(when)")
    }
    line(
      "pusher-cli:disconnected", nil,
      [
        .init("code", code.map(JSONValue.integer) ?? .null),
        .init("reason", .string(words(loss, code))),
        .init("retry_in", delay.map { .number($0.secondsText) } ?? .null),
        .init("attempt", .integer(attempt)),
      ])
  }

  /// Why a connection ended: a socket that drops after an error says less than the error did.
  private func words(_ loss: ConnectionLoss, _ code: Int?) -> String {
    if case .closed(code, _) = loss { return "\(loss)" }
    guard let code, let lastError, lastError.code == code else { return "\(loss)" }
    return lastError.text
  }

  private func undecrypted(_ channel: String, _ event: String, _ data: String?, _ reason: String) {
    diagnostics.warning("\(event) on \(channel) cannot be decrypted: \(Redaction.redact(reason))")
    line(
      "pusher-cli:decryption_failed", channel,
      [
        .init("event", .string(event)), .init("reason", .string(Redaction.redact(reason))),
        .init("data", data.map(JSONValue.string) ?? .null),
      ])
  }

  private func gap(_ from: Instant, _ to: Instant, at now: Instant) {
    let length = from.duration(to: to)
    diagnostics.warning(
      "back after \(length.inWords); events sent meanwhile are lost (Pusher Channels keeps none)")
    let wall = SystemClock.wall()
    line(
      "pusher-cli:gap", nil,
      [
        .init("from", .string(wall.advanced(by: now.duration(to: from)).rfc3339)),
        .init("to", .string(wall.advanced(by: now.duration(to: to)).rfc3339)),
        .init("seconds", .number(length.secondsText)),
      ])
  }

  /// Says each name once, since it may come with every event for as long as this version is in use.
  private func leftOut(_ name: String, _ channel: String?) {
    let place = channel.map { " on \($0)" } ?? ""
    let text = "left out \(name)\(place): the service's own, and not known to this version"
    let isNew = namesLeftOut.count < Self.mostNames && namesLeftOut.insert(name).inserted
    isNew ? diagnostics.warning(text) : diagnostics.info(text)
  }

  private func malformed(_ reason: String, _ bytes: [UInt8]) {
    diagnostics.warning("left out a message that is no Pusher event (\(reason))")
    line(
      "pusher-cli:bad_frame", nil,
      [.init("reason", .string(reason)), .init("base64", .string(Base64.encode(bytes)))])
  }

  private func ended(_ reason: SessionEnd) {
    switch reason {
    case .asked: break
    case .lost(let loss, let code): diagnostics.error(explained(loss, code))
    case .retriesExhausted(let loss, let code, let attempts):
      diagnostics.error("gave up after \(attempts) attempts: \(explained(loss, code))")
    }
  }

  /// Why the last connection ended, and what to do; where one has stood before, the way to it is right.
  private func explained(_ loss: ConnectionLoss, _ code: Int?) -> String {
    let text = words(loss, code)
    return hasBeenConnected
      ? text + hints.hint(loss, code: code) : hints.explained(text, loss, code: code)
  }

  /// Answers the question how things are, whatever the verbosity.
  func printStatus(events: Int, queued: Int, at now: Instant) {
    diagnostics.answerStatus(
      state, startedAt: startedAt, events: events, reconnects: reconnects, queued: queued, at: now)
  }

  /// The last line of a run with `-L`.
  func printExit(_ status: Int32, reason: String, events: Int) {
    line(
      "pusher-cli:exit", nil,
      [
        .init("status", .integer(Int(status))), .init("reason", .string(reason)),
        .init("events", .integer(events)),
      ])
  }

  /// Shows a frame that came, for `-vv`.
  func trace(received message: ByteView) {
    diagnostics.debug("< \(Redaction.redact(message.text))")
  }

  /// Shows a frame that goes out, for `-vv`.
  func trace(sent message: String) {
    diagnostics.debug("> \(Redaction.redact(message))")
  }
}

extension PusherPresenceChannelMember {
  /// The member as the protocol writes it.
  fileprivate var json: JSONValue {
    let id = JSONValue.Member("user_id", .string(userId))
    return .object(userInfo == .null ? [id] : [id, .init("user_info", userInfo)])
  }
}

extension Diagnostics {
  /// How a run stands, in one line.
  func answerStatus(
    _ state: String, startedAt: Instant, events: Int, reconnects: Int, queued: Int, at now: Instant
  ) {
    let up = startedAt.duration(to: now)
    let tenths = events * 10_000 / max(Int(up.wholeNanoseconds / 1_000_000), 1)
    answer(
      "\(state), up \(up.inWords), \(events) events (\(tenths / 10).\(tenths % 10)/s), "
        + "\(reconnects) reconnects, \(queued) bytes queued")
  }
}

extension Duration {
  /// Seconds with at most three decimals, as a JSON number.
  var secondsText: String {
    let milliseconds = (wholeNanoseconds + 500_000) / 1_000_000
    let fraction = String(milliseconds % 1000 + 1000).dropFirst()
    var text = "\(milliseconds / 1000).\(fraction)"
    while text.hasSuffix("0") { text.removeLast() }
    if text.hasSuffix(".") { text.removeLast() }
    return text
  }
}
