package import PusherCore

/// Sockets of one app on one node; they share channels with the sockets of all nodes.
///
/// The hub is pure: sessions bring messages and the time, ``handleNews(at:)`` takes news from other
/// nodes. Frames go into the queues of sessions, which never call back. Answers, log and notices
/// wait until the driver takes them. A hub belongs to one thread.
package final class Hub {
  /// The signed text of a sign-in; the answer repeats both parts.
  package typealias SignInProof = (auth: String, userData: String)

  /// Handles the answer to a socket's request; it gets `nil` if there is no answer.
  private typealias Waiter = (Hub, ClusterAnswer?, Instant) -> Void

  private var setup: AppSetup
  let member: any ClusterMember
  private var sessions = NameTable<any HubSession>()
  private var channels = NameTable<HubChannel>()
  var users = SignedInUsers()
  private var waiters: [Int: Waiter] = [:]
  private var answers: [(number: Int, answer: ClusterAnswer)] = []
  private var events: [ServerLogEvent] = []
  var shares = AddressShares()
  private var toldLimits: Set<Int> = []
  /// Channels whose earlier events a client of V2 waits for, by socket and channel.
  private var gates = NameTable<NameTable<ReplayGate>>()
  private var resumptions = NameTable<(session: any HubSession, resumption: Resumption)>()
  /// Number of clients of protocol V2, and when one of them left last.
  private var v2Clients = (count: 0, lastUse: Instant(nanoseconds: 0))

  package var application: Application { setup.application }
  var limits: ServerLimits { setup.limits }
  var text: MessageText { setup.text }
  func isCache(_ channel: String) -> Bool { setup.isCache(channel) }

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
    if session.speaksV2 { v2Clients.count += 1 }
    member.connect(session.socketID)
    log(.connected(socketID: session.socketID))
  }

  package func disconnect(_ session: any HubSession, at now: Instant) {
    guard sessions.removeValue(of: session.socketID) != nil else { return }
    for channel in session.subscriptions.sorted { end(session, channel, at: now) }
    signOut(session, at: now)
    if session.speaksV2 {
      v2Clients = (v2Clients.count - 1, now)
      (resumptions[session.socketID], gates[session.socketID]) = (nil, nil)
    }
    member.disconnect(session.socketID)
    handleNews(at: now)
  }

  func makeSureOfRoom(
    for channel: String, of session: any HubSession
  ) throws(ProtocolRefusal) {
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

  private func full(_ limit: ChannelLimit, _ number: Int, _ reason: String) -> ProtocolRefusal {
    logFirst(limit, number)
    return ProtocolRefusal(reason: reason, code: .overQuota)
  }

  func tooFast(_ session: any HubSession) -> ProtocolRefusal {
    let limit = limits.joinsPerSecond
    logFirst(.pace(socketID: session.socketID), limit)
    return ProtocolRefusal(
      reason: "above the rate limit of subscriptions: \(limit) in 1 s", code: .clientEventRate)
  }

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

  private func remove(_ session: any HubSession, from name: String) -> HubChannel.Place? {
    if !gates.isEmpty { gates[session.socketID]?[name] = nil }
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
    guard member.keepsStreams else { return }
    for resumption in resumptions.elements where now >= resumption.resumption.deadline {
      giveUpResuming(resumption.session, resumption.resumption, at: now)
    }
    if v2Clients.count == 0, v2Clients.lastUse.duration(to: now) > limits.times.recovery {
      member.endStreams()
    }
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
    let (count, serial) = publish(event, at: now)
    log(.event(name: name, channel: channel, data: data, recipients: count, serial: serial))
    return count
  }

  func relay(
    name: String, channel: String, data: JSONValue?, from session: any HubSession, at now: Instant
  ) {
    guard let place = channels[channel]?.place(of: session) else { return }
    let event = ChannelEvent(
      name: name, channel: channel, data: data, userID: place.memberID,
      excluded: session.socketID, isFromClient: true)
    let (count, serial) = publish(event, at: now)
    log(
      .clientEvent(
        socketID: session.socketID, name: name, channel: channel, message: event.text,
        recipients: count, serial: serial))
    note(
      .init(
        .clientEvent, channel, userID: place.userID, id: place.memberID,
        details: [
          .init("event", .string(name)),
          data.map { .init("data", .string($0.dataText)) },
          .init("socket_id", .string(session.socketID)),
        ].compactMap(\.self)))
  }

  private func publish(
    _ event: ChannelEvent, at now: Instant
  ) -> (recipients: Int?, serial: Int?) {
    switch member.publish(event, at: now) {
    case .here(let message): (message.map { deliver($0, at: now) } ?? 0, message?.serial)
    case .everywhere: (nil, nil)
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
        waiter(self, answer, now)
      } else {
        answers.append((number, answer))
      }
    case .message(let message): deliver(message, at: now)
    case .event(let message, let channel, let isFromClient):
      let count = deliver(message, at: now)
      guard count > 0 else { return }
      log(.delivered(channel: channel, isFromClient: isFromClient, recipients: count))
    case .log(let event): log(event)
    case .missedEvents:
      for session in sessions.elements where session.speaksV2 {
        session.reconnect(because: "the server may have missed events", at: now)
      }
    case .dropped(let number): waiters.removeValue(forKey: number)?(self, nil, now)
    }
  }

  /// Returns and removes the answers to earlier calls of ``ask(_:at:)``.
  package func takeAnswers() -> [(number: Int, answer: ClusterAnswer)] { answers.takeAll() }
  package func takeLog() -> [ServerLogEvent] { events.takeAll() }
  package func takeNotices() -> [WebhookNotice] { member.takeNotices() }

  private func note(_ notice: @autoclosure () -> WebhookNotice) {
    if !application.webhooks.isEmpty { member.note(notice()) }
  }

  func log(_ event: ServerLogEvent) { events.append(event) }
}

