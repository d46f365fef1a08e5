internal import PusherCore
package import PusherServer

enum RedisChange: Int64 {
  case none = 0
  /// Clients and webhooks get a report.
  case told = 1
  /// The webhook of a departure is delayed, or an arrival cancels a delayed departure.
  case held = 2

  init(_ reply: RedisReply) {
    self = if case .integer(let number) = reply { Self(rawValue: number) ?? .none } else { .none }
  }

  init(_ field: String) { self = Int64(field).flatMap(RedisChange.init(rawValue:)) ?? .none }
}

// Departures with delayed webhooks.
//
// Redis holds them for all nodes of the app. An arrival on any node removes its departure in the
// step that counts the arrival. One node removes a departure that is due, and reports it. So the
// webhooks of a user alternate between arrivals and departures.
extension RedisMember {
  /// Maximum number of departures that one call of the script returns.
  static let departurePortion = 100

  /// Delay of a departure in milliseconds; empty for an app without webhooks or without a delay.
  var delayText: String {
    guard !setup.application.webhooks.isEmpty, webhookDelay > .zero else { return "" }
    return "\(max(webhookDelay.wholeNanoseconds / 1_000_000, 1))"
  }

  func tellDepartures() {
    if isActive, departures.askedAt == nil { takeDepartures(all: false) }
  }

  /// Removes departures from Redis and reports them; the last node also takes those not due yet.
  func takeDepartures(all: Bool) {
    guard !delayText.isEmpty else { return }
    departures.askedAt = now
    call("takeDepartures", [keys.departed], ["which": all ? "all" : ""], for: .departures(all: all))
  }

  func took(_ result: RedisResult, all: Bool, since registration: Int) {
    let asked = departures.askedAt
    departures.askedAt = nil
    guard case .success(.array(let values)) = result else {
      check(result, to: "the list of departures", since: registration)
      if all { endMembership() }
      return
    }
    for value in values { report(departure: value.content ?? []) }
    if values.count >= Self.departurePortion { return takeDepartures(all: all) }
    if all { endMembership() }
    if let asked { departures.held.removeAll { $0.due <= asked } }
  }

  private func report(departure bytes: [UInt8]) {
    guard let fields = RedisFields.decode(bytes), fields.count == 3 else { return }
    var notice =
      fields[1] == "m"
      ? WebhookNotice(.memberRemoved, fields[0], userID: fields[2])
      : WebhookNotice(.channelVacated, fields[0])
    notice.audience = .webhooks
    note(notice)
  }

  /// Stores the delayed departures again after Redis was emptied, unless the user is back.
  func holdAgain() {
    for departure in departures.held {
      call(
        "holdAgain", keys.channel(departure.channel),
        [
          "channel": departure.channel, "isMember": departure.userID == nil ? "0" : "1",
          "user": departure.userID ?? "", "delay": delayText,
        ], for: .check("the list of departures"))
    }
  }

  func noteDeparture(_ notice: WebhookNotice, _ change: RedisChange) {
    note(notice, change)
    guard change == .held else { return }
    departures.held.append(
      Departures.Held(
        channel: notice.channel, userID: notice.userID, due: now.advanced(by: webhookDelay)))
  }

  func noteJoined(_ name: String, as member: Member?, isFirst: RedisChange, isNew: RedisChange) {
    note(.init(.channelOccupied, name), isFirst)
    if let member {
      note(
        .init(.memberAdded, name, userID: member.userID, id: member.id, userInfo: member.info),
        isNew)
    }
  }

  private func note(_ notice: WebhookNotice, _ change: RedisChange) {
    switch change {
    case .none: return
    case .told: note(notice)
    case .held:
      var notice = notice
      notice.audience = .console
      note(notice)
    }
  }

  package func note(_ notice: WebhookNotice) {
    if setup.notes(notice) { outbox.add(notice) }
  }
}

extension RedisMember {
  /// The message with a channel's count, cut at the number; empty for an app without counts.
  func countText(_ name: String) -> (before: String, after: String) {
    guard setup.tellsCount(of: name) else { return ("", "") }
    let mark = 987_654_321_987
    let text = Array(setup.text.subscriptionCount(channel: name, count: mark).utf8)
    let digits = Array("\(mark)".utf8)
    // The last occurrence counts, because a channel's name may have any digits.
    let place = text.indices.last { text[$0...].starts(with: digits) } ?? 0
    return (
      String(decoding: text[..<place], as: UTF8.self),
      String(decoding: text[(place + digits.count)...], as: UTF8.self)
    )
  }

  /// Notes a changed count; the script itself publishes small counts at once.
  func noteCount(_ name: String, _ count: Int) {
    guard setup.tellsCount(of: name), count > 0 else { return }
    if roster.counts.note(name, count: count) { noteReported(count, name) }
  }

  private func noteReported(_ count: Int, _ name: String) {
    note(.init(.subscriptionCount, name, details: [.init("subscription_count", .integer(count))]))
  }

  func tellDueCounts() {
    for name in roster.counts.takeDue(at: now) where isActive {
      let (before, after) = countText(name)
      call(
        "tellCount", [keys.channel(name)[0], keys.counted(name)],
        [
          "bus": keys.bus(name), "channel": name, "before": before, "after": after,
          "milliseconds": Int(SubscriptionCounts.interval.components.seconds * 900),
        ], for: .count(name))
    }
  }

  func counted(_ name: String, _ result: RedisResult, since registration: Int) {
    check(result, to: "the count of \(name)", since: registration)
    if case .success(.integer(let count)) = result, count > 0 { noteReported(Int(count), name) }
  }
}
