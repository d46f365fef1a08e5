internal import PusherCore

/// Who is where in one app, over all nodes of one process: it decides what is new and what is over.
///
/// It has no clock, no thread and no lock. Messages that a change causes wait in ``messages``, in their order.
struct AppState {
  private(set) var messages: [BusMessage] = []
  private(set) var notices: [WebhookNotice] = []
  private var setup: AppSetup
  /// How many nodes there are.
  private let nodes: Int
  private var sockets = NameSet()
  private var channels = NameTable<AppChannel>()
  /// How many connections each signed-in user has.
  private var users = NameTable<Int>()
  private var cache: CachedEvents
  private var counts = SubscriptionCounts()
  private var eventQuota: SecondQuota
  private var byteQuota: SecondQuota

  init(_ setup: AppSetup, nodes: Int) {
    self.setup = setup
    self.nodes = nodes
    cache = CachedEvents(limit: setup.limits.cachedEvents, lifetime: setup.limits.cacheLifetime)
    eventQuota = SecondQuota(setup.application.limits.eventsPerSecond)
    byteQuota = SecondQuota(setup.application.limits.bytesPerSecond)
  }

  /// The app is another one from now on; those who are there stay.
  mutating func adopt(_ new: AppSetup) {
    let (former, limits) = (application.limits, new.application.limits)
    setup = new
    cache.limit = new.limits.cachedEvents
    if limits.eventsPerSecond != former.eventsPerSecond {
      eventQuota = SecondQuota(limits.eventsPerSecond)
    }
    if limits.bytesPerSecond != former.bytesPerSecond {
      byteQuota = SecondQuota(limits.bytesPerSecond)
    }
  }

  private var application: Application { setup.application }
  private var limits: ServerLimits { setup.limits }
  private var text: MessageText { setup.text }
  private var naming: any ChannelNaming { setup.naming }

  // MARK: Sockets

  mutating func connect(_ socketID: String) {
    sockets.insert(socketID)
  }

  mutating func disconnect(_ socketID: String) {
    sockets.remove(socketID)
  }

  func hasSocket(_ socketID: String) -> Bool { sockets.contains(socketID) }

  var connectionCount: Int { sockets.count }
  var channelCount: Int { channels.count }

  // MARK: Subscriptions

  /// Subscribes a socket of a node.
  mutating func join(_ request: JoinRequest, node: Int, at now: Instant) -> JoinAnswer {
    let (name, member) = (request.channel, request.member)
    if let member, !hasRoom(for: member.userID, in: name) { return .full(keepsFormer: true) }
    if request.isSecond {
      let isSame = request.formerUserID.isSame(as: member?.userID)
      if isSame { return .joined(joined(name, member, at: now)) }
      leave(name, node: node, userID: request.formerUserID)
    }
    let channel = channels[name] ?? AppChannel(nodes: nodes)
    if channel.total == 0 {
      channels[name] = channel
      note(.init(.channelOccupied, name))
    }
    channel.add(1, on: node)
    let isNew = member.map { channel.members.join($0) } ?? false
    let answer = joined(name, member, at: now)
    noteCount(name, channel)
    if isNew, let member {
      note(.init(.memberAdded, name, userID: member.userID, userInfo: member.info))
      send(name, text.memberAdded(channel: name, member: member), except: request.socketID)
    }
    return .joined(answer)
  }

  /// The channel as a new subscriber learns it.
  private func joined(_ name: String, _ member: Member?, at now: Instant) -> Joined {
    let members = member == nil ? nil : channels[name]?.members
    return Joined(
      memberID: member.flatMap { members?[$0.userID]?.id }, members: members,
      cached: naming.isCache(name) ? cache.event(of: name, at: now) : nil)
  }

  /// Ends a subscription of a node's socket.
  mutating func leave(_ name: String, node: Int, userID: String?) {
    guard let channel = channels[name] else { return }
    channel.add(-1, on: node)
    if channel.total == 0 { channels[name] = nil }
    if let userID, let gone = channel.members.leave(userID) {
      note(.init(.memberRemoved, name, userID: gone.userID))
      send(name, text.memberRemoved(channel: name, userID: gone.id), except: nil)
    } else {
      noteCount(name, channel)
    }
    if channel.total == 0 { note(.init(.channelVacated, name)) }
  }

  /// Whether one more user may join a presence channel; further connections of present users always may.
  private func hasRoom(for userID: String, in name: String) -> Bool {
    guard let members = channels[name]?.members else { return true }
    return members[userID] != nil || members.count < limits.presenceMembers
  }

  // MARK: Counts

  private mutating func noteCount(_ name: String, _ channel: AppChannel) {
    guard application.sendsSubscriptionCounts, channel.total > 0,
      naming.kind(of: name) != .presence, !name.begins(with: "#")
    else { return }
    if counts.note(name, count: channel.total) { tellCount(name) }
  }