extension Hub {
  @discardableResult private func deliver(_ message: BusMessage, at now: Instant) -> Int {
    switch message {
    case .channel(let name, let frame, let excluded):
      guard let channel = channels[name] else { return 0 }
      return deliver(frame, to: channel.subscribers, on: name, except: excluded, at: now)
    case .watchers(let userID, let frame, let excluded):
      return deliver(frame, to: users.watchers(of: userID), except: excluded, at: now)
    case .terminate(let userID):
      let sessions = users.sessions(of: userID)
      for session in sessions { session.terminate(at: now) }
      return sessions.count
    }
  }

  private func deliver(
    _ frame: SharedFrame, to subscribers: [any HubSession], on channel: String = "",
    except excluded: String?, at now: Instant
  ) -> Int {
    let excluded = excluded.flatMap { sessions[$0] }
    let hasV2 = v2Clients.count > 0
    var own: SharedFrame?
    var count = 0
    for session in subscribers where session !== excluded {
      guard hasV2, session.speaksV2 else {
        if session.deliver(frame, at: now) { count += 1 }
        continue
      }
      let sent = own ?? text.v2(frame)
      own = sent
      let isHeld = !gates.isEmpty && holds(sent, on: channel, for: session, at: now)
      if isHeld || session.deliver(sent, at: now) { count += 1 }
    }
    return count
  }
}

// Subscriptions and sign-ins. Their answers may come later.
extension Hub {
  /// Subscribes an authorised socket.
  ///
  /// A socket that is already subscribed gets the answer again, and may change its user ID.
  ///
  /// - Parameter rewind: First event to send again, for a client of protocol V2.
  package func subscribe(
    _ session: any HubSession, to name: String, as member: Member?,
    rewind: ReplayStart? = nil, at now: Instant
  ) {
    var request = JoinRequest(channel: name, socketID: session.socketID, member: member)
    request.rewind = rewind
    if let former = channels[name]?.place(of: session) {
      (request.isSecond, request.formerUserID) = (true, former.userID)
    } else if channels[name] == nil {
      // Counts before the answer, which may come late.
      shares.occupy(name, by: session.address)
    }
    ask(.join(request), at: now) { [request] in $0.joined(request, session, $1, at: $2) }
  }

  /// Signs a connection in: it gets the answer and its watchlist, and the user's watchers are
  /// informed.
  package func signIn(
    _ session: any HubSession, as user: SignedInUser, _ proof: SignInProof, at now: Instant
  ) {
    session.user = user
    users.add(session, user)
    ask(.signIn(user, socketID: session.socketID), at: now) { hub, answer, now in
      switch answer {
      case .signedIn(let online)?: hub.signedIn(user, proof, session, online, at: now)
      case nil: break
      case let answer?: answer.isUnexpected()
      }
    }
  }

