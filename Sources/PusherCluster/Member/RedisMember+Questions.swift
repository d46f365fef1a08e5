package import PusherCore
package import PusherServer

extension RedisMember {
  package func ask(_ question: ClusterQuestion, at now: Instant) -> ClusterReply {
    self.now = now
    switch question {
    case .join(let request):
      if request.isSecond, !request.isAgain {
        leave(request.channel, userID: request.formerUserID, at: now)
      }
      return .later(ask(.join(request)))
    case .signIn(let user, let socketID):
      roster.users[user.id, default: 0] += 1
      return .later(ask(.signIn(user, socketID: socketID)))
    case .admit(let events, let bytes): return admit(events: events, bytes: bytes)
    case .published: return calls.waitForEvents().map { .later($0) } ?? .answered(.published(true))
    case .facts(let names, let withMembers):
      guard isActive else { return .answered(.facts(nil)) }
      guard !names.isEmpty else { return .answered(.facts([])) }
      let number = calls.nextNumber()
      askFacts(names, number, wantsNames: false, withMembers: withMembers)
      return .later(number)
    case .channels(let prefix):
      guard isActive else { return .answered(.channels(nil)) }
      let number = calls.nextNumber()
      command("SMEMBERS", keys.nodes, for: .question(number, .nodes(prefix: prefix)))
      return .later(number)
    }
  }

  private func admit(events: Int, bytes: Int) -> ClusterReply {
    guard isActive else { return .answered(.admission(.unavailable)) }
    guard hasQuota else { return .answered(.admission(.admitted)) }
    let number = calls.nextNumber()
    countEvents(events, bytes: bytes, for: .question(number, .admission))
    return .later(number)
  }

  var hasQuota: Bool {
    let limits = setup.application.limits
    return limits.eventsPerSecond != nil || limits.bytesPerSecond != nil
  }

  func countEvents(
    _ events: Int, bytes: Int, isTrial: Bool = false, for purpose: ClusterOrder.Purpose
  ) {
    let limits = setup.application.limits
    func text(_ limit: Int?) -> String { isTrial ? "" : limit.map { "\($0)" } ?? "" }
    call(
      "admit", keys.quotas,
      [
        "events": events, "bytes": bytes, "eventLimit": text(limits.eventsPerSecond),
        "byteLimit": text(limits.bytesPerSecond),
      ], for: purpose)
  }

  private func askFacts(
    _ names: [String], _ number: Int, wantsNames: Bool, withMembers: Bool = false
  ) {
    calls.facts[number] = WaitingCalls.Facts(
      missing: withMembers ? 2 * names.count : names.count, wantsNames: wantsNames)
    for name in names {
      call("facts", keys.channel(name), [:], for: .question(number, .facts(name)))
      if withMembers { askMembers(of: name, from: "0", number) }
    }
  }

  private func askMembers(of name: String, from cursor: String, _ number: Int) {
    command(
      "HSCAN", keys.members(name), cursor, "COUNT", HashPage.size,
      for: .question(number, .members(name)))
  }

  // MARK: Answers

  func answered(
    _ number: Int, _ step: ClusterOrder.QuestionStep, _ result: RedisResult, since registration: Int
  ) {
    switch step {
    case .admission:
      check(result, to: "the count of events", since: registration)
      outbox.add(.answer(number, .admission(admission(result))))
    case .facts(let name):
      checkCall(result, to: "the facts of \(name)")
      let facts = ChannelFacts(name: name, result)
      calls.facts[number]?.known.append(facts ?? ChannelFacts(name: name))
      noteFacts(number, isKnown: facts != nil)
    case .members(let name):
      checkCall(result, to: "the members of \(name)")
      let page = HashPage(result)
      if let page { calls.facts[number]?.lists[name, default: MemberPages()].take(page) }
      if let next = page?.next { return askMembers(of: name, from: next, number) }
      noteFacts(number, isKnown: page != nil)
    case .nodes(let prefix):
      guard case .success(.array(let nodes)) = result, !nodes.isEmpty else {
        return noNames(result, to: "SMEMBERS", number)
      }
      let sets = nodes.compactMap(\.content).map {
        keys.channels(of: String(decoding: $0, as: UTF8.self))
      }
      order(.command([Array("SUNION".utf8)] + sets), .question(number, .names(prefix: prefix)))
    case .names(let prefix):
      guard case .success(.array(let values)) = result else {
        return noNames(result, to: "SUNION", number)
      }
      let names = values.compactMap(\.content).map { String(decoding: $0, as: UTF8.self) }
        .filter { $0.begins(with: prefix) }.sorted()
      // The list of a node may have a channel without subscribers.
      if isActive, !names.isEmpty { return askFacts(names, number, wantsNames: true) }
      outbox.add(.answer(number, .channels(isActive ? [] : nil)))
    }
  }

