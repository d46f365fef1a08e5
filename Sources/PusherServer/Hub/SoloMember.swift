internal import PusherCore

/// The only node of an app: it decides about all changes and answers at once.
final class SoloMember: ClusterMember {
  var node: NodeRecord
  private var channels = NameTable<SoloChannel>()
  /// Events of cache channels, in the order in which their channels were first cached.
  private var cache = OrderedTable<(event: CachedEvent, expiry: Instant?)>()
  private var streams = ChannelStreams()
  private var eventQuota: FixedWindow
  private var byteQuota: FixedWindow

  private final class SoloChannel {
    var count = 0
    var members = MemberList()
  }

  init(_ setup: AppSetup) {
    node = NodeRecord(setup)
    eventQuota = FixedWindow(setup.application.limits.eventsPerSecond, in: .seconds(1))
    byteQuota = FixedWindow(setup.application.limits.bytesPerSecond, in: .seconds(1))
  }

  private var text: MessageText { setup.text }

  func adopt(_ new: AppSetup) {
    let (former, limits) = (setup.application.limits, new.application.limits)
    node.setup = new
    forgetOldest()
    if limits.eventsPerSecond != former.eventsPerSecond {
      eventQuota = FixedWindow(limits.eventsPerSecond, in: .seconds(1))
    }
    if limits.bytesPerSecond != former.bytesPerSecond {
      byteQuota = FixedWindow(limits.bytesPerSecond, in: .seconds(1))
    }
  }

  var connectionCount: Int { ownConnectionCount }
  var isDeserted: Bool { node.sockets.isEmpty }
  var channelCount: Int { channels.count }
  func isOccupied(_ channel: String) -> Bool { channels[channel] != nil }
  var isAvailable: Bool { true }

  func tick(at now: Instant) {
    for name in node.takeDueCounts(at: now) { tellCount(name) }
    streams.tick(setup.limits, at: now)
  }

  // MARK: Subscriptions

  private func join(_ request: JoinRequest, at now: Instant) -> ClusterAnswer {
    let (name, member) = (request.channel, request.member)
    // Further connections of present users are always allowed.
    if let member, let members = channels[name]?.members, members[member.userID] == nil,
      members.count >= setup.limits.presenceMembers
    {
      return .full(keepsFormer: true)
    }
    if request.isAgain { return .joined(joined(request, at: now)) }
    if request.isSecond { leave(name, userID: request.formerUserID, at: now) }
    let channel = channels[name] ?? SoloChannel()
    if channel.count == 0 {
      channels[name] = channel
      note(.init(.channelOccupied, name))
    }
    channel.count += 1
    let isNew = member.map { channel.members.join($0) } ?? false
    let answer = joined(request, at: now)
    noteCount(name, channel)
    if isNew, let member {
      note(.memberAdded(name, member))
      send(name, text.memberAdded(channel: name, member: member), except: request.socketID)
    }
    return .joined(answer)
  }

  private func joined(_ request: JoinRequest, at now: Instant) -> Joined {
    let name = request.channel
    return Joined(
      request, members: channels[name]?.members,
      cached: setup.isCache(name) ? cached(name, at: now)?.event : nil)
  }

  func leave(_ name: String, userID: String?, at now: Instant) {
    guard let channel = channels[name] else { return }
    channel.count -= 1
    if channel.count == 0 {
      channels[name] = nil
      streams.noteVacated(name, at: now)
    }
    if let userID, let gone = channel.members.leave(userID) {
      note(.memberRemoved(name, gone))
      send(name, text.memberRemoved(channel: name, userID: gone.id), except: nil)
    } else {
      noteCount(name, channel)
    }
    if channel.count == 0 { note(.init(.channelVacated, name)) }
  }

  private func noteCount(_ name: String, _ channel: SoloChannel) {
    if node.isCountDue(name, channel.count) { tellCount(name) }
  }