  private func signOut(_ session: any HubSession, at now: Instant) {
    guard let user = session.user else { return }
    session.user = nil
    users.remove(session, user)
    member.signOut(user.id, at: now)
  }

  private func ask(_ question: ClusterQuestion, at now: Instant, _ waiter: @escaping Waiter) {
    switch member.ask(question, at: now) {
    case .answered(let answer): waiter(self, answer, now)
    case .later(let number): waiters[number] = waiter
    }
    handleNews(at: now)
  }

  private func joined(
    _ request: JoinRequest, _ session: any HubSession, _ answer: ClusterAnswer?, at now: Instant
  ) {
    let name = request.channel
    switch answer {
    case .joined(let joined)?:
      let isWanted = sessions[session.socketID] === session && session.subscriptions.contains(name)
      guard isWanted else {
        // The session left before the answer came.
        forgetShare(of: name)
        if !request.isSecond { member.leave(name, userID: request.member?.userID, at: now) }
        return
      }
      subscribed(request, session, joined, at: now)
    case .full(let keepsFormer)?:
      if !keepsFormer { _ = remove(session, from: name) }
      let refusal = ProtocolRefusal(
        reason: "a presence channel has at most \(limits.presenceMembers) members",
        code: .overQuota, cause: .fullChannel)
      let isSubscribed = channels[name]?.place(of: session) != nil
      forgetShare(of: name)
      session.refuse(name, refusal, isSubscribed: isSubscribed, at: now)
      if !isSubscribed { cannotResume(session, name, at: now) }
    case nil: forgetShare(of: name)
    case let answer?: answer.isUnexpected()
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
    confirm(request, session, joined, at: now)
    if former == nil || !(former?.userID).isSame(as: userID) {
      log(.subscribed(socketID: session.socketID, channel: name, userID: userID))
    }
  }

  private func replay(
    _ event: CachedEvent?, on name: String, to session: any HubSession, at now: Instant
  ) {
    guard let event else {
      session.send(text(for: session).cacheMiss(channel: name), at: now)
      note(.init(.cacheMiss, name))
      return
    }
    session.send(MessageText.event(name: event.name, channel: name, data: event.data), at: now)
  }

  private func signedIn(
    _ user: SignedInUser, _ proof: SignInProof, _ session: any HubSession, _ online: NameSet,
    at now: Instant
  ) {
    let text = text(for: session)
    session.send(text.signInSuccess(userData: proof.userData, auth: proof.auth), at: now)
    log(.signedIn(socketID: session.socketID, userID: user.id))
    guard !user.watchlist.isEmpty else { return }
    session.send(
      text.watchlist(
        online: user.watchlist.filter { online.contains($0) },
        offline: user.watchlist.filter { !online.contains($0) }), at: now)
  }
}

// Protocol V2.
extension Hub {
  func text(for session: any HubSession) -> MessageText { text.of(v2: session.speaksV2) }

  /// Begins to number and keep the app's events; `life` names this life of all streams.
  package func beginStreams(life: String) { member.beginStreams(life: life) }
  package var keepsStreams: Bool { member.keepsStreams }

  package func loseStream(of channel: String, isReset: Bool, at now: Instant) {
    member.loseStream(of: channel, isReset: isReset, at: now)
  }

  /// Confirms a subscription; a client of V2 gets its place, then the events that it asked for.
  private func confirm(
    _ request: JoinRequest, _ session: any HubSession, _ joined: Joined, at now: Instant
  ) {
    let name = request.channel
    let confirmation = text(for: session)
      .subscriptionSucceeded(channel: name, members: joined.members)
    func confirm(_ place: StreamPlace?, at now: Instant) {
      session.send(place.map { MessageText.placed(confirmation, $0) } ?? confirmation, at: now)
      if isCache(name) { replay(joined.cached, on: name, to: session, at: now) }
    }
    guard session.speaksV2, member.keepsStreams else { return confirm(nil, at: now) }
    let place = resumptions[session.socketID]?.resumption.waiting.removeValue(of: name)
    let start = place.map(ReplayStart.after) ?? request.rewind ?? .now
    if place != nil { resumptions[session.socketID]?.resumption.asked += 1 }
    replay(name, from: start, to: session, at: now) { confirm($0?.head, at: $1) }
  }

