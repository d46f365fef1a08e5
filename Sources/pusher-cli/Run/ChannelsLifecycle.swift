internal import PusherCore

/// Reports events of the channels of `subscribe`, and words the messages about its connection.
final class ChannelsLifecycle: Lifecycle {
  private let members: ChannelMembership
  private let settings: SubscribeSettings
  /// A `pusher:error` that waits for the message that explains it; most errors have one.
  private var pendingError: String?
  /// Unreported client events that the server dropped, and the limit.
  private var droppedEvents: (count: Int, cause: String)?
  /// Unreported client events that the server refused, and its reason.
  private var refusedEvents: (count: Int, reason: String)?
  private var hasToldLimit = false
  /// True after a warning about requests that wait; the next one tells how long all take.
  private var hasToldWait = false
  /// The last `pusher:error` with a code on this connection.
  private var lastError: (code: Int, text: String)?
  /// Skipped events that were reported; names above the limit are reported only with `-v`.
  private var namesLeftOut: Set<String> = []
  private static let mostNames = 16
  /// Replayed events, and the lost connections of channels after which none is missing.
  private(set) var recovered = (events: 0, channels: 0)
  /// The server of the present connection.
  private var host: String { (try? HTTPURL(parsing: place))?.host ?? settings.connection.host }

  init(
    settings: SubscribeSettings, loop: EventLoop, diagnostics: Diagnostics, printer: Printer?,
    members: ChannelMembership
  ) {
    (self.settings, self.members) = (settings, members)
    super.init(
      settings.printing, of: "connection to \(settings.connection.host)", at: "",
      look: SecondLook(settings.connection), printer: printer, loop: loop, diagnostics: diagnostics)
  }

  private var key: String { Diagnostics.shortened(key: settings.connection.key) }

  func report(_ event: SessionEvent) {
    switch event {
    case .connected(let socketID, let timeout): connected(socketID, timeout)
    case .subscribed(let channel, let presence):
      let members = presence.map { " (\(Quantities.words($0.count, of: "member")))" } ?? ""
      diagnostics.info("subscribed to \(channel)\(members)")
      // Building the list is expensive, so only `-L` does it.
      let list = settings.printing.printsLifecycle ? presence : nil
      line(
        name("subscription_succeeded"), of: channel, list.map { ["presence": $0.json] } ?? [:])
    case .subscriptionFailed(let channel, let failure): subscriptionFailed(channel, failure)
    case .authorizationDelayed(let channel, let reason, let delay):
      diagnostics.warning(
        "authorisation for \(channel) failed (\(reason)); retrying in \(delay.inWords)")
    case .signedIn(let userID, let userData):
      diagnostics.info("signed in as user \(userID)")
      line(name("signin_success"), ["user_data": userData])
    case .signInFailed(let failure): signInFailed(failure)
    case .signInDelayed(let reason, let delay):
      diagnostics.warning(
        "authentication of the user failed (\(reason)); retrying in \(delay.inWords)")
    case .watchlist(let change):
      printer?.print(
        event: name(change.name), channel: nil,
        data: ["user_ids": .array(change.userIds.map(JSONValue.string))])
    case .membersLeftOut(let channel, let limits):
      diagnostics.warning(
        "the member list of \(channel) is full (\(limits.members) members or "
          + "\(Quantities.words(size: limits.bytes))); it omits further members (--max-members N)")
    case .memberAdded(let channel, let member):
      printer?.print(
        event: name("member_added"), channel: channel, data: member.json, members: count(channel))
    case .memberRemoved(let channel, let member):
      printer?.print(
        event: name("member_removed"), channel: channel, data: member.json, members: count(channel))
    case .rateLimited(let limit): rateLimited(limit)
    case .clientEventsDropped(let count, let message): dropped(count, message)
    case .clientEventRefused(let message): clientEventRefused(message)
    case .error(let code, let message): error(code, message)
    case .decryptionFailed(let channel, let event, let data, let reason):
      unreadable += 1
      undecrypted(channel, event, data, reason)
    case .unknownInternalEvent(let name, let channel): leftOut(name, channel)
    case .malformed(let reason, let bytes):
      unreadable += 1
      malformed(reason, bytes)
    case .recovered(let channel, let count, _): recovered(channel, count)
    case .missed(let channel, let gap, let from, let to): missed(channel, gap, from, to)
    case .rewound(let channel, let data): rewound(channel, data)
    case .connection, .pong: break
    }
  }

  private func recovered(_ channel: String, _ count: Int) {
    recovered = (recovered.events + count, recovered.channels + 1)
    let events = Quantities.words(count, of: "event")
    diagnostics.info("no event of \(channel) is missing; the server replayed \(events)")
    line("pusher-cli:recovered", of: channel, ["count": .integer(count)])
  }

