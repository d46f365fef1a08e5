internal import PusherCore
internal import PusherServer

extension RedisMember {
  /// Sends a request, now or when the member becomes active.
  func ask(_ request: WaitingSockets.Request) -> Int {
    let number = calls.nextNumber()
    sockets.requests[number] = request
    if !isActive, sockets.requests.count >= sockets.dropsAt { dropAbandoned() }
    if isActive { send(request, number) }
    return number
  }

  /// Drops the requests of closed sockets, because nothing would count them out again.
  func dropAbandoned() {
    for (number, request) in sockets.requests where !roster.sockets.contains(request.socketID) {
      sockets.requests[number] = nil
      outbox.add(.dropped(number))
    }
    sockets.dropsAt = max(2 * sockets.requests.count, 1024)
  }

  func send(_ request: WaitingSockets.Request, _ number: Int) {
    switch request {
    case .join(let wish):
      let channel = roster.channels[wish.channel] ?? RedisChannel()
      roster.channels[wish.channel] = channel
      channel.waiting += 1
      follow(wish.channel, channel, number)
    case .signIn(let user, let socketID):
      signIn(user, socketID: socketID, request: number, connections: 1)
    }
  }

  /// Queues a join until its channel is subscribed, so that a socket's answers stay in order.
  private func follow(_ name: String, _ channel: RedisChannel, _ number: Int) {
    sockets.line.append((channel, number))
    if channel.beginFollowing() {
      send("SADD", keys.channels(of: identity.id), name)
      order(.subscribe(keys.bus(name)), .followed(channel))
    }
    advance()
  }

  func followed(_ channel: RedisChannel, _ result: RedisResult, since registration: Int) {
    guard isCurrent(registration) else { return }
    guard case .success = result else { return check(result, to: "SUBSCRIBE", since: registration) }
    channel.isFollowed = true
    advance()
  }

  private func advance() {
    while let first = sockets.line.first, first.channel.isFollowed {
      guard let next = sockets.line.popFirst(),
        case .join(let wish)? = sockets.requests[next.number]
      else { continue }
      join(
        wish.channel, as: wish.member, socketID: wish.socketID, request: next.number,
        connections: wish.isAgain ? 0 : 1, for: .join(wish.channel))
    }
  }

  /// Counts connections in; the answer comes as a message.
  ///
  /// - Parameter request: Number of the request; 0 for no request, -1 for a comparison of the
  ///   members.
  func join(
    _ name: String, as member: Member?, socketID: String, request: Int, connections: Int,
    for purpose: ClusterOrder.Purpose
  ) {
    let (before, after) = countText(name)
    let text = setup.text
    call(
      "join", keys.channel(name) + [keys.nodes],
      [
        "node": identity.id, "answers": keys.answers(identity.id), "request": request,
        "bus": keys.bus(name), "channel": name, "socket": socketID,
        "isMember": member == nil ? "0" : "1", "user": member?.userID ?? "",
        "member": member?.stored ?? "",
        "came": member.map { text.memberAdded(channel: name, member: $0) } ?? "",
        "left": member.map { text.memberRemoved(channel: name, userID: $0.id) } ?? "",
        // Existing members stay, even above the limit.
        "limit": request > 0 ? setup.limits.presenceMembers : 0,
        "before": before, "after": after, "connections": connections,
        // Redis does not know the connections of a new registration yet.
        "has": request > 0 ? roster.channels[name]?.count ?? 0 : 0, "leaseEnd": identity.leaseEnd,
      ], for: purpose)
  }

  /// Counts connections of a user in; the answer comes as a message.
  func signIn(
    _ user: SignedInUser, socketID: String, request: Int, connections: Int, isNew: Bool = true
  ) {
    call(
      "signIn", [keys.users, keys.users(of: identity.id), keys.nodes],
      [
        "node": identity.id, "answers": keys.answers(identity.id), "request": request,
        "bus": keys.usersBus, "user": user.id, "socket": socketID,
        "came": isNew ? setup.text.watchlist(online: [user.id]) : "", "connections": connections,
        "leaseEnd": identity.leaseEnd,
      ], and: user.watchlist, for: .signIn)
  }

  func forgetIfEmpty(_ name: String) {
    guard let channel = roster.channels[name], channel.count == 0, channel.waiting == 0 else {
      return
    }
    roster.channels[name] = nil
    order(.unsubscribe(keys.bus(name)), .nothing)
  }

  /// Removes a channel without subscribers from this node's list in Redis.
  ///
  /// All departures must be answered and counted first. Otherwise no node would find the uncounted
  /// departure after this node is gone.
  func noteCountedOut(_ name: String) {
    guard isRegistered, roster.channels[name] == nil, departures.unansweredOn[name] == nil,
      !departures.doubtful.contains(name)
    else { return }
    send("SREM", keys.channels(of: identity.id), name)
  }
}

extension JoinRequest {
  /// True if the socket is already subscribed as the same user; then it only gets another answer.
  var isAgain: Bool { isSecond && formerUserID.isSame(as: member?.userID) }
}