  /// Sends the events that a client missed on its channels, and what became of each channel.
  ///
  /// A channel that it subscribes to later waits for ``ServerLimits/Times/resume``.
  package func resume(
    _ session: any HubSession, from places: [(channel: String, place: StreamPlace)],
    at now: Instant
  ) {
    if let former = resumptions[session.socketID] {
      giveUpResuming(session, former.resumption, at: now)
    }
    let resumption = Resumption(deadline: now.advanced(by: limits.times.resume))
    resumptions[session.socketID] = (session, resumption)
    for (name, place) in places { resumption.waiting[name] = place }
    for (name, _) in places where channels[name]?.place(of: session) != nil {
      guard let place = resumption.waiting.removeValue(of: name) else { continue }
      resumption.ready.append((name, place))
    }
    askNext(session, resumption, at: now)
    endResuming(session, resumption, at: now)
  }

  /// Asks for a few channels at once, so that a client that does not read costs little.
  private func askNext(_ session: any HubSession, _ resumption: Resumption, at now: Instant) {
    guard !resumption.isAsking else { return }
    resumption.isAsking = true
    defer { resumption.isAsking = false }
    while resumption.asked < Resumption.portion, let (name, place) = resumption.ready.popFirst() {
      resumption.asked += 1
      replay(name, from: .after(place), to: session, at: now)
    }
  }

  /// Sends earlier events; until they come, the channel's messages wait.
  private func replay(
    _ name: String, from start: ReplayStart, to session: any HubSession, at now: Instant,
    _ begin: @escaping (StreamReplay?, Instant) -> Void = { _, _ in }
  ) {
    let gate = gates[session.socketID]?[name] ?? ReplayGate()
    gates[session.socketID, default: NameTable()][name] = gate
    gate.missing += 1
    ask(.replay(channel: name, start), at: now) { hub, answer, now in
      guard hub.sessions[session.socketID] === session else { return }
      var replay: StreamReplay?
      if case .replay(let found)? = answer { replay = found }
      let isSubscribed = hub.channels[name]?.place(of: session) != nil
      if isSubscribed { begin(replay, now) }
      hub.replayed(isSubscribed ? replay : nil, name, from: start, to: session, at: now)
      gate.missing -= 1
      gate.head = replay?.head ?? gate.head
      // An event of before the answer may come after it only if the answer did not come at once.
      if gate.missing == 0, !gate.isLate || !isSubscribed { hub.forget(gate, name, session) }
      guard gate.missing == 0, isSubscribed else { return }
      for frame in gate.takeHeld() {
        guard session.deliver(frame, at: now) else { return }
      }
    }
    gate.isLate = gate.missing > 0
  }

  private func forget(_ gate: ReplayGate, _ name: String, _ session: any HubSession) {
    guard gates[session.socketID]?[name] === gate else { return }
    gates[session.socketID]?[name] = nil
    if gates[session.socketID]?.isEmpty == true { gates[session.socketID] = nil }
  }

  /// Returns true for a message that must wait, or that the client already has.
  private func holds(
    _ frame: SharedFrame, on name: String, for session: any HubSession, at now: Instant
  ) -> Bool {
    guard let gate = gates[session.socketID]?[name] else { return false }
    guard gate.missing > 0 else {
      if frame.place == nil { return false }
      if gate.covers(frame) { return true }
      forget(gate, name, session)
      return false
    }
    if gate.hold(frame) > limits.sizes.outputQueue {
      session.reconnect(because: "too many events before the answer of redis", at: now)
    }
    return true
  }