  private func missed(_ channel: String, _ gap: StreamGap, _ from: Instant, _ to: Instant) {
    func shown(_ text: String) -> String {
      ErrorText.shown(Redaction.redact(text), limit: 200)
    }
    let reason = shown(gap.reason)
    let place = gap.after.map { " after serial \($0.serial)" } ?? ""
    let cause = gap.code == StreamGap.unproven ? reason : "\(shown(gap.code)): \(reason)"
    let text = "events of \(channel)\(place) may be missing (\(cause))"
    pendingError = nil
    diagnostics.warning(text)
    let members = JSONValue.object(present: [
      "code": .string(shown(gap.code)), "reason": .string(reason),
      "serial": gap.after.map { .integer($0.serial) },
      "expected_stream_id": gap.after.map { .string($0.streamID) },
      "current_stream_id": gap.currentStreamID.map { .string(shown($0)) },
      "oldest_available_serial": gap.oldest.map { .integer($0) },
      "newest_available_serial": gap.newest.map { .integer($0) },
    ])
    printGap(
      from, to, at: loop.now, of: channel, nature: "gap in \(channel)", consequence: text,
      members.members ?? [])
  }

  /// A rewind that the server cut is news.
  private func rewound(_ channel: String, _ data: JSONValue) {
    let cuts = [("truncated_by_retention", "retention"), ("truncated_by_limit", "limit")]
      .filter { data[$0.0]?.bool == true }.map { "by its \($0.1)" }
    if !cuts.isEmpty || data["complete"]?.bool == false {
      let cause = cuts.isEmpty ? "" : " (cut \(cuts.joined(separator: " and ")))"
      diagnostics.warning(
        "the server has not all events of \(channel) that --rewind asks for\(cause)")
    }
    line(name("rewind_complete"), of: channel, data)
  }

  private func connected(_ socketID: String, _ timeout: Duration) {
    lastError = nil
    (hasToldLimit, hasToldWait) = (false, false)
    opened()
    let way = settings.connection.proxy(to: host).map { " through proxy \($0)" } ?? ""
    diagnostics.info("connected to \(host)\(way), socket \(socketID)")
    line(
      name("connection_established"),
      [
        "socket_id": .string(socketID),
        "activity_timeout": .integer(Int(timeout.components.seconds)), "host": .string(host),
      ])
  }

  /// Number of members of a presence channel, for pretty output; `nil` if unknown.
  private func count(_ channel: String) -> Int? {
    guard printer?.pretty != nil else { return nil }
    let roster = members.feed.session.roster(of: channel)
    return roster?.isCut == false ? roster?.count : nil
  }

  /// Adds the service's prefix to an event name.
  private func name(_ event: String) -> String { settings.connection.service.eventPrefix + event }

  private func signInFailed(_ failure: SubscriptionFailure) {
    var isSigned = false
    if case .secret = settings.userSignIn { isSigned = failure.status == 401 }
    // Reverb knows no pusher:signin, and answers any unknown event so.
    let isUnknown = failure.message.isSame(as: "Invalid message format")
    let remedy = isUnknown ? " (the server knows no sign-in, as Reverb: leave out --sign-in)" : ""
    refused("sign-in", "signin_error", nil, failure, isAboutSecret: isSigned, remedy: remedy)
  }

  private func subscriptionFailed(_ channel: String, _ failure: SubscriptionFailure) {
    let isAboutSecret =
      failure.status == 401
      || failure.status == nil && failure.type == "SubscriptionError"
        && ChannelKind(channelName: channel).needsAuthorization
    var isSigned = false
    if case .secret = settings.authorization { isSigned = isAboutSecret }
    refused(channel, "subscription_error", channel, failure, isAboutSecret: isSigned)
  }

  /// Reports a refusal by the server or the signer; adds a hint if our own signature may be wrong.
  private func refused(
    _ what: String, _ event: String, _ channel: String?, _ failure: SubscriptionFailure,
    isAboutSecret: Bool, remedy: String = ""
  ) {
    pendingError = nil
    let message = Redaction.redact(failure.message)
    let hint = isAboutSecret ? " (does the secret belong to key \(key)?)" : remedy
    let text = "\(what) refused: \(message)\(hint)"
    let shouldRetry = channel.map { settings.feed.goesOnAfterRefusals || !isTyped($0) } ?? false
    shouldRetry ? diagnostics.warning(text) : diagnostics.error(text)
    line(
      name(event), of: channel,
      [
        "type": .string(failure.type), "error": .string(message),
        "status": failure.status.map(JSONValue.integer) ?? .null,
      ])
  }

  /// Returns whether the command line names a channel.
  private func isTyped(_ channel: String) -> Bool {
    settings.channels.contains { $0.isSame(as: channel) }
  }

