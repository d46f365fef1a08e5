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

  /// Sends joins as long as few answers are due.
  func advance() {
    while pace.hasRoom, let first = sockets.line.first, first.channel.isFollowed {
      guard let next = sockets.line.popFirst(),
        case .join(let wish)? = sockets.requests[next.number]
      else { continue }
      join(wish, next.number)
      if wish.member != nil, next.channel.view == nil { readList(wish.channel, next.channel) }
    }
  }

  /// Counts a connection in; the answer comes as a message.
  private func join(_ wish: JoinRequest, _ number: Int) {
    let name = wish.channel
    let (before, after) = countText(name)
    let stored = wish.member?.stored ?? ""
    pace.noteSent(number, bytes: stored.utf8.count)
    call(
      "join", keys.channel(name) + [keys.nodes],
      [
        "node": identity.id, "answers": keys.answers(identity.id), "request": number,
        "bus": keys.bus(name), "channel": name, "socket": wish.socketID,
        "isMember": wish.member == nil ? "0" : "1", "user": wish.member?.userID ?? "",
        "member": stored, "limit": setup.limits.presenceMembers, "before": before, "after": after,
        "connections": wish.isAgain ? 0 : 1, "has": roster.channels[name]?.count ?? 0,
        "leaseEnd": identity.leaseEnd,
      ], for: .join(name))
  }

  /// Counts connections of a user in; the answer comes as a message.
  func signIn(
    _ user: SignedInUser, socketID: String, request: Int, connections: Int, isNew: Bool = true
  ) {
    pace.noteSent(request, bytes: 0)
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
    guard let channel = roster.channels[name], channel.isUnused else { return }
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
