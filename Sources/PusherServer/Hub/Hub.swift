package import PusherCore

/// One app's sockets and channels: who is where, and who gets what.
///
/// It has no socket and no clock: sessions take its messages, ``takeLog()`` returns what happened. It belongs to one
/// thread.
package final class Hub {
  package let application: Application
  let text: MessageText
  let limits: ServerLimits
  private let naming: any ChannelNaming
  private var sessions = NameTable<any HubSession>()
  private var channels = NameTable<HubChannel>()
  var users = SignedInUsers()
  private var cache: CachedEvents
  private var counts = SubscriptionCounts()
  private var eventQuota: SecondQuota
  private var byteQuota: SecondQuota
  private var events: [ServerLogEvent] = []
  private var notices: [WebhookNotice] = []

  init(
    application: Application, limits: ServerLimits, text: MessageText, naming: any ChannelNaming
  ) {
    self.application = application
    let limits = application.limits.applied(to: limits)
    self.limits = limits
    eventQuota = SecondQuota(application.limits.eventsPerSecond)
    byteQuota = SecondQuota(application.limits.bytesPerSecond)
    self.text = text
    self.naming = naming
    cache = CachedEvents(limit: limits.cachedEvents, lifetime: limits.cacheLifetime)
  }

  /// How many sockets there are.
  package var connectionCount: Int { sessions.count }

  /// How many channels somebody is subscribed to.
  var channelCount: Int { channels.count }

  package func hasSocket(_ socketID: String) -> Bool { sessions[socketID] != nil }

  // MARK: Sockets

  /// Takes in a socket after its handshake; its id must be new here.
  func connect(_ session: any HubSession) {
    sessions[session.socketID] = session
    log(.connected(socketID: session.socketID))
  }

  /// Removes a socket, which leaves all its channels.
  func disconnect(_ session: any HubSession, at now: Instant) {
    guard sessions.removeValue(of: session.socketID) != nil else { return }
    for channel in session.subscriptions.sorted { leave(session, channel, at: now) }
    signOut(session, at: now)
  }

  // MARK: Subscriptions

  /// Subscribes an authorised socket: it gets the answer, the others learn of a new member.
  func subscribe(
    _ session: any HubSession, to name: String, as member: Member?, at now: Instant
  ) {
    if channels[name] == nil { note(.init(.channelOccupied, name)) }
    var channel = channels[name] ?? HubChannel(kind: naming.kind(of: name))
    // Taken out, so that the change below does not copy the dictionary's value.
    channels[name] = nil
    let others = channel.kind == .presence ? channel.subscribers : []
    let isNewMember = channel.add(session, as: member)
    let members = channel.kind == .presence ? channel.members : nil
    channels[name] = channel
    confirm(session, name, members, at: now)
    log(.subscribed(socketID: session.socketID, channel: name, userID: member?.userID))
    noteCount(name, at: now)
    guard isNewMember, let member else { return }
    note(.init(.memberAdded, name, userID: member.userID))
    guard !others.isEmpty else { return }
    deliver(SharedFrame(text.memberAdded(channel: name, member: member)), to: others, at: now)
  }

  /// Subscribes a socket again: it gets the answer again, and may have a new user id from now on.
  func subscribeAgain(
    _ session: any HubSession, to name: String, as member: Member?, at now: Instant
  ) {
    guard let channel = channels[name], channel.userID(of: session).isSame(as: member?.userID)
    else {
      leave(session, name, at: now)
      subscribe(session, to: name, as: member, at: now)
      return
    }
    confirm(session, name, channel.kind == .presence ? channel.members : nil, at: now)
  }

  /// Answers a subscription.
  private func confirm(
    _ session: any HubSession, _ name: String, _ members: MemberList?, at now: Instant
  ) {
    session.send(text.subscriptionSucceeded(channel: name, members: members), at: now)
    if naming.isCache(name) { replay(name, to: session, at: now) }
  }

  /// Ends a subscription; the others learn when a user has left with its last connection.
  func leave(_ session: any HubSession, _ name: String, at now: Instant) {
    guard let gone = channels[name]?.remove(session) else {
      removeIfEmpty(name)
      noteCount(name, at: now)
      return
    }
    note(.init(.memberRemoved, name, userID: gone.userID))
    let others = channels[name]?.subscribers ?? []
    removeIfEmpty(name)
    guard !others.isEmpty else { return }
    deliver(SharedFrame(text.memberRemoved(channel: name, userID: gone.id)), to: others, at: now)
  }

  /// The message for a new subscriber of a cache channel: the last event, or a cache miss.
  private func replay(_ name: String, to session: any HubSession, at now: Instant) {
    guard let event = cache.event(of: name, at: now) else {
      session.send(text.cacheMiss(channel: name), at: now)
      note(.init(.cacheMiss, name))
      return
    }
    session.send(text.event(name: event.name, channel: name, data: event.data), at: now)
  }

  /// The last event of a cache channel, and how long it will still be kept; `nil` without a limit.
  package func cached(
    _ channel: String, at now: Instant
  ) -> (data: String, timeLeft: Duration?)? {
    cache.event(of: channel, at: now).map {
      ($0.data.text ?? JSONWriter.text($0.data), $0.expiry.map(now.duration))
    }
  }

  private func noteCount(_ name: String, at now: Instant) {
    guard application.sendsSubscriptionCounts, let place = channels[name],
      place.kind != .presence, !name.begins(with: "#")
    else { return }
    if counts.note(name, count: place.subscribers.count) { tellCount(name, at: now) }
  }

  private func tellCount(_ name: String, at now: Instant) {
    guard let subscribers = channels[name]?.subscribers else { return }
    deliver(
      SharedFrame(text.subscriptionCount(channel: name, count: subscribers.count)),
      to: subscribers, at: now)
    note(
      .init(
        .subscriptionCount, name,
        details: [.init("subscription_count", .integer(subscribers.count))]))
  }

  /// Sends the counts of large channels, which change too often to send each time.
  package func tick(at now: Instant) {
    for name in counts.takeDue(at: now) { tellCount(name, at: now) }
  }

  private func removeIfEmpty(_ name: String) {
    guard channels[name]?.subscribers.isEmpty == true else { return }
    channels[name] = nil
    note(.init(.channelVacated, name))
  }

  /// Whether one more user may join a presence channel; further connections of present users always may.
  func hasRoom(for userID: String, in name: String) -> Bool {
    guard let members = channels[name]?.members else { return true }
    return members[userID] != nil || members.count < limits.presenceMembers
  }

  // MARK: Events

  /// Counts events of the API, with so many bytes of data together; answers why they are too many, and `nil` for no more.
  package func refusal(ofEvents count: Int, bytes: Int, at now: Instant) -> String? {
    let limits = application.limits
    if let limit = limits.eventsPerSecond, !eventQuota.hasRoom(for: count, at: now) {
      return "over quota: the app may send \(limit) events a second"
    }
    if let limit = limits.bytesPerSecond, !byteQuota.hasRoom(for: bytes, at: now) {
      return "over quota: the app may send \(limit) bytes of data a second"
    }
    eventQuota.take(count, at: now)
    byteQuota.take(bytes, at: now)
    return nil
  }

  /// Sends an event of the API to a channel's subscribers, but not to the socket `excluded`.
  ///
  /// Answers to how many it went.
  @discardableResult
  package func publish(
    name: String, channel: String, data: JSONValue, except excluded: String? = nil,
    at now: Instant
  ) -> Int {
    if naming.isCache(channel) {
      cache.store(name: name, data: data, for: channel, at: now)
    }
    var count = 0
    if let subscribers = channels[channel]?.subscribers {
      let frame = SharedFrame(
        text.event(name: name, channel: channel, data: data), channel: channel)
      count = deliver(
        frame, to: subscribers, except: excluded.flatMap { sessions[$0] }, at: now)
    }
    log(.event(name: name, channel: channel, data: data, recipients: count))
    return count
  }

  /// Passes a client's event on to the others; the sender must be subscribed.
  func relay(
    name: String, channel: String, data: JSONValue?, from session: any HubSession, at now: Instant
  ) {
    guard let place = channels[channel] else { return }
    let userID = place.userID(of: session)
    let message = text.event(
      name: name, channel: channel, data: data,
      userID: userID.flatMap { place.members[$0]?.id })
    let count = deliver(
      SharedFrame(message, channel: channel), to: place.subscribers, except: session, at: now)
    log(
      .clientEvent(
        socketID: session.socketID, name: name, channel: channel, message: message,
        recipients: count))
    note(
      .init(
        .clientEvent, channel, userID: userID,
        details: [
          .init("event", .string(name)),
          data.map { .init("data", .string($0.text ?? JSONWriter.text($0))) },
          .init("socket_id", .string(session.socketID)),
        ].compactMap(\.self)))
  }

  @discardableResult
  func deliver(
    _ frame: SharedFrame, to subscribers: [any HubSession],
    except excluded: (any HubSession)? = nil, at now: Instant
  ) -> Int {
    var count = 0
    for session in subscribers where session !== excluded && session.deliver(frame, at: now) {
      count += 1
    }
    return count
  }

  // MARK: Queries

  /// The names of the channels that somebody is subscribed to, sorted.
  package var occupiedChannels: [String] { channels.names.sorted() }

  /// How many sockets are subscribed to a channel.
  package func subscriptionCount(_ channel: String) -> Int {
    channels[channel]?.subscribers.count ?? 0
  }

  /// The members of a presence channel.
  package func members(of channel: String) -> MemberList {
    channels[channel]?.members ?? MemberList()
  }

  // MARK: For the driver

  /// The log since the last call.
  package func takeLog() -> [ServerLogEvent] {
    guard !events.isEmpty else { return [] }
    defer { events.removeAll(keepingCapacity: true) }
    return events
  }

  /// The webhook notices since the last call.
  package func takeNotices() -> [WebhookNotice] {
    guard !notices.isEmpty else { return [] }
    defer { notices.removeAll(keepingCapacity: true) }
    return notices
  }

  /// Notes something for the app's webhooks, except for users' own channels.
  private func note(_ notice: @autoclosure () -> WebhookNotice) {
    guard !application.webhooks.isEmpty else { return }
    let notice = notice()
    if !notice.channel.begins(with: "#") { notices.append(notice) }
  }

  func log(_ event: ServerLogEvent) {
    events.append(event)
  }
}
