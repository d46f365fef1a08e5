package import PusherCore

/// The only node of an app: it decides about all changes and answers at once.
final class SoloMember {
  private var news: [ClusterNews] = []
  private var notices: [WebhookNotice] = []
  private var setup: AppSetup
  private var sockets = NameSet()
  private var channels = NameTable<SoloChannel>()
  private var users = NameTable<Int>()
  private var cache: CachedEvents
  private var counts = SubscriptionCounts()
  private var eventQuota: SecondQuota
  private var byteQuota: SecondQuota

  init(_ setup: AppSetup) {
    self.setup = setup
    cache = CachedEvents(limit: setup.limits.cachedEvents, lifetime: setup.limits.times.cachedEvent)
    eventQuota = SecondQuota(setup.application.limits.eventsPerSecond)
    byteQuota = SecondQuota(setup.application.limits.bytesPerSecond)
  }

  private var application: Application { setup.application }
  private var limits: ServerLimits { setup.limits }
  private var text: MessageText { setup.text }
  private var naming: any ChannelNaming { setup.naming }

  // MARK: Subscriptions

  private func join(_ request: JoinRequest, at now: Instant) -> JoinAnswer {
    let (name, member) = (request.channel, request.member)
    if let member, !hasRoom(for: member.userID, in: name) { return .full(keepsFormer: true) }
    if request.isSecond {
      let isSame = request.formerUserID.isSame(as: member?.userID)
      if isSame { return .joined(joined(name, member, at: now)) }
      leave(name, userID: request.formerUserID, at: now)
    }
    let channel = channels[name] ?? SoloChannel()
    if channel.count == 0 {
      channels[name] = channel
      note(.init(.channelOccupied, name))
    }
    channel.count += 1
    let isNew = member.map { channel.members.join($0) } ?? false
    let answer = joined(name, member, at: now)
    noteCount(name, channel)
    if isNew, let member {
      note(
        .init(.memberAdded, name, userID: member.userID, id: member.id, userInfo: member.info))
      send(name, text.memberAdded(channel: name, member: member), except: request.socketID)
    }
    return .joined(answer)
  }

  private func joined(_ name: String, _ member: Member?, at now: Instant) -> Joined {
    let members = member == nil ? nil : channels[name]?.members
    return Joined(
      memberID: member.flatMap { members?[$0.userID]?.id }, members: members,
      cached: naming.isCache(name) ? cache.event(of: name, at: now) : nil)
  }

  /// Further connections of present users are always allowed.
  private func hasRoom(for userID: String, in name: String) -> Bool {
    guard let members = channels[name]?.members else { return true }
    return members[userID] != nil || members.count < limits.presenceMembers
  }

  // MARK: Counts

  private func noteCount(_ name: String, _ channel: SoloChannel) {
    guard channel.count > 0, setup.tellsCount(of: name) else { return }
    if counts.note(name, count: channel.count) { tellCount(name) }
  }

  private func tellCount(_ name: String) {
    guard let count = channels[name]?.count else { return }
    send(name, text.subscriptionCount(channel: name, count: count), except: nil)
    note(.init(.subscriptionCount, name, details: [.init("subscription_count", .integer(count))]))
  }

  private func send(_ channel: String, _ message: String, except socketID: String?) {
    guard channels[channel] != nil else { return }
    news.append(.message(.channel(channel, SharedFrame(message), except: socketID)))
  }

  // MARK: Questions

  private func signIn(_ user: SignedInUser, socketID: String) -> NameSet {
    users[user.id, default: 0] += 1
    if users[user.id] == 1 {
      tellWatchers(of: user.id, text.watchlist(online: [user.id]), except: socketID)
    }
    return NameSet(user.watchlist.filter { users[$0] != nil })
  }

  private func tellWatchers(of userID: String, _ message: String, except socketID: String?) {
    news.append(.message(.watchers(userID, SharedFrame(message), except: socketID)))
  }

  private func admit(events: Int, bytes: Int, at now: Instant) -> Admission {
    guard eventQuota.hasRoom(for: events, at: now) else {
      return .overQuota(application.limits.refusal(ofEvents: true))
    }
    guard byteQuota.hasRoom(for: bytes, at: now) else {
      return .overQuota(application.limits.refusal(ofEvents: false))
    }
    eventQuota.take(events, at: now)
    byteQuota.take(bytes, at: now)
    return .admitted
  }

  private func facts(_ name: String, at now: Instant) -> ChannelFacts {
    var facts = ChannelFacts(name: name)
    if let channel = channels[name] {
      (facts.subscriptions, facts.members) = (channel.count, channel.members)
      facts.memberCount = channel.members.count
    }
    facts.cached = cache.event(of: name, at: now).map {
      CachedFacts(
        name: $0.name, data: $0.data.text ?? JSONWriter.text($0.data),
        timeLeft: $0.expiry.map(now.duration))
    }
    return facts
  }
}