  private func tellCount(_ name: String) {
    guard let count = channels[name]?.count else { return }
    send(name, text.subscriptionCount(channel: name, count: count), except: nil)
    note(.subscriptionCount(name, count))
  }

  private func send(_ channel: String, _ message: String, except socketID: String?) {
    if channels[channel] != nil { node.tell(channel, message, except: socketID) }
  }

  // MARK: Users

  private func signIn(_ user: SignedInUser, socketID: String) -> NameSet {
    if node.signIn(user.id) {
      tellWatchers(of: user.id, text.watchlist(online: [user.id]), except: socketID)
    }
    return NameSet(user.watchlist.filter { node.users[$0] != nil })
  }

  func signOut(_ userID: String, at now: Instant) {
    guard node.signOut(userID) == true else { return }
    tellWatchers(of: userID, text.watchlist(offline: [userID]), except: nil)
  }

  private func tellWatchers(of userID: String, _ message: String, except socketID: String?) {
    node.add(.message(.watchers(userID, SharedFrame(message), except: socketID)))
  }

  func terminate(userID: String, at now: Instant) -> Bool {
    if node.users[userID] != nil { node.add(.message(.terminate(userID: userID))) }
    return true
  }

  // MARK: Questions

  func ask(_ question: ClusterQuestion, at now: Instant) -> ClusterReply {
    switch question {
    case .join(let request): .answered(join(request, at: now))
    case .signIn(let user, let socketID): .answered(.signedIn(signIn(user, socketID: socketID)))
    case .admit(let events, let bytes):
      .answered(admit(events: events, bytes: bytes, at: now))
    case .published: .answered(.published)
    case .facts(let names, _): .answered(.facts(names.map { facts($0, at: now) }))
    case .channels(let prefix):
      .answered(.channels(channels.names.filter { $0.begins(with: prefix) }.sorted()))
    case .replay(let name, let start):
      .answered(.replay(streams.replay(name, from: start, setup.limits, at: now)))
    }
  }

  private func admit(events: Int, bytes: Int, at now: Instant) -> ClusterAnswer {
    let limits = setup.application.limits
    guard eventQuota.hasRoom(for: events, at: now) else {
      return .overQuota(limits.refusal(ofEvents: true))
    }
    guard byteQuota.hasRoom(for: bytes, at: now) else {
      return .overQuota(limits.refusal(ofEvents: false))
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
    facts.cached = cached(name, at: now).map { ($0.event, $0.expiry.map(now.duration)) }
    return facts
  }

  // MARK: Events

  func publish(_ event: ChannelEvent, at now: Instant) -> Publication {
    if event.isKept, setup.limits.cachedEvents > 0 {
      let expiry = setup.limits.times.cachedEvent.map(now.advanced)
      cache[event.channel] = (CachedEvent(name: event.name, data: event.data ?? .null), expiry)
      forgetOldest()
    }
    guard streams.isActive else {
      return .here(channels[event.channel] == nil ? nil : event.message)
    }
    // Also without subscribers: one may come back.
    let frame = streams.keep(event.text, on: event.channel, setup.limits, at: now)
    return .here(.channel(event.channel, frame, except: event.excluded))
  }

  // MARK: Streams

  var keepsStreams: Bool { streams.isActive }
  func beginStreams(life: String) {
    if setup.limits.allowsRecovery { streams.begin(life: life) }
  }
  func endStreams() { streams.end() }
  func loseStream(of channel: String, isReset: Bool, at now: Instant) {
    streams.lose(channel, isReset: isReset, at: now)
  }

  private func cached(
    _ channel: String, at now: Instant
  ) -> (event: CachedEvent, expiry: Instant?)? {
    guard let entry = cache[channel] else { return nil }
    return entry.expiry.map { now >= $0 } ?? false ? nil : entry
  }

  private func forgetOldest() {
    while cache.count > setup.limits.cachedEvents,
      let oldest = cache.elements.first(where: { _ in true })
    {
      cache[oldest.name] = nil
    }
  }
}
