package import PusherCore

/// One app's sockets on one node: they take part in the channels of all nodes, and get what is for them.
///
/// It is pure: sessions bring messages and the time, ``handleNews(at:)`` takes what the other nodes have brought. Frames
/// go into the queues of sessions, which never call back; answers, log and notices wait until the driver takes them. It
/// belongs to one thread.
package final class Hub {
  /// A socket that waits for its answer.
  enum Waiter {
    case join(JoinRequest, any HubSession)
    case signIn(SignedInUser, SignInProof, any HubSession)
  }

  private var setup: AppSetup
  /// Who is where on all nodes, and the way to them.
  let member: any ClusterMember
  var sessions = NameTable<any HubSession>()
  var channels = NameTable<HubChannel>()
  var users = SignedInUsers()
  /// The sockets that wait, by the numbers of their questions.
  var waiters: [Int: Waiter] = [:]
  private var answers: [(number: Int, answer: ClusterAnswer)] = []
  private var events: [ServerLogEvent] = []
  /// Whether it was told that no more channels fit.
  private var hasToldFullChannels = false

  package var application: Application { setup.application }
  /// Those of the app where it has its own.
  var limits: ServerLimits { setup.limits }
  var text: MessageText { setup.text }

  /// Whether new subscribers get a channel's last event.
  func isCache(_ channel: String) -> Bool { setup.naming.isCache(channel) }

  /// A hub of an app, with a place among its nodes, which serves this hub alone.
  package init(_ setup: AppSetup, member: any ClusterMember) {
    (self.setup, self.member) = (setup, member)
  }

  /// The app has other settings from now on; its sockets stay.
  func adopt(_ setup: AppSetup) {
    self.setup = setup
    member.adopt(setup)
  }

  /// Whether all sockets have left and the member has finished their departures.
  var isDeserted: Bool { sessions.isEmpty && member.isDeserted }

  /// How many sockets all nodes have.
  package var connectionCount: Int { member.connectionCount }

  /// How many channels somebody is subscribed to, on any node.
  var channelCount: Int { member.channelCount }

  /// Whether any node has the socket.
  package func hasSocket(_ socketID: String) -> Bool { member.hasSocket(socketID) }

  /// Whether events can be sent to other nodes now.
  var isAvailable: Bool { member.isAvailable }

  // MARK: Sockets

  /// Takes in a socket after its handshake; its id must be new.
  package func connect(_ session: any HubSession) {
    sessions[session.socketID] = session
    member.connect(session.socketID)
    log(.connected(socketID: session.socketID))
  }

  /// Removes a socket, which leaves all its channels.
  package func disconnect(_ session: any HubSession, at now: Instant) {
    guard sessions.removeValue(of: session.socketID) != nil else { return }
    for channel in session.subscriptions.sorted { end(session, channel, at: now) }
    signOut(session, at: now)
    member.disconnect(session.socketID)
    handleNews(at: now)
  }

  /// Whether a subscription fits within the limit of occupied channels; the first refusal is logged.
  func hasRoom(for channel: String) -> Bool {
    let hasRoom =
      channels[channel] != nil || member.hasRoom(for: channel, limit: limits.channels)
    if !hasRoom, !hasToldFullChannels {
      hasToldFullChannels = true
      log(.channelsFull(app: application.id, limit: limits.channels))
    }
    return hasRoom
  }

  /// Ends a subscription; the others learn when a user has left with its last connection.
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
    if channel.subscribers.isEmpty { channels[name] = nil }
    return place
  }

  /// Looks at the time: counts of large channels change too often to be sent each time.
  package func tick(at now: Instant) {
    member.tick(at: now)
    handleNews(at: now)
  }

  // MARK: Events

  /// Sends an event of the API to a channel's subscribers, but not to the socket `excluded`.
  ///
  /// Returns the number of recipients; `nil` where other nodes may have some.
  @discardableResult
  package func publish(
    name: String, channel: String, data: JSONValue, except excluded: String? = nil,
    at now: Instant
  ) -> Int? {
    let event = ChannelEvent(
      name: name, channel: channel, data: data, excluded: excluded, isKept: isCache(channel))
    let count = publish(event, at: now)
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
    let count = publish(event, at: now)
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

  private func publish(_ event: ChannelEvent, at now: Instant) -> Int? {
    switch member.publish(event, at: now) {
    case .here(let message): message.map { deliver($0, at: now) } ?? 0
    case .everywhere: nil
    }
  }

  /// Closes all connections of a user, on all nodes.
  package func terminateConnections(userID: String, at now: Instant) {
    member.terminate(userID: userID, at: now)
    handleNews(at: now)
  }

  // MARK: For the driver

  /// Asks something about all nodes; an answer that comes later is among ``takeAnswers()``.
  package func ask(_ question: ClusterQuestion, at now: Instant) -> ClusterReply {
    member.ask(question, at: now)
  }

  /// Handles what the member has for this hub.
  ///
  /// Returns whether there was anything.
  @discardableResult
  package func handleNews(at now: Instant) -> Bool {
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
    case .dropped(let number): waiters[number] = nil
    }
  }

  /// The answers to calls of ``ask(_:at:)`` since the last call.
  package func takeAnswers() -> [(number: Int, answer: ClusterAnswer)] {
    guard !answers.isEmpty else { return [] }
    defer { answers.removeAll(keepingCapacity: true) }
    return answers
  }

  /// The log since the last call.
  package func takeLog() -> [ServerLogEvent] {
    guard !events.isEmpty else { return [] }
    defer { events.removeAll(keepingCapacity: true) }
    return events
  }

  /// The webhook notices of this node since the last call.
  package func takeNotices() -> [WebhookNotice] { member.takeNotices() }

  /// Notes something for the app's webhooks.
  func note(_ notice: @autoclosure () -> WebhookNotice) {
    if !application.webhooks.isEmpty { member.note(notice()) }
  }

  func log(_ event: ServerLogEvent) {
    events.append(event)
  }
}

// Messages for sockets here.
extension Hub {
  /// Hands a message to the sockets.
  ///
  /// Returns the number of recipients.
  @discardableResult
  private func deliver(_ message: BusMessage, at now: Instant) -> Int {
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
