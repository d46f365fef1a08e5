internal import PusherCore
internal import PusherServer

// Sockets that subscribe and sign in.
extension RedisMember {
  /// Sends a request now, or when the member takes part.
  func ask(_ request: WaitingSockets.Request) -> Int {
    let number = calls.nextNumber()
    sockets.requests[number] = request
    if !isActive, sockets.requests.count >= sockets.dropsAt { dropAbandoned() }
    if isActive { send(request, number) }
    return number
  }

  /// Drops the requests of sockets that have left: nobody would count them out again.
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

  /// Puts a join into the line, which goes on once its channel is listened to: a socket's answers come in the order of
  /// its questions.
  private func follow(_ name: String, _ channel: RedisChannel, _ number: Int) {
    sockets.line.append((channel, number))
    if channel.beginFollowing() {
      send("SADD", keys.channels(of: identity.id), name)
      order(.subscribe(keys.bus(name)), .followed(channel))
    }
    advance()
  }

  func followed(
    _ channel: RedisChannel, _ result: Result<RedisReply, RedisFailure>, since registration: Int
  ) {
    guard isCurrent(registration) else { return }
    guard case .success = result else { return check(result, to: "SUBSCRIBE", since: registration) }
    channel.isFollowed = true
    advance()
  }

  /// Sends the joins at the head of the line that need not wait any more.
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
  /// - Parameter request: Its number; 0 where nobody waits, -1 where members are compared.
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
        // Those who are there already stay, however many there are.
        "limit": request > 0 ? setup.limits.presenceMembers : 0,
        "before": before, "after": after, "connections": connections,
        // What is registered anew is not there yet.
        "has": request > 0 ? roster.channels[name]?.count ?? 0 : 0, "leaseEnd": identity.leaseEnd,
      ], for: purpose)
  }

  /// Counts connections of a user in; the answer comes as a message.
  ///
  /// - Parameter isNews: Whether those who watch the user may be told.
  func signIn(
    _ user: SignedInUser, socketID: String, request: Int, connections: Int, isNews: Bool = true
  ) {
    call(
      "signIn", [keys.users, keys.users(of: identity.id), keys.nodes],
      [
        "node": identity.id, "answers": keys.answers(identity.id), "request": request,
        "bus": keys.usersBus,
        "user": user.id, "socket": socketID,
        "came": isNews ? setup.text.watchlist(online: [user.id]) : "",
        "connections": connections, "leaseEnd": identity.leaseEnd,
      ], and: user.watchlist, for: .signIn)
  }

  /// Forgets a channel that nobody here is subscribed to, or waits for.
  func forgetIfEmpty(_ name: String) {
    guard let channel = roster.channels[name], channel.count == 0, channel.waiting == 0 else {
      return
    }
    roster.channels[name] = nil
    order(.unsubscribe(keys.bus(name)), .nothing)
  }

  /// Tells Redis that nothing is counted on a channel that nobody here is subscribed to.
  ///
  /// It does so once Redis has answered that all are counted out. Before, it could take effect where that did not, and
  /// nobody would look there when this node is gone.
  func noteCountedOut(_ name: String) {
    guard isRegistered, roster.channels[name] == nil, departures.unansweredOn[name] == nil,
      !departures.doubtful.contains(name)
    else { return }
    send("SREM", keys.channels(of: identity.id), name)
  }
}

extension JoinRequest {
  /// Whether the socket is subscribed already as the same user, so that it is only answered again.
  var isAgain: Bool { isSecond && formerUserID.isSame(as: member?.userID) }
}
