package import PusherCore

/// Sockets of one app on one node; they share channels with the sockets of all nodes.
///
/// The hub is pure: sessions bring messages and the time, ``handleNews(at:)`` takes news from other
/// nodes. Frames go into the queues of sessions, which never call back. Answers, log and notices
/// wait until the driver takes them. A hub belongs to one thread.
package final class Hub {
  enum Waiter {
    case join(JoinRequest, any HubSession)
    case signIn(SignedInUser, SignInProof, any HubSession)
  }

  private var setup: AppSetup
  /// The connection to all nodes, with their state.
  let member: any ClusterMember
  var sessions = NameTable<any HubSession>()
  var channels = NameTable<HubChannel>()
  var users = SignedInUsers()
  private var waiters: [Int: Waiter] = [:]
  private var answers: [(number: Int, answer: ClusterAnswer)] = []
  private var events: [ServerLogEvent] = []
  /// Channels by the address that occupies them.
  var shares = AddressShares()
  private var toldLimits = ChannelLimit.Kinds()

  package var application: Application { setup.application }
  var limits: ServerLimits { setup.limits }
  var text: MessageText { setup.text }
  func isCache(_ channel: String) -> Bool { setup.naming.isCache(channel) }

  /// - Parameter member: Serves only this hub; default: a member without other nodes.
  package init(_ setup: AppSetup, member: (any ClusterMember)? = nil) {
    (self.setup, self.member) = (setup, member ?? SoloMember(setup))
  }

  func adopt(_ setup: AppSetup) {
    self.setup = setup
    member.adopt(setup)
  }

  /// The member may still handle departures after the last socket left.
  var isDeserted: Bool { sessions.isEmpty && member.isDeserted }
  package var connectionCount: Int { member.connectionCount }
  var channelCount: Int { member.channelCount }
  package func hasSocket(_ socketID: String) -> Bool { member.hasSocket(socketID) }
  var isAvailable: Bool { member.isAvailable }

  // MARK: Sockets

  /// Adds a socket after its handshake; its ID must be new.
  package func connect(_ session: any HubSession) {
    sessions[session.socketID] = session
    member.connect(session.socketID)
    log(.connected(socketID: session.socketID))
  }

  package func disconnect(_ session: any HubSession, at now: Instant) {
    guard sessions.removeValue(of: session.socketID) != nil else { return }
    for channel in session.subscriptions.sorted { end(session, channel, at: now) }
    signOut(session, at: now)
    member.disconnect(session.socketID)
    handleNews(at: now)
  }

  /// Checks the limits on the channels of a socket, its address and the app.
  func makeSureOfRoom(
    for channel: String, of session: any HubSession
  ) throws(SubscriptionRefusal) {
    let limits = limits
    guard session.subscriptions.count < limits.subscriptions else {
      throw full(
        .socket(id: session.socketID), limits.subscriptions,
        "a connection has at most \(limits.subscriptions) subscriptions")
    }
    guard channels[channel] == nil else { return }
    guard member.hasRoom(for: channel, limit: limits.channels) else {
      throw full(.app, limits.channels, "the app has at most \(limits.channels) channels")
    }
    guard let address = session.address, !shares.hasOwner(channel),
      shares.count(of: address) >= limits.channelsPerAddress
    else { return }
    throw full(
      .address(address), limits.channelsPerAddress,
      "the connections of your address occupy at most \(limits.channelsPerAddress) channels")
  }

  private func full(_ limit: ChannelLimit, _ number: Int, _ reason: String) -> SubscriptionRefusal {
    logFirst(limit, number)
    return SubscriptionRefusal(reason: reason, code: .overQuota)
  }

  /// Returns the refusal of a socket that subscribes faster than it may.
  func tooFast(_ session: any HubSession) -> SubscriptionRefusal {
    let limit = limits.joinsPerSecond
    logFirst(.pace(socketID: session.socketID), limit)
    return SubscriptionRefusal(
      reason: "above the rate limit of subscriptions: \(limit) in 1 s", code: .clientEventRate)
  }

  /// Logs the first refusal of each kind.
  private func logFirst(_ limit: ChannelLimit, _ number: Int) {
    guard toldLimits.insert(limit.kind).inserted else { return }
    log(.channelsFull(app: application.id, limit, number))
  }

  /// Ends a subscription; others learn of a user's departure after its last connection.
  package func leave(_ session: any HubSession, _ name: String, at now: Instant) {
    end(session, name, at: now)
    handleNews(at: now)
  }

  private func end(_ session: any HubSession, _ name: String, at now: Instant) {
    guard let place = remove(session, from: name) else { return }
    member.leave(name, userID: place.userID, at: now)
  }

  func remove(_ session: any HubSession, from name: String) -> HubChannel.Place? {
    guard let channel = channels[name], let place = channel.remove(session) else { return nil }
    if let other = channel.subscribers.first {
      shares.hand(name, from: session.address, to: other.address)
    } else {
      channels[name] = nil
      shares.vacate(name)
    }
    return place
  }

  /// Forgets who occupies a channel after a join that failed, unless others are there.
  private func forgetShare(of name: String) { if channels[name] == nil { shares.vacate(name) } }

  /// Handles due work: counts of large channels change too often to be sent each time.
  package func tick(at now: Instant) {
    member.tick(at: now)
    handleNews(at: now)
  }

  // MARK: Events

  /// Sends an event of the API to a channel's subscribers, except the socket `excluded`.
  ///
  /// Returns the number of recipients; `nil` if other nodes may have some.
  @discardableResult package func publish(
    name: String, channel: String, data: JSONValue, except excluded: String? = nil, at now: Instant
  ) -> Int? {
    let event = ChannelEvent(
      name: name, channel: channel, data: data, excluded: excluded, isKept: isCache(channel))
    let count = publish(event, at: now)
    log(.event(name: name, channel: channel, data: data, recipients: count))
    return count
  }

  func relay(
    name: String, channel: String, data: JSONValue?, from session: any HubSession, at now: Instant
  ) {
    guard let place = channels[channel]?.place(of: session) else { return }
    let event = ChannelEvent(
      name: name, channel: channel, data: data, userID: place.memberID,
      excluded: session.socketID, isFromClient: true)
    let count = publish(event, at: now)
    log(
      .clientEvent(
        socketID: session.socketID, name: name, channel: channel, message: event.text,
        recipients: count))
    note(
      .init(
        .clientEvent, channel, userID: place.userID, id: place.memberID,
        details: [
          .init("event", .string(name)),
          data.map { .init("data", .string($0.text ?? JSONWriter.text($0))) },
          .init("socket_id", .string(session.socketID)),
        ].compactMap(\.self)))
  }

  private func publish(_ event: ChannelEvent, at now: Instant) -> Int? {
    switch member.publish(event, at: now) {
    case .here(let message): message.map { deliver($0, at: now) } ?? 0
    case .everywhere: nil
    }
  }

  /// Closes all connections of a user, on all nodes; returns false while those are unreachable.
  package func terminateConnections(userID: String, at now: Instant) -> Bool {
    defer { handleNews(at: now) }
    return member.terminate(userID: userID, at: now)
  }

  // MARK: For the driver

  /// Asks a question about all nodes; ``takeAnswers()`` returns later answers.
  package func ask(_ question: ClusterQuestion, at now: Instant) -> ClusterReply {
    member.ask(question, at: now)
  }

  /// Handles the member's news; returns true if there was any.
  @discardableResult package func handleNews(at now: Instant) -> Bool {
    var hasNews = false
    while case let news = member.takeNews(), !news.isEmpty {
      hasNews = true
      for item in news { handle(item, at: now) }
    }
    return hasNews
  }

  private func handle(_ news: ClusterNews, at now: Instant) {
    switch news {
    case .answer(let number, let answer):
      if let waiter = waiters.removeValue(forKey: number) {
        take(answer, waiter, at: now)
      } else {
        answers.append((number, answer))
      }
    case .message(let message): deliver(message, at: now)
    case .event(let message, let channel, let isFromClient):
      let count = deliver(message, at: now)
      guard count > 0 else { return }
      log(.delivered(channel: channel, isFromClient: isFromClient, recipients: count))
    case .log(let event): log(event)
    case .dropped(let number):
      if case .join(let request, _) = waiters.removeValue(forKey: number) {
        forgetShare(of: request.channel)
      }
    }
  }

  /// Returns and removes the answers to earlier calls of ``ask(_:at:)``.
  package func takeAnswers() -> [(number: Int, answer: ClusterAnswer)] { answers.takeAll() }
  package func takeLog() -> [ServerLogEvent] { events.takeAll() }
  package func takeNotices() -> [WebhookNotice] { member.takeNotices() }

  func note(_ notice: @autoclosure () -> WebhookNotice) {
    if !application.webhooks.isEmpty { member.note(notice()) }
  }

  func log(_ event: ServerLogEvent) { events.append(event) }
}

extension Hub {
  /// Delivers a message to the sockets; returns the number of recipients.
  @discardableResult private func deliver(_ message: BusMessage, at now: Instant) -> Int {
    switch message {
    case .channel(let name, let frame, let excluded):
      guard let channel = channels[name] else { return 0 }
      return deliver(frame, to: channel.subscribers, except: excluded, at: now)
    case .watchers(let userID, let frame, let excluded):
      return deliver(frame, to: users.watchers(of: userID), except: excluded, at: now)
    case .terminate(let userID):
      let sessions = users.sessions(of: userID)
      for session in sessions { session.terminate(at: now) }
      return sessions.count
    }
  }

  private func deliver(
    _ frame: SharedFrame, to subscribers: [any HubSession], except excluded: String?,
    at now: Instant
  ) -> Int {
    let excluded = excluded.flatMap { sessions[$0] }
    var count = 0
    for session in subscribers where session !== excluded && session.deliver(frame, at: now) {
      count += 1
    }
    return count
  }
}

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