  private mutating func tellCount(_ name: String) {
    guard let count = channels[name]?.total else { return }
    send(name, text.subscriptionCount(channel: name, count: count), except: nil)
    note(.init(.subscriptionCount, name, details: [.init("subscription_count", .integer(count))]))
  }

  /// Sends the counts of large channels, which change too often to send each time.
  mutating func tick(at now: Instant) {
    for name in counts.takeDue(at: now) { tellCount(name) }
  }

  // MARK: Users

  /// Counts a connection of a user in; answers which users of the watchlist are online.
  mutating func signIn(_ user: SignedInUser, socketID: String) -> NameSet {
    users[user.id, default: 0] += 1
    if users[user.id] == 1 {
      messages.append(
        .watchers(user.id, SharedFrame(text.watchlist(online: [user.id])), except: socketID))
    }
    return NameSet(user.watchlist.filter { users[$0] != nil })
  }

  /// Counts a connection of a user out.
  mutating func signOut(_ userID: String) {
    guard let count = users[userID] else { return }
    users[userID] = count == 1 ? nil : count - 1
    guard count == 1 else { return }
    messages.append(.watchers(userID, SharedFrame(text.watchlist(offline: [userID])), except: nil))
  }

  mutating func terminate(userID: String) {
    if users[userID] != nil { messages.append(.terminate(userID: userID)) }
  }

  // MARK: Events

  /// Why so many events with so many bytes are too many now; they are counted if they are not.
  mutating func admit(events: Int, bytes: Int, at now: Instant) -> String? {
    guard eventQuota.hasRoom(for: events, at: now) else {
      return application.limits.refusal(ofEvents: true)
    }
    guard byteQuota.hasRoom(for: bytes, at: now) else {
      return application.limits.refusal(ofEvents: false)
    }
    eventQuota.take(events, at: now)
    byteQuota.take(bytes, at: now)
    return nil
  }

  /// Keeps an event of a cache channel, and sends it.
  mutating func keep(_ event: ChannelEvent, at now: Instant) {
    cache.store(name: event.name, data: event.data ?? .null, for: event.channel, at: now)
    if channels[event.channel] != nil { messages.append(event.message(text)) }
  }

  /// How many sockets of all nodes are subscribed to a channel.
  func subscriptionCount(_ name: String) -> Int { channels[name]?.total ?? 0 }

  /// Whether a node has sockets that a message may be for.
  func concerns(_ message: BusMessage, _ node: Int) -> Bool {
    guard case .channel(let name, _, _) = message else { return true }
    return channels[name]?.count(on: node) ?? 0 > 0
  }

  private mutating func send(_ channel: String, _ message: String, except socketID: String?) {
    guard channels[channel] != nil else { return }
    messages.append(.channel(channel, SharedFrame(message), except: socketID))
  }

  /// The messages that the changes since the last call caused.
  mutating func takeMessages() -> [BusMessage] {
    guard !messages.isEmpty else { return [] }
    defer { messages.removeAll(keepingCapacity: true) }
    return messages
  }

  // MARK: Webhooks

  /// Notes something for the app's webhooks, except for users' own channels.
  mutating func note(_ notice: @autoclosure () -> WebhookNotice) {
    guard setup.notesChanges else { return }
    let notice = notice()
    if !notice.channel.begins(with: "#") { notices.append(notice) }
  }

  mutating func takeNotices() -> [WebhookNotice] {
    guard !notices.isEmpty else { return [] }
    defer { notices.removeAll(keepingCapacity: true) }
    return notices
  }

  // MARK: Queries

  func facts(_ name: String, at now: Instant) -> ChannelFacts {
    var facts = ChannelFacts(name: name)
    if let channel = channels[name] {
      (facts.subscriptions, facts.members) = (channel.total, channel.members)
    }
    facts.cached = cache.event(of: name, at: now).map {
      CachedFacts(
        name: $0.name, data: $0.data.text ?? JSONWriter.text($0.data),
        timeLeft: $0.expiry.map(now.duration))
    }
    return facts
  }

  func occupiedChannels(prefix: String) -> [String] {
    channels.names.filter { $0.begins(with: prefix) }.sorted()
  }
}

/// A channel that somebody is subscribed to.
final class AppChannel {
  /// How many sockets of each node are subscribed.
  private var counts: [Int]
  private(set) var total = 0
  /// The members of a presence channel.
  var members = MemberList()

  init(nodes: Int) {
    counts = Array(repeating: 0, count: nodes)
  }

  func count(on node: Int) -> Int { counts[node] }

  func add(_ change: Int, on node: Int) {
    counts[node] += change
    total += change
  }
}
