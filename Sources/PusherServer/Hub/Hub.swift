package import PusherCore

/// One app's sockets on one node: they take part in the channels of all nodes, and get what is for them.
///
/// It has no socket and no clock: sessions take its messages, ``takeLog()`` returns what happened. It belongs to one
/// thread.
package final class Hub {
  package private(set) var application: Application
  /// Those of the app where it has its own.
  private(set) var limits: ServerLimits
  private(set) var text: MessageText
  /// Who is where on all nodes, and the way to them.
  let node: any HubNode
  private var naming: any ChannelNaming
  private var sessions = NameTable<any HubSession>()
  private var channels = NameTable<HubChannel>()
  var users = SignedInUsers()
  private var events: [ServerLogEvent] = []
  /// Whether it was told that no more channels fit.
  private var hasToldFullChannels = false

  /// A hub of an app, with a place among its nodes, which serves this hub alone.
  init(_ setup: AppSetup, node: any HubNode) {
    (application, limits) = (setup.application, setup.limits)
    (text, naming) = (setup.text, setup.naming)
    self.node = node
    node.receiver = self
  }

  /// The app has other settings from now on; its sockets stay.
  func adopt(_ setup: AppSetup) {
    (application, limits) = (setup.application, setup.limits)
    (text, naming) = (setup.text, setup.naming)
    node.adopt(setup)
  }

  /// Whether all its sockets have left, and on all nodes of this process.
  var isDeserted: Bool { sessions.isEmpty && node.isDeserted }

  /// How many sockets all nodes have.
  package var connectionCount: Int { node.connectionCount }

  /// How many channels somebody is subscribed to, on any node.
  var channelCount: Int { node.channelCount }

  /// Whether any node has the socket.
  package func hasSocket(_ socketID: String) -> Bool { node.hasSocket(socketID) }

  // MARK: Sockets

  /// Takes in a socket after its handshake; its id must be new.
  func connect(_ session: any HubSession) {
    sessions[session.socketID] = session
    node.connect(session.socketID)
    log(.connected(socketID: session.socketID))
  }

  /// Removes a socket, which leaves all its channels.
  func disconnect(_ session: any HubSession, at now: Instant) {
    guard sessions.removeValue(of: session.socketID) != nil else { return }
    for channel in session.subscriptions.sorted { leave(session, channel, at: now) }
    signOut(session, at: now)
    node.disconnect(session.socketID)
  }

  // MARK: Subscriptions

  /// Subscribes an authorised socket: it gets the answer, the others learn of a new member.
  ///
  /// One that is subscribed already gets the answer again, and may have a new user id from now on.
  func subscribe(
    _ session: any HubSession, to name: String, as member: Member?, at now: Instant
  ) {
    var request = JoinRequest(channel: name, socketID: session.socketID, member: member)
    if let former = channels[name]?.place(of: session) {
      (request.isSecond, request.formerUserID) = (true, former.userID)
    }
    node.join(request, at: now) { [weak self] answer, now in
      self?.answered(request, session, answer, at: now)
    }
  }

  private func answered(
    _ request: JoinRequest, _ session: any HubSession, _ answer: JoinAnswer, at now: Instant
  ) {
    let name = request.channel
    switch answer {
    case .full(let keepsFormer):
      if !keepsFormer { _ = remove(session, from: name) }
      session.refuse(
        name,
        SubscriptionRefusal(
          reason: "a presence channel has at most \(limits.presenceMembers) members",
          code: .overQuota, cause: .fullChannel), at: now)
    case .joined(let joined):
      let isWanted =
        sessions[session.socketID] === session && session.subscriptions.contains(name)
      guard isWanted else {
        // It has left while the answer was on its way.
        if !request.isSecond { node.leave(name, userID: request.member?.userID, at: now) }
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
    channel.put(session, userID: userID, memberID: joined.memberID)
    // It has left and come again while the first answer was on its way.
    if let former, !request.isSecond { node.leave(name, userID: former.userID, at: now) }
    session.send(text.subscriptionSucceeded(channel: name, members: joined.members), at: now)
    if naming.isCache(name) { replay(joined.cached, on: name, to: session, at: now) }
    if former == nil || !(former?.userID).isSame(as: userID) {
      log(.subscribed(socketID: session.socketID, channel: name, userID: userID))
    }
  }

  /// Whether a subscription fits within the limit of occupied channels; the first refusal is logged.
  func hasRoom(for channel: String) -> Bool {
    let hasRoom =
      channels[channel] != nil || node.hasRoom(for: channel, limit: limits.channels)
    if !hasRoom, !hasToldFullChannels {
      hasToldFullChannels = true
      log(.channelsFull(app: application.id, limit: limits.channels))
    }
    return hasRoom
  }

  func isSubscribed(_ session: any HubSession, to channel: String) -> Bool {
    channels[channel]?.place(of: session) != nil
  }

  /// Ends a subscription; the others learn when a user has left with its last connection.
  func leave(_ session: any HubSession, _ name: String, at now: Instant) {
    guard let place = remove(session, from: name) else { return }
    node.leave(name, userID: place.userID, at: now)
  }

  private func remove(_ session: any HubSession, from name: String) -> HubChannel.Place? {
    guard let channel = channels[name], let place = channel.remove(session) else { return nil }
    if channel.subscribers.isEmpty { channels[name] = nil }
    return place
  }

  /// Whether events can be sent to other nodes now.
  var isAvailable: Bool { node.isAvailable }

  /// The message for a new subscriber of a cache channel: the last event, or a cache miss.
  private func replay(
    _ event: CachedEvents.Event?, on name: String, to session: any HubSession, at now: Instant
  ) {
    guard let event else {
      session.send(text.cacheMiss(channel: name), at: now)
      note(.init(.cacheMiss, name))
      return
    }
    session.send(text.event(name: event.name, channel: name, data: event.data), at: now)
  }

  /// Sends the counts of large channels, which change too often to send each time.
  package func tick(at now: Instant) {
    node.tick(at: now)
  }

  // MARK: Events

  /// Sends an event of the API to a channel's subscribers, but not to the socket `excluded`.
  ///
  /// Answers to how many it went.
  @discardableResult
  package func publish(
    name: String, channel: String, data: JSONValue, except excluded: String? = nil,
    at now: Instant
  ) -> Int? {
    let count = node.publish(
      ChannelEvent(
        name: name, channel: channel, data: data, excluded: excluded,
        isKept: naming.isCache(channel)),
      at: now)
    log(.event(name: name, channel: channel, data: data, recipients: count))
    return count
  }

  /// Passes a client's event on to the others; the sender must be subscribed.
  func relay(
    name: String, channel: String, data: JSONValue?, from session: any HubSession, at now: Instant
  ) {
    guard let place = channels[channel]?.place(of: session) else { return }
    let event = ChannelEvent(
      name: name, channel: channel, data: data, userID: place.memberID,
      excluded: session.socketID, isFromClient: true)
    let count = node.publish(event, at: now)
    log(
      .clientEvent(
        socketID: session.socketID, name: name, channel: channel, message: text.event(event),
        recipients: count))
    note(
      .init(
        .clientEvent, channel, userID: place.userID,
        details: [
          .init("event", .string(name)),
          data.map { .init("data", .string($0.text ?? JSONWriter.text($0))) },
          .init("socket_id", .string(session.socketID)),
        ].compactMap(\.self)))
  }

  // MARK: For the driver

  /// The log since the last call.
  package func takeLog() -> [ServerLogEvent] {
    guard !events.isEmpty else { return [] }
    defer { events.removeAll(keepingCapacity: true) }
    return events
  }

  /// The webhook notices of all nodes since the last call, on the node that sends them.
  package func takeNotices() -> [WebhookNotice] { node.takeNotices() }

  /// Notes something for the app's webhooks.
  private func note(_ notice: @autoclosure () -> WebhookNotice) {
    if !application.webhooks.isEmpty { node.note(notice()) }
  }

  func log(_ event: ServerLogEvent) {
    events.append(event)
  }
}

extension Hub: BusReceiver {
  func deliver(_ message: BusMessage, at now: Instant) -> Int {
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