  private func replayed(
    _ replay: StreamReplay?, _ name: String, from start: ReplayStart, to session: any HubSession,
    at now: Instant
  ) {
    for frame in replay?.frames ?? [] {
      // A client that reads too slowly is closed, and resumes from there.
      guard session.deliver(text.v2(frame), at: now) else { return }
    }
    switch start {
    case .now: break
    case .count, .period:
      if let replay { session.send(text.ofV2.rewindComplete(channel: name, replay), at: now) }
    case .after(let place):
      guard let resumption = resumptions[session.socketID]?.resumption else { return }
      resumption.asked -= 1
      if let replay, replay.failure == nil {
        let head = replay.head
        resumption.replayed += replay.frames.count
        resumption.recovered.append([
          "channel": .string(name), "source": "hot", "replayed": .integer(replay.frames.count),
          "position": [
            "stream_id": .string(head.id), "serial": .integer(head.serial),
            "last_message_id": .string(head.messageID),
          ],
        ])
      } else {
        let failure = replay?.failure ?? .unavailable
        fail(name, place, failure, replay, session, resumption, at: now)
      }
      askNext(session, resumption, at: now)
      endResuming(session, resumption, at: now)
    }
  }

  private func fail(
    _ name: String, _ place: StreamPlace, _ failure: StreamReplay.Failure, _ replay: StreamReplay?,
    _ session: any HubSession, _ resumption: Resumption, at now: Instant
  ) {
    func number(_ number: Int?) -> JSONValue { number.map(JSONValue.integer) ?? .null }
    let data: JSONValue = [
      "channel": .string(name), "code": .string(failure.code), "reason": .string(failure.reason),
      "expected_stream_id": place.id.isEmpty ? .null : .string(place.id),
      "current_stream_id": replay.map { .string($0.head.id) } ?? .null,
      "oldest_available_serial": number(replay?.oldest),
      "newest_available_serial": number(replay?.head.serial),
    ]
    resumption.failed.append(data)
    session.send(text.ofV2.resumeFailed(data), at: now)
  }

  private func endResuming(
    _ session: any HubSession, _ resumption: Resumption, at now: Instant
  ) {
    guard resumption.isDone, resumptions[session.socketID]?.resumption === resumption else {
      return
    }
    resumptions[session.socketID] = nil
    session.send(text.ofV2.resumeSuccess(resumption), at: now)
    log(
      .resumed(
        socketID: session.socketID, recovered: resumption.recovered.count,
        failed: resumption.failed.count, replayed: resumption.replayed))
  }

  /// Fails the channels that the client did not subscribe to.
  private func giveUpResuming(
    _ session: any HubSession, _ resumption: Resumption, at now: Instant
  ) {
    for name in resumption.waiting.names.sorted() {
      guard let place = resumption.waiting.removeValue(of: name) else { continue }
      fail(name, place, .unverifiable("not_subscribed"), nil, session, resumption, at: now)
    }
    endResuming(session, resumption, at: now)
  }