  private func admission(_ result: RedisResult) -> Admission {
    let limits = setup.application.limits
    switch result {
    case .success(.integer(1)): return .overQuota(limits.refusal(ofEvents: true))
    case .success(.integer(2)): return .overQuota(limits.refusal(ofEvents: false))
    case .success(.integer): return .admitted
    default: return .unavailable
    }
  }

  private func noNames(_ result: RedisResult, to what: String, _ number: Int) {
    checkCall(result, to: what)
    outbox.add(.answer(number, .channels(nil)))
  }

  /// Counts an answer, and answers the question after the last one.
  private func noteFacts(_ number: Int, isKnown: Bool) {
    guard var waiting = calls.facts[number] else { return }
    waiting.missing -= 1
    waiting.isKnown = waiting.isKnown && isKnown
    guard waiting.missing == 0 else {
      calls.facts[number] = waiting
      return
    }
    calls.facts[number] = nil
    for index in waiting.known.indices {
      let list = waiting.lists[waiting.known[index].name]?.view.list
      waiting.known[index].members = list ?? MemberList()
    }
    let known = waiting.isKnown ? waiting.known : nil
    outbox.add(
      .answer(
        number,
        waiting.wantsNames
          ? .channels(known?.filter { $0.subscriptions > 0 }.map(\.name)) : .facts(known)))
  }

  // MARK: Events

  package func publish(_ event: ChannelEvent, at now: Instant) -> Publication {
    self.now = now
    guard isActive else { return .everywhere }
    calls.notePublished()
    let message = RedisFields.encode([
      "m", event.channel, event.isFromClient ? "2" : "1", event.excluded ?? "",
      event.text,
    ])
    guard event.isKept else {
      command("PUBLISH", keys.bus(event.channel), message, for: .publish)
      return .everywhere
    }
    let kept = CachedEvents.Event(name: event.name, data: event.data ?? .null, expiry: nil)
    call(
      "keep", [keys.event(event.channel)],
      [
        "event": kept.stored,
        "milliseconds": setup.limits.times.cachedEvent.map { "\($0.wholeNanoseconds / 1_000_000)" }
          ?? "", "bus": keys.bus(event.channel), "message": message,
      ], for: .publish)
    return .everywhere
  }

  package func terminate(userID: String, at now: Instant) -> Bool {
    self.now = now
    guard isActive else { return false }
    calls.notePublished()
    command("PUBLISH", keys.usersBus, RedisFields.encode(["t", userID]), for: .publish)
    return true
  }

  func published(_ result: RedisResult, since registration: Int) {
    // An overload fails this event alone, so only refusals of Redis are checked.
    if case .success = result { check(result, to: "PUBLISH", since: registration) }
    var isTaken = false
    if case .success(let reply) = result { isTaken = reply.errorCode == nil }
    for (number, isTaken) in calls.noteAnswer(isTaken: isTaken) {
      outbox.add(.answer(number, .published(isTaken)))
    }
  }
}

extension ChannelFacts {
  fileprivate init?(name: String, _ result: RedisResult) {
    guard case .success(.array(let values)) = result, values.count == 4,
      case .integer(let count) = values[0], case .integer(let timeLeft) = values[2],
      case .integer(let users) = values[3]
    else { return nil }
    self.init(name: name)
    (subscriptions, memberCount) = (Int(count), Int(users))
    let event = String(decoding: values[1].content ?? [], as: UTF8.self)
    if let event = CachedEvents.Event(stored: event) {
      cached = CachedFacts(
        name: event.name, data: event.data.text ?? JSONWriter.text(event.data),
        timeLeft: timeLeft > 0 ? .milliseconds(timeLeft) : nil)
    }
  }
}
