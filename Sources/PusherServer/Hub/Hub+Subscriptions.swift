package import PusherCore

// Subscriptions and sign-ins. Their answers may come later.
extension Hub {
  /// Subscribes an authorised socket.
  ///
  /// A socket that is already subscribed gets the answer again, and may change its user ID.
  package func subscribe(
    _ session: any HubSession, to name: String, as member: Member?, at now: Instant
  ) {
    var request = JoinRequest(channel: name, socketID: session.socketID, member: member)
    if let former = channels[name]?.place(of: session) {
      (request.isSecond, request.formerUserID) = (true, former.userID)
    } else if channels[name] == nil {
      // Counts before the answer, which may come late.
      shares.occupy(name, by: session.address)
    }
    ask(.join(request), .join(request, session), at: now)
  }

  /// Signs a connection in: it gets the answer and its watchlist, and the user's watchers are
  /// informed.
  package func signIn(
    _ session: any HubSession, as user: SignedInUser, _ proof: SignInProof, at now: Instant
  ) {
    session.user = user
    users.add(session, user)
    ask(.signIn(user, socketID: session.socketID), .signIn(user, proof, session), at: now)
  }

  func signOut(_ session: any HubSession, at now: Instant) {
    guard let user = session.user else { return }
    session.user = nil
    users.remove(session, user)
    member.signOut(user.id, at: now)
  }

  private func ask(_ question: ClusterQuestion, _ waiter: Waiter, at now: Instant) {
    switch member.ask(question, at: now) {
    case .answered(let answer): take(answer, waiter, at: now)
    case .later(let number): waiters[number] = waiter
    }
    handleNews(at: now)
  }

  func take(_ answer: ClusterAnswer, _ waiter: Waiter, at now: Instant) {
    switch (waiter, answer) {
    case (.join(let request, let session), .joined(let answer)):
      joined(request, session, answer, at: now)
    case (.signIn(let user, let proof, let session), .signedIn(let online)):
      signedIn(user, proof, session, online, at: now)
    default: preconditionFailure("the answer does not match the question")
    }
  }

  private func joined(
    _ request: JoinRequest, _ session: any HubSession, _ answer: JoinAnswer, at now: Instant
  ) {
    let name = request.channel
    switch answer {
    case .full(let keepsFormer):
      if !keepsFormer { _ = remove(session, from: name) }
      let refusal = SubscriptionRefusal(
        reason: "a presence channel has at most \(limits.presenceMembers) members",
        code: .overQuota, cause: .fullChannel)
      let isSubscribed = channels[name]?.place(of: session) != nil
      forgetShare(of: name)
      session.refuse(name, refusal, isSubscribed: isSubscribed, at: now)
    case .joined(let joined):
      let isWanted = sessions[session.socketID] === session && session.subscriptions.contains(name)
      guard isWanted else {
        // The session left before the answer came.
        forgetShare(of: name)
        if !request.isSecond { member.leave(name, userID: request.member?.userID, at: now) }
        return
      }
      subscribed(request, session, joined, at: now)
    }
  }

  private func subscribed(
    _ request: JoinRequest, _ session: any HubSession, _ joined: Joined, at now: Instant
  ) {
    let (name, userID) = (request.channel, request.member?.userID)
    let channel = channels[name] ?? HubChannel()
    let former = channel.place(of: session)
    channels[name] = channel
    if channel.subscribers.isEmpty { shares.occupy(name, by: session.address) }
    channel.put(session, userID: userID, memberID: joined.memberID)
    // The session left and subscribed again before the first answer came.
    if let former, !request.isSecond { member.leave(name, userID: former.userID, at: now) }
    session.send(text.subscriptionSucceeded(channel: name, members: joined.members), at: now)
    if isCache(name) { replay(joined.cached, on: name, to: session, at: now) }
    if former == nil || !(former?.userID).isSame(as: userID) {
      log(.subscribed(socketID: session.socketID, channel: name, userID: userID))
    }
  }

  private func replay(
    _ event: CachedEvents.Event?, on name: String, to session: any HubSession, at now: Instant
  ) {
    guard let event else {
      session.send(text.cacheMiss(channel: name), at: now)
      note(.init(.cacheMiss, name))
      return
    }
    session.send(MessageText.event(name: event.name, channel: name, data: event.data), at: now)
  }

  private func signedIn(
    _ user: SignedInUser, _ proof: SignInProof, _ session: any HubSession, _ online: NameSet,
    at now: Instant
  ) {
    session.send(text.signInSuccess(userData: proof.userData, auth: proof.auth), at: now)
    log(.signedIn(socketID: session.socketID, userID: user.id))
    guard !user.watchlist.isEmpty else { return }
    session.send(
      text.watchlist(
        online: user.watchlist.filter { online.contains($0) },
        offline: user.watchlist.filter { !online.contains($0) }), at: now)
  }
}