  /// Ends the wait for a channel whose subscription is refused.
  package func cannotResume(_ session: any HubSession, _ name: String, at now: Instant) {
    guard let resumption = resumptions[session.socketID]?.resumption,
      let place = resumption.waiting.removeValue(of: name)
    else { return }
    fail(name, place, .unverifiable("not_subscribed"), nil, session, resumption, at: now)
    endResuming(session, resumption, at: now)
  }
}

/// A client of a hub.
///
/// A session never calls the hub from these functions. The driver removes a session that ends by a
/// message.
package protocol HubSession: AnyObject {
  var socketID: String { get }
  /// Address of the client; `nil` if a proxy hides it.
  var address: ClientAddress? { get }
  var subscriptions: NameSet { get }
  var user: SignedInUser? { get set }
  /// True for a client of protocol V2.
  var speaksV2: Bool { get }
  func send(_ text: String, at now: Instant)
  /// Sends a message that others get too; returns false if the client takes no more messages.
  func deliver(_ frame: SharedFrame, at now: Instant) -> Bool
  /// Reports a refusal that came after the request was accepted.
  ///
  /// - Parameter isSubscribed: True if an earlier subscription stays.
  func refuse(
    _ channel: String, _ refusal: ProtocolRefusal, isSubscribed: Bool, at now: Instant)
  func terminate(at now: Instant)
  /// Ends a connection so that its client comes back at once.
  func reconnect(because reason: String, at now: Instant)
}

extension HubSession {
  package var address: ClientAddress? { nil }
  package var speaksV2: Bool { false }
  package func reconnect(because reason: String, at now: Instant) {}
}

package struct Member: Sendable, Equatable {
  package let userID: String
  package let info: JSONValue?
  /// ID in messages: a string or a number.
  package let id: JSONValue

  package init(userID: String, info: JSONValue? = nil, id: JSONValue? = nil) {
    self.userID = userID
    self.info = info
    self.id = id ?? .string(userID)
  }
}

/// Members of a presence channel, each with its number of connections.
package struct MemberList: Sendable {
  /// A member as the user's first connection described it.
  ///
  /// Its parts of the list are kept as text inside a JSON string: every join sends all of them.
  private final class Entry: Sendable {
    let member: Member
    let id: String
    let info: String

    init(_ member: Member) {
      self.member = member
      id = MessageText.embedded(JSONWriter.text(member.id))
      let (name, info) = (JSONValue.string(member.userID), member.info ?? .null)
      self.info = MessageText.embedded(JSONWriter.text(name) + ":" + JSONWriter.text(info))
    }
  }

  private var entries = OrderedTable<(entry: Entry, connections: Int)>()

  package init() {}

  package var count: Int { entries.count }
  package var members: [Member] { entries.elements.map(\.value.entry.member) }
  package subscript(userID: String) -> Member? { entries[userID]?.entry.member }

  /// Adds a connection; returns true for the user's first connection.
  package mutating func join(_ member: Member) -> Bool {
    if entries[member.userID] != nil {
      entries[member.userID]?.connections += 1
      return false
    }
    entries[member.userID] = (Entry(member), 1)
    return true
  }

  /// Removes a connection; returns the member if it was the last one.
  package mutating func leave(_ userID: String) -> Member? {
    guard let (entry, connections) = entries[userID] else { return nil }
    guard connections == 1 else {
      entries[userID]?.connections -= 1
      return nil
    }
    entries[userID] = nil
    return entry.member
  }

  /// The object `presence` of the answer to a subscription, as text inside a JSON string.
  func embeddedText(omitsMissingInfo: Bool) -> String {
    let (ids, hash) = (ByteBuffer(), ByteBuffer())
    for (_, (entry, _)) in entries.elements {
      if !ids.isEmpty { ids.append(UInt8(ascii: ",")) }
      ids.append(entry.id)
      if omitsMissingInfo, entry.member.info == nil { continue }
      if !hash.isEmpty { hash.append(UInt8(ascii: ",")) }
      hash.append(entry.info)
    }
    return #"{\"ids\":[\#(ids.view.text)],\"hash\":{\#(hash.view.text)},\"count\":\#(count)}"#
  }
}

/// Messages of a channel for a client of protocol V2 that waits for earlier events.
private final class ReplayGate {
  /// Number of answers that are missing.
  var missing = 0
  /// True if the answer did not come at once.
  var isLate = false
  /// The last event that the client has with the answer.
  var head: StreamPlace?
  private var held: [SharedFrame] = []
  private var bytes = 0

  /// Adds a message, and returns the size of all.
  func hold(_ frame: SharedFrame) -> Int {
    held.append(frame)
    bytes += frame.view.count
    return bytes
  }

  func covers(_ frame: SharedFrame) -> Bool { head?.isAfter(frame.place) == true }

  func takeHeld() -> [SharedFrame] {
    bytes = 0
    return held.takeAll().filter { !covers($0) }
  }
}

final class HubChannel {
  /// A subscriber's index and, on a presence channel, user; `memberID` is the ID for others.
  typealias Place = (index: Int, userID: String?, memberID: JSONValue?)

  private(set) var subscribers: [any HubSession] = []
  private var places: [ObjectIdentifier: Place] = [:]

  func put(_ session: any HubSession, userID: String?, memberID: JSONValue?) {
    let key = ObjectIdentifier(session)
    let index = places[key]?.index ?? subscribers.count
    places[key] = (index, userID, memberID)
    if index == subscribers.count { subscribers.append(session) }
  }

  func remove(_ session: any HubSession) -> Place? {
    let key = ObjectIdentifier(session)
    guard let place = places.removeValue(forKey: key) else { return nil }
    let last = subscribers.removeLast()
    if last !== session {
      subscribers[place.index] = last
      places[ObjectIdentifier(last)]?.index = place.index
    }
    return place
  }