  private func error(_ code: Int?, _ text: String) {
    let message = Redaction.redact(text)
    flushPendingError()
    let number = code.map { " \($0)" } ?? ""
    let said =
      "the server reports error\(number)"
      + (message.isEmpty ? " and gives no reason" : (code == nil ? " " : ": ") + message)
    // The server reports one limit many times.
    let isLimit = ErrorSubject(code: code, message: text) == .rateLimit
    if !isLimit || !hasToldLimit { pendingError = said }
    if let code { lastError = (code, said) }
    line(
      name("error"), ["code": code.map(JSONValue.integer) ?? .null, "message": .string(message)])
  }

  private func rateLimited(_ limit: RateLimit) {
    pendingError = nil
    hasToldLimit = true
    let words = Redaction.redact(limit.inWords)
    hasToldWait && limit.plan == nil ? diagnostics.info(words) : diagnostics.warning(words)
    hasToldWait = true
    line(
      "pusher-cli:rate_limited",
      .object(present: [
        "code": limit.message == nil ? JSONValue.null : .integer(RateLimit.code),
        "message": limit.message.map { JSONValue.string(Redaction.redact($0)) } ?? JSONValue.null,
        "waiting": .integer(limit.waiting), "retry_in": .number(limit.retryIn.secondsText),
        "requests": limit.plan.map { JSONValue.integer($0.requests) },
        "interval": limit.plan.map { JSONValue.number($0.interval.secondsText) },
        "all_in": limit.plan.map { JSONValue.number($0.rest.secondsText) },
      ]))
  }

  private func dropped(_ count: Int, _ message: String) {
    pendingError = nil
    hasToldLimit = true
    let cause = Redaction.redact(RateLimit.cause(message))
    droppedEvents = ((droppedEvents?.count ?? 0) + count, cause)
  }

  private func clientEventRefused(_ message: String) {
    pendingError = nil
    refusedEvents = ((refusedEvents?.count ?? 0) + 1, Redaction.redact(message))
  }

  /// Reports dropped and refused client events, and the last `pusher:error` unless a later message
  /// explained it.
  func flushPendingError() {
    if let (count, cause) = droppedEvents {
      droppedEvents = nil
      diagnostics.warning(
        "\(cause): the server dropped \(Quantities.words(count, of: "client event"))")
    }
    if let (count, reason) = refusedEvents {
      refusedEvents = nil
      diagnostics.warning(
        "the server refused \(Quantities.words(count, of: "client event")): \(reason)")
    }
    guard let text = pendingError else { return }
    pendingError = nil
    diagnostics.warning(text)
  }

  private func undecrypted(_ channel: String, _ event: String, _ data: String?, _ reason: String) {
    diagnostics.warning("cannot decrypt \(event) on \(channel): \(Redaction.redact(reason))")
    line(
      "pusher-cli:decryption_failed", of: channel,
      [
        "event": .string(event), "reason": .string(Redaction.redact(reason)),
        "data": data.map(JSONValue.string) ?? .null,
      ])
  }

  /// Warns once per name, because the event may come often.
  private func leftOut(_ name: String, _ channel: String?) {
    let place = channel.map { " on \($0)" } ?? ""
    let text = "skipped \(name)\(place): this version does not know this internal event"
    let isNew = namesLeftOut.count < Self.mostNames && namesLeftOut.insert(name).inserted
    isNew ? diagnostics.warning(text) : diagnostics.info(text)
  }

  private func malformed(_ reason: String, _ bytes: [UInt8]) {
    diagnostics.warning("skipped a message that is not a Pusher event (\(reason))")
    line(
      "pusher-cli:bad_frame", ["reason": .string(reason), "base64": .string(Base64.encode(bytes))])
  }

  // MARK: The words

  override func closed() {
    // A loss has its own message, so an earlier error is dropped.
    pendingError = nil
  }

  /// Returns the reason for a loss; an error before a dropped socket explains more than the loss.
  override func cause(_ loss: ConnectionLoss, _ code: Int?) -> String {
    if case .closed(code, _) = loss { return "\(loss)" }
    guard let code, let lastError, lastError.code == code else { return "\(loss)" }
    return lastError.text
  }

  override func back(after length: Duration) -> (text: String, isUsual: Bool) {
    guard settings.connection.service.replaysEvents else { return super.back(after: length) }
    return (
      "back after \(length.inWords); events sent meanwhile are lost (the server keeps none)", false
    )
  }

  override var consequenceOfGap: String {
    settings.gap == nil ? super.consequenceOfGap : "--on-gap asks for the missed events"
  }

  override func explanation(
    _ loss: ConnectionLoss, _ code: Int?, isFirst: Bool, isFound: Bool
  ) -> String {
    let text = cause(loss, code)
    return isFirst
      ? settings.hints.explained(text, loss, code: code, isFound: isFound) + Hints.tryCheck(loss)
      : text + settings.hints.hint(loss, code: code, isFound: isFound)
  }
}

extension PusherPresenceChannelMember {
  fileprivate var json: JSONValue {
    .object(present: [
      "user_id": .string(userId), "user_info": userInfo == .null ? .none : userInfo,
    ])
  }
}