extension SoloMember: ClusterMember {
  func adopt(_ new: AppSetup) {
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

  func connect(_ socketID: String) { sockets.insert(socketID) }
  func disconnect(_ socketID: String) { sockets.remove(socketID) }
  func hasSocket(_ socketID: String) -> Bool { sockets.contains(socketID) }
  var connectionCount: Int { sockets.count }
  var ownConnectionCount: Int { sockets.count }
  var isDeserted: Bool { sockets.isEmpty }
  var channelCount: Int { channels.count }
  func isOccupied(_ channel: String) -> Bool { channels[channel] != nil }
  var isAvailable: Bool { true }

  func ask(_ question: ClusterQuestion, at now: Instant) -> ClusterReply {
    switch question {
    case .join(let request): .answered(.joined(join(request, at: now)))
    case .signIn(let user, let socketID): .answered(.signedIn(signIn(user, socketID: socketID)))
    case .admit(let events, let bytes):
      .answered(.admission(admit(events: events, bytes: bytes, at: now)))
    case .published: .answered(.published(true))
    case .facts(let names, _): .answered(.facts(names.map { facts($0, at: now) }))
    case .channels(let prefix):
      .answered(.channels(channels.names.filter { $0.begins(with: prefix) }.sorted()))
    }
  }

  func leave(_ name: String, userID: String?, at now: Instant) {
    guard let channel = channels[name] else { return }
    channel.count -= 1
    if channel.count == 0 { channels[name] = nil }
    if let userID, let gone = channel.members.leave(userID) {
      note(.init(.memberRemoved, name, userID: gone.userID, id: gone.id))
      send(name, text.memberRemoved(channel: name, userID: gone.id), except: nil)
    } else {
      noteCount(name, channel)
    }
    if channel.count == 0 { note(.init(.channelVacated, name)) }
  }

  func signOut(_ userID: String, at now: Instant) {
    guard let count = users[userID] else { return }
    users[userID] = count == 1 ? nil : count - 1
    if count == 1 { tellWatchers(of: userID, text.watchlist(offline: [userID]), except: nil) }
  }

  func terminate(userID: String, at now: Instant) -> Bool {
    if users[userID] != nil { news.append(.message(.terminate(userID: userID))) }
    return true
  }

  func publish(_ event: ChannelEvent, at now: Instant) -> Publication {
    if event.isKept {
      cache.store(name: event.name, data: event.data ?? .null, for: event.channel, at: now)
    }
    return .here(channels[event.channel] == nil ? nil : event.message)
  }

  func tick(at now: Instant) { for name in counts.takeDue(at: now) { tellCount(name) } }

  func takeNews() -> [ClusterNews] { news.takeAll() }
  func takeNotices() -> [WebhookNotice] { notices.takeAll() }
  func note(_ notice: WebhookNotice) { if setup.notes(notice) { notices.append(notice) } }
}

private final class SoloChannel {
  var count = 0
  var members = MemberList()
}

package struct CachedEvents {
  /// An event of the API, as published.
  package struct Event: Equatable, Sendable {
    package let name: String
    package let data: JSONValue
    /// Time of removal; `nil` for never.
    let expiry: Instant?

    package init(name: String, data: JSONValue, expiry: Instant?) {
      (self.name, self.data, self.expiry) = (name, data, expiry)
    }
  }

  var limit: Int { didSet { forgetOldest() } }
  private let lifetime: Duration?
  /// Events in the order in which their channels were first cached; the oldest is dropped first.
  private var events = OrderedTable<Event>()

  init(limit: Int, lifetime: Duration?) {
    self.limit = limit
    self.lifetime = lifetime
  }

  func event(of channel: String, at now: Instant) -> Event? {
    guard let event = events[channel] else { return nil }
    return event.expiry.map { now >= $0 } ?? false ? nil : event
  }

  mutating func store(name: String, data: JSONValue, for channel: String, at now: Instant) {
    guard limit > 0 else { return }
    events[channel] = Event(name: name, data: data, expiry: lifetime.map(now.advanced))
    forgetOldest()
  }

  private mutating func forgetOldest() {
    while events.count > limit, let oldest = events.elements.first(where: { _ in true }) {
      events[oldest.name] = nil
    }
  }
}

/// Schedules subscription counts: at once for few subscribers, else every few seconds.
package struct SubscriptionCounts {
  /// Maximum number of subscribers for immediate counts.
  static let prompt = 100
  package static let interval = Duration.seconds(5)

  private var late = NameSet()
  private var lastTime: Instant?

  package init() {}

  /// Records a change; returns true if the count must be sent at once.
  package mutating func note(_ channel: String, count: Int) -> Bool {
    if count <= Self.prompt {
      late.remove(channel)
      return true
    }
    late.insert(channel)
    return false
  }

  /// Returns the channels with a due count.
  package mutating func takeDue(at now: Instant) -> [String] {
    guard !late.isEmpty else { return [] }
    if let lastTime, lastTime.duration(to: now) < Self.interval { return [] }
    lastTime = now
    defer { late.removeAll() }
    return late.sorted
  }
}
