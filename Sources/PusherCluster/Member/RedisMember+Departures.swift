package import PusherCore
internal import PusherServer

extension RedisMember {
  package func leave(_ name: String, userID: String?, at now: Instant) {
    self.now = now
    guard let channel = roster.channels[name] else { return }
    let member = userID.flatMap { channel.members[$0]?.member }
    channel.remove(userID)
    let departure = Departures.Subscription(channel: name, member: member)
    if isActive { countOut(departure) } else { departures.subscriptions.append(departure) }
    forgetIfEmpty(name)
  }

  func countOut(_ departure: Departures.Subscription) {
    let name = departure.channel
    let userID = departure.member?.userID
    let (before, after) = countText(name)
    departures.unanswered += 1
    departures.unansweredOn[name, default: 0] += 1
    call(
      "leave", keys.channel(name),
      [
        "node": identity.id, "bus": keys.bus(name), "channel": name,
        "isMember": userID == nil ? "0" : "1", "user": userID ?? "", "before": before,
        "after": after, "leaseEnd": identity.leaseEnd, "delay": delayText,
      ], for: .leave(departure))
  }

  func countedOut(
    _ departure: Departures.Subscription, _ result: RedisResult, since registration: Int
  ) {
    defer { departureAnswered() }
    let name = departure.channel
    let count = departures.unansweredOn[name] ?? 1
    departures.unansweredOn[name] = count == 1 ? nil : count - 1
    guard case .success(.array(let values)) = result, values.count == 3 else {
      departures.doubtful.insert(name)
      check(result, to: "the departure from \(name)", since: registration)
      // The departure may not have been counted; then the removal of the former entries counts it.
      return departures.subscriptions.append(departure)
    }
    if values[2] == .integer(-1) {
      departures.doubtful.insert(name)
      departures.subscriptions.append(departure)
      return noticeLoss(since: registration)
    }
    if isCurrent(registration) { noteCountedOut(name) }
    if let member = departure.member {
      noteDeparture(
        .init(.memberRemoved, name, userID: member.userID, id: member.id), RedisChange(values[1]))
    }
    noteDeparture(.init(.channelVacated, name), RedisChange(values[0]))
    if case .integer(let count) = values[2] { noteCount(name, Int(count)) }
  }

  package func signOut(_ userID: String, at now: Instant) {
    self.now = now
    guard let count = roster.users[userID] else { return }
    roster.users[userID] = count == 1 ? nil : count - 1
    if isActive { signOut(userID) } else { departures.users.append(userID) }
  }

  func signOut(_ userID: String) {
    departures.unanswered += 1
    signOut(
      userID, connections: 1, of: identity.id, leaseEnd: "\(identity.leaseEnd)",
      for: .signOut(userID: userID))
  }

  /// - Parameter leaseEnd: Empty for the entries of a dead node.
  func signOut(
    _ userID: String, connections: Int, of node: String, leaseEnd: String,
    for purpose: ClusterOrder.Purpose
  ) {
    call(
      "signOut", [keys.users, keys.users(of: node)],
      [
        "bus": keys.usersBus, "user": userID, "left": setup.text.watchlist(offline: [userID]),
        "connections": connections, "leaseEnd": leaseEnd,
      ], for: purpose)
  }

  func signedOut(_ userID: String, _ result: RedisResult, since registration: Int) {
    defer { departureAnswered() }
    guard case .success(.integer(let change)) = result else {
      check(result, to: "a sign-out", since: registration)
      return departures.users.append(userID)
    }
    guard change < 0 else { return }
    departures.users.append(userID)
    noticeLoss(since: registration)
  }

  private func departureAnswered() {
    departures.unanswered -= 1
    if departures.endsMembership, departures.unanswered == 0 { endMembership() }
  }

  // MARK: Shutdown

  /// Ends the membership once Redis has answered all departures.
  package func resign(at now: Instant) {
    self.now = now
    departures.endsMembership = true
    if departures.unanswered == 0 { endMembership() }
  }

  func endMembership() {
    guard !hasLeft else { return }
    // The last node reports the departures that are not due yet, before it leaves.
    if isActive, others.count == 1, !departures.areTaken, !delayText.isEmpty {
      departures.areTaken = true
      return takeDepartures(all: true)
    }
    let (wasRegistered, wasActive, id) = (isRegistered, isActive, identity.id)
    // Answers to earlier orders must not cause another registration.
    identity.registration += 1
    state = .left
    guard wasRegistered else { return }
    let isComplete =
      sockets.requests.isEmpty && departures.isEmpty
      && roster.channels.elements.allSatisfy(\.unlisted.isEmpty)
    guard wasActive, isComplete else {
      // Another node counts out the sockets that left in the meantime.
      return send("DEL", keys.lease(id))
    }
    send("DEL", keys.lease(id), keys.channels(of: id), keys.users(of: id))
    for set in [keys.nodes, keys.enrolled] { send("SREM", set, id) }
  }
}