  func place(of session: any HubSession) -> Place? { places[ObjectIdentifier(session)] }
}

package struct SignedInUser: Sendable, Equatable {
  let member: Member
  package let watchlist: [String]

  package init(member: Member, watchlist: [String]) {
    (self.member, self.watchlist) = (member, watchlist)
  }

  package var id: String { member.userID }
}

struct SignedInUsers {
  private typealias Sessions = [ObjectIdentifier: any HubSession]

  private var sessions = NameTable<Sessions>()
  private var watchers = NameTable<Sessions>()

  func sessions(of userID: String) -> [any HubSession] {
    sessions[userID].map { Array($0.values) } ?? []
  }

  func watchers(of userID: String) -> [any HubSession] {
    watchers[userID].map { Array($0.values) } ?? []
  }

  mutating func add(_ session: any HubSession, _ user: SignedInUser) {
    let key = ObjectIdentifier(session)
    sessions[user.id, default: [:]][key] = session
    for watched in user.watchlist { watchers[watched, default: [:]][key] = session }
  }

  mutating func remove(_ session: any HubSession, _ user: SignedInUser) {
    let key = ObjectIdentifier(session)
    for watched in user.watchlist {
      watchers[watched]?[key] = nil
      if watchers[watched]?.isEmpty == true { watchers[watched] = nil }
    }
    sessions[user.id]?[key] = nil
    if sessions[user.id]?.isEmpty == true { sessions[user.id] = nil }
  }
}

/// A client's address, for its share of an app's channels: an IPv4 address, or an IPv6 network of
/// 64 bits, which one client has for itself.
package struct ClientAddress: Hashable, Sendable, CustomStringConvertible {
  private let family: SocketAddress.Family
  private let number: UInt64

  package init(_ address: SocketAddress) {
    let octets = address.unmapped
    family = octets.count == 4 ? .ipv4 : address.family
    number = octets.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }

  package var description: String {
    let size = family == .ipv4 ? 4 : 8
    let octets = (0..<size).map { UInt8(truncatingIfNeeded: number >> (8 * (size - 1 - $0))) }
    guard family == .ipv6 else { return octets.map { String($0) }.joined(separator: ".") }
    let whole = octets + [UInt8](repeating: 0, count: 8)
    return SocketAddress(family: .ipv6, octets: whole, port: 0).host + "/64"
  }
}

extension SocketAddress {
  /// The octets: four also for an IPv4 client of a socket for both families (RFC 4291 section
  /// 2.5.5.2).
  var unmapped: [UInt8] {
    let isMapped =
      octets.count == 16 && octets[..<10].allSatisfy { $0 == 0 } && octets[10...11] == [255, 255]
    return isMapped ? Array(octets[12...]) : octets
  }
}

/// The occupied channels that each address has to answer for.
///
/// The address whose socket occupies a channel answers for it. When that socket leaves, the
/// address of another subscriber takes over.
struct AddressShares {
  private var owners = NameTable<ClientAddress>()
  private var counts: [ClientAddress: Int] = [:]

  func count(of address: ClientAddress) -> Int { counts[address] ?? 0 }
  func hasOwner(_ channel: String) -> Bool { owners[channel] != nil }

  /// Notes who occupies a channel, unless it has an owner.
  mutating func occupy(_ channel: String, by address: ClientAddress?) {
    guard let address, owners[channel] == nil else { return }
    owners[channel] = address
    counts[address, default: 0] += 1
  }

  /// Passes a channel that `former` answers for to another address, if there is one.
  mutating func hand(_ channel: String, from former: ClientAddress?, to next: ClientAddress?) {
    guard let former, former != next, owners[channel] == former else { return }
    vacate(channel)
    occupy(channel, by: next)
  }

  mutating func vacate(_ channel: String) {
    guard let address = owners.removeValue(of: channel), let count = counts[address] else { return }
    counts[address] = count == 1 ? nil : count - 1
  }
}

/// A limit on an app's channels, with the client that reached it.
package enum ChannelLimit: Sendable, Equatable {
  case app
  case socket(id: String)
  case address(ClientAddress)
  case pace(socketID: String)

  var kind: Int {
    switch self {
    case .app: 1
    case .socket: 2
    case .address: 3
    case .pace: 4
    }
  }
}
