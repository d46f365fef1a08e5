package import PusherCore

/// One app's sockets and channels: who is where, and who gets what.
///
/// It has no socket and no clock. What it sends stands in the output of the sessions' connections; ``takeTouched()`` says
/// in which, ``takeLog()`` what has happened. It belongs to one thread.
package final class Hub {
  package let application: Application
  let text: MessageText
  let limits: ServerLimits
  let ledger: OutputLedger
  /// The time of what is being done; whoever drives the hub brings it along.
  var now = Instant(nanoseconds: 0)
  private var sessions = NameTable<ClientSession>()
  private var channels = NameTable<HubChannel>()
  var users = SignedInUsers()
  /// What goes wrong on purpose.
  package var faults = FaultScript()
  private var cache: CachedEvents
  private var counts = SubscriptionCounts()
  private var touched: [ClientSession] = []
  private var events: [ServerLogEvent] = []
  private var notices: [WebhookNotice] = []

  package init(
    application: Application, limits: ServerLimits = ServerLimits(),
    text: MessageText = MessageText(), ledger: OutputLedger? = nil
  ) {
    self.application = application
    self.limits = limits
    self.text = text
    self.ledger = ledger ?? OutputLedger(limit: limits.allOutput)
    cache = CachedEvents(limit: limits.cachedEvents, lifetime: limits.cacheLifetime)
  }

  /// How many sockets there are.
  package var connectionCount: Int { sessions.count }

  /// The sockets, in no order.
  package var allSessions: [ClientSession] { Array(sessions.elements) }

  package func hasSocket(_ socketID: String) -> Bool { sessions[socketID] != nil }

  // MARK: Sockets

  /// Takes in a socket after its handshake and greets it; `socketID` must be new here.
  package func connect(
    _ connection: WebSocketConnection, socketID: String, at now: Instant
  ) -> ClientSession {
    self.now = now
    let session = ClientSession(hub: self, socketID: socketID, connection: connection, at: now)
    sessions[socketID] = session
    log(.connected(socketID: socketID))
    session.greet()
    return session
  }

  /// Lets go of a socket, which leaves all its channels.
  func disconnect(_ session: ClientSession) {
    guard sessions.removeValue(of: session.socketID) != nil else { return }
    for channel in session.subscriptions.sorted { leave(session, channel) }
    signOut(session)
  }

  // MARK: Subscriptions

  /// Subscribes a socket that may: it gets the answer, the others learn of a new member.
  func subscribe(_ session: ClientSession, to name: String, as member: Member?) {
    if channels[name] == nil { note(.channelOccupied(channel: name)) }
    var channel = channels[name] ?? HubChannel(kind: text.dialect.kind(of: name))
    // Taken out, so that the change below does not copy what the dictionary holds too.
    channels[name] = nil
    let others = channel.kind == .presence ? channel.subscribers : []
    let isNewMember = channel.add(session, as: member)
    let members = channel.kind == .presence ? channel.members : nil
    channels[name] = channel
    confirm(session, name, members)
    log(.subscribed(socketID: session.socketID, channel: name, userID: member?.userID))
    noteCount(name)
    guard isNewMember, let member else { return }
    note(.memberAdded(channel: name, userID: member.userID))
    guard !others.isEmpty else { return }
    deliver(SharedFrame(text.memberAdded(channel: name, member: member)), to: others)
  }

  /// Subscribes a socket that is subscribed already: it gets the answer again, and may be somebody else from now on.
  func subscribeAgain(_ session: ClientSession, to name: String, as member: Member?) {
    guard let channel = channels[name], channel.userID(of: session).isSame(as: member?.userID)
    else {
      leave(session, name)
      subscribe(session, to: name, as: member)
      return
    }
    confirm(session, name, channel.kind == .presence ? channel.members : nil)
  }

  /// Answers a subscription.
  private func confirm(_ session: ClientSession, _ name: String, _ members: MemberList?) {
    session.send(text.subscriptionSucceeded(channel: name, members: members))
    if text.dialect.isCache(name) { replay(name, to: session) }
  }

  /// Ends a subscription; the others learn when a user has left with its last connection.
  func leave(_ session: ClientSession, _ name: String) {
    guard let gone = channels[name]?.remove(session) else {
      removeIfEmpty(name)
      noteCount(name)
      return
    }
    note(.memberRemoved(channel: name, userID: gone.userID))
    let others = channels[name]?.subscribers ?? []
    removeIfEmpty(name)
    guard !others.isEmpty else { return }
    deliver(SharedFrame(text.memberRemoved(channel: name, userID: gone.id)), to: others)
  }

  /// What a new subscriber of a cache channel gets: the last event, or the news that there is none.
  private func replay(_ name: String, to session: ClientSession) {
    guard let event = cache.event(of: name, at: now) else {
      session.send(text.cacheMiss(channel: name))
      note(.cacheMiss(channel: name))
      return
    }
    session.send(text.event(name: event.name, channel: name, data: event.data))
  }

  /// The data of the last event of a cache channel.
  package func cachedData(_ channel: String) -> String? {
    cache.event(of: channel, at: now).map { $0.data.text ?? JSONWriter.text($0.data) }
  }

  /// How long the last event of a cache channel will still be kept; `nil` without a limit.
  func cachedTimeLeft(_ channel: String) -> Duration? {
    cache.event(of: channel, at: now)?.expiry.map(now.duration)
  }

  private func noteCount(_ name: String) {
    guard application.sendsSubscriptionCounts, text.dialect.sendsSubscriptionCounts,
      let place = channels[name], place.kind != .presence,
      !name.begins(with: "#")
    else { return }
    if counts.note(name, count: place.subscribers.count) { tellCount(name) }
  }

  private func tellCount(_ name: String) {
    guard let subscribers = channels[name]?.subscribers else { return }
    deliver(
      SharedFrame(text.subscriptionCount(channel: name, count: subscribers.count)),
      to: subscribers)
    note(.subscriptionCount(channel: name, count: subscribers.count))
  }

  /// Tells the counts of large channels, which change too often to tell each time.
  package func tick(at now: Instant) {
    self.now = now
    for name in counts.takeDue(at: now) { tellCount(name) }
  }

  private func removeIfEmpty(_ name: String) {
    guard channels[name]?.subscribers.isEmpty == true else { return }
    channels[name] = nil
    note(.channelVacated(channel: name))
  }

  /// Whether one more user may join a presence channel; more connections of those who are there always may.
  func hasRoom(for userID: String, in name: String) -> Bool {
    guard let members = channels[name]?.members else { return true }
    return members.contains(userID) || members.count < limits.presenceMembers
  }

  // MARK: Events

  /// Sends an event of the API to a channel's subscribers, but not to the socket `excluded`.
  ///
  /// Answers to how many it went.
  @discardableResult
  package func publish(
    name: String, channel: String, data: JSONValue, except excluded: String? = nil
  ) -> Int {
    if text.dialect.isCache(channel) {
      cache.store(name: name, data: data, for: channel, at: now)
    }
    var count = 0
    if let subscribers = channels[channel]?.subscribers {
      let frame = SharedFrame(
        text.event(name: name, channel: channel, data: data), channel: channel)
      count = deliver(frame, to: subscribers, except: excluded.flatMap { sessions[$0] })
    }
    log(.event(name: name, channel: channel, data: data, recipients: count))
    return count
  }

  /// Passes a client's event on to the others; the sender must be subscribed.
  func relay(name: String, channel: String, data: JSONValue?, from session: ClientSession) {
    guard let place = channels[channel] else { return }
    let userID = place.userID(of: session)
    let message = text.clientEvent(
      name: name, channel: channel, data: data, userID: userID.map(place.members.id))
    let count = deliver(
      SharedFrame(message, channel: channel), to: place.subscribers, except: session)
    log(
      .clientEvent(
        socketID: session.socketID, name: name, channel: channel, message: message,
        recipients: count))
    note(
      .clientEvent(
        channel: channel, name: name, data: data, socketID: session.socketID, userID: userID))
  }

  @discardableResult
  func deliver(
    _ frame: SharedFrame, to subscribers: [ClientSession], except excluded: ClientSession? = nil
  ) -> Int {
    var count = 0
    for session in subscribers where session !== excluded && session.deliver(frame) { count += 1 }
    return count
  }

  // MARK: What the outside asks

  /// The names of the channels that somebody is subscribed to, sorted.
  package var occupiedChannels: [String] { channels.names.sorted() }

  /// How many sockets are subscribed to a channel.
  package func subscriptionCount(_ channel: String) -> Int {
    channels[channel]?.subscribers.count ?? 0
  }

  /// The ids of a presence channel's users in the order in which they joined.
  package func userIDs(_ channel: String) -> [String] {
    channels[channel]?.members.userIDs ?? []
  }

  /// Who is in a presence channel.
  func members(of channel: String) -> MemberList { channels[channel]?.members ?? MemberList() }

  // MARK: What the driver collects

  /// The sessions with new output, or that have ended, since the last call.
  package func takeTouched() -> [ClientSession] {
    guard !touched.isEmpty else { return [] }
    defer { touched.removeAll(keepingCapacity: true) }
    for session in touched { session.isTouched = false }
    return touched
  }

  /// What has happened since the last call.
  package func takeLog() -> [ServerLogEvent] {
    guard !events.isEmpty else { return [] }
    defer { events.removeAll(keepingCapacity: true) }
    return events
  }

  /// What the app is to be told by webhook since the last call.
  package func takeNotices() -> [WebhookNotice] {
    guard !notices.isEmpty else { return [] }
    defer { notices.removeAll(keepingCapacity: true) }
    return notices
  }

  /// Notes something for the app's webhooks; users' own channels are nobody's business.
  private func note(_ notice: WebhookNotice) {
    guard !application.webhooks.isEmpty, !notice.channel.begins(with: "#") else { return }
    notices.append(notice)
  }

  func touch(_ session: ClientSession) {
    guard !session.isTouched else { return }
    session.isTouched = true
    touched.append(session)
  }

  func log(_ event: ServerLogEvent) {
    events.append(event)
  }
}
