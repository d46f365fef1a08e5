package import PusherCore
package import PusherServer

/// A hub's place among the nodes that share a Redis.
///
/// It does no input or output: answers, messages, questions and the time come in; orders and news
/// go out. It holds the state of its own sockets. Redis holds the state of all nodes together, and
/// ``ClusterScript`` changes it there. While Redis cannot be reached, sockets stay connected and
/// their requests wait. After a loss the member registers its entries under a new name, and removes
/// the former entries.
package final class RedisMember: ClusterMember {
  private(set) var setup: AppSetup
  let keys: RedisKeys
  let webhookDelay: Duration
  let secret: RedisPassword?
  var now: Instant
  var state = MemberState.connecting
  var identity: Identity
  var roster = Roster()
  var sockets = WaitingSockets()
  var calls = WaitingCalls()
  var departures = Departures()
  var others = OtherNodes()
  var trouble = RefusalRecord()
  private var cleanings = Cleanings()
  var pace = Pace()
  private var readings = ListReadings()
  private var entrance = Entrance()
  var outbox = MemberOutbox()

  /// A node counts as dead this long after its last sign of life.
  package static let lease = Duration.seconds(6)
  package static let beat = Duration.seconds(2)
  /// Time for which Redis remembers that a node's members were reported as gone.
  static let memory = Duration.seconds(7 * 86_400)

  package init(
    _ setup: AppSetup, database: Int, secret: RedisPassword? = nil, webhookDelay: Duration,
    random: any RandomNumberGenerator, at now: Instant
  ) {
    (self.setup, self.secret, self.webhookDelay) = (setup, secret, webhookDelay)
    self.now = now
    keys = RedisKeys(app: setup.application.id, database: database)
    identity = Identity(random: random)
    identity.renew()
  }

  package func adopt(_ setup: AppSetup) { self.setup = setup }

  // MARK: State

  private var isRegistered: Bool {
    switch state {
    case .registering(.entering), .gathering, .active: true
    case .registering, .connecting, .lost, .left: false
    }
  }

  package var isActive: Bool { if case .active = state { true } else { false } }
  var isGathering: Bool { if case .gathering = state { true } else { false } }
  var hasLeft: Bool { if case .left = state { true } else { false } }

  // MARK: Output

  package func nextOrder() -> ClusterOrder? { outbox.nextOrder() }
  package func takeNews() -> [ClusterNews] { outbox.takeNews() }
  package func takeNotices() -> [WebhookNotice] { outbox.takeNotices() }

  /// The next time for ``look(at:)``, besides the signs of life.
  package var deadline: Instant? {
    if case .gathering(let gathering) = state { return gathering.nextLook }
    return isActive && departures.askedAt == nil ? departures.held.first?.due : nil
  }

  private static let gatheringPause = Duration.milliseconds(200)

  func order(_ action: ClusterOrder.Action, _ purpose: ClusterOrder.Purpose) {
    if case .cleaning(let number, _) = purpose { cleanings.addStep(number) }
    outbox.add(ClusterOrder(action: action, purpose: purpose, registration: identity.registration))
  }

  func command(_ words: any RedisWord..., for purpose: ClusterOrder.Purpose) {
    order(.command(words.map(\.redisBytes)), purpose)
  }

  func call(
    _ operation: String, _ keys: [[UInt8]], _ arguments: KeyValuePairs<String, any RedisWord>,
    and more: [String] = [], for purpose: ClusterOrder.Purpose
  ) {
    let values = arguments.map(\.value.redisBytes) + more.map(\.redisBytes)
    order(.call(ClusterCall(operation, keys: keys, names: arguments.map(\.key), values)), purpose)
  }

  /// Sends a command and ignores its answer, unless it is a refusal.
  func send(_ words: any RedisWord...) {
    let bytes = words.map(\.redisBytes)
    order(.command(bytes), .check(String(decoding: bytes[0], as: UTF8.self)))
  }

  // MARK: Sockets

  package func connect(_ socketID: String) { roster.sockets.insert(socketID) }
  package func disconnect(_ socketID: String) { roster.sockets.remove(socketID) }
  package func hasSocket(_ socketID: String) -> Bool { roster.sockets.contains(socketID) }
  package var connectionCount: Int { roster.sockets.count + others.connections }
  package var ownConnectionCount: Int { roster.sockets.count }
  package var isDeserted: Bool { departures.unanswered == 0 && departures.held.isEmpty }
  package var channelCount: Int { roster.channels.count }
  package func isOccupied(_ channel: String) -> Bool { roster.channels[channel] != nil }
  package var isAvailable: Bool { isActive }

  // MARK: Answers

  package func receive(_ result: RedisResult, for order: ClusterOrder, at now: Instant) {
    self.now = now
    let registration = order.registration
    switch order.purpose {
    case .nothing: break
    case .check(let what): check(result, to: what, since: registration)
    case .registration(let step): registered(result, step, since: registration)
    case .lease(let step): leased(result, step, since: registration)
    case .followed(let channel): followed(channel, result, since: registration)
    case .page(let name, let channel):
      tookPage(result, of: name, channel, since: registration)
    case .join(let name):
      check(result, to: "the join of \(name)", since: registration)
      // The lease is over, or Redis knows fewer connections.
      if case .success(.array(let values)) = result, values.last == .integer(1) {
        noticeLoss(since: registration)
      }
    case .signIn:
      check(result, to: "a sign-in", since: registration)
      if case .success(.integer(-1)) = result { noticeLoss(since: registration) }
    case .leave(let departure): countedOut(departure, result, since: registration)
    case .signOut(let userID): signedOut(userID, result, since: registration)
    case .count(let name): counted(name, result, since: registration)
    case .publish: published(result, since: registration)
    case .question(let number, let step): answered(number, step, result, since: registration)
    case .departures(let all): took(result, all: all, since: registration)
    case .cleaning(let number, let step): cleaned(number, step, result)
    case .reap(let node): if case .status? = taken(result) { cleanUp(after: node) }
    }
  }

  // MARK: Time

  package func tick(at now: Instant) {
    self.now = now
    tellDueCounts()
  }

  /// Counts the missing nodes and reports delayed departures, when they are due.
  package func look(at now: Instant) {
    self.now = now
    if case .gathering(let gathering) = state, gathering.nextLook <= now { gather() }
    if isActive, let due = departures.held.first?.due, due <= now { tellDepartures() }
  }

  /// Renews the lease, and retries after a refusal.
  package func beat(at now: Instant) {
    self.now = now
    if case .lost(retries: true) = state { register(isFenced: identity.isFenced, at: now) }
    giveSign()
    tellDepartures()
  }
}

/// Removals of dead nodes' entries, each in several steps.
struct Cleanings {
  /// Maximum number of channels at a time, so that others' calls get their turn.
  private static let limit = 16

  private struct Cleaning {
    let node: String
    /// Channels that may have entries: at first those that Redis may not list.
    var channels: Fifo<String>
    /// Number of channels whose entries are being removed.
    var running = 0
    var missing = 0
    var isRefused = false
  }

  private var lastNumber = 0
  private var cleanings: [Int: Cleaning] = [:]

  mutating func begin(_ node: String, _ names: [String]) -> Int {
    lastNumber += 1
    var channels = Fifo<String>()
    for name in names { channels.append(name) }
    cleanings[lastNumber] = Cleaning(node: node, channels: channels)
    return lastNumber
  }

  func node(of number: Int) -> String? { cleanings[number]?.node }
  mutating func add(_ channel: String, to number: Int) {
    cleanings[number]?.channels.append(channel)
  }

  /// Returns the next channel; `nil` while the removal goes on in enough channels.
  fileprivate mutating func nextChannel(_ number: Int) -> String? {
    guard let running = cleanings[number]?.running, running < Self.limit,
      let name = cleanings[number]?.channels.popFirst()
    else { return nil }
    cleanings[number]?.running += 1
    return name
  }

  fileprivate mutating func noteChannel(_ number: Int) { cleanings[number]?.running -= 1 }

  fileprivate mutating func addStep(_ number: Int) { cleanings[number]?.missing += 1 }

  /// Counts an answer, and returns the node after the last one if every step succeeded.
  mutating func noteAnswer(_ number: Int, isTaken: Bool) -> String? {
    guard var cleaning = cleanings[number] else { return nil }
    cleaning.missing -= 1
    cleaning.isRefused = cleaning.isRefused || !isTaken
    cleanings[number] = cleaning.missing == 0 ? nil : cleaning
    return cleaning.missing == 0 && !cleaning.isRefused ? cleaning.node : nil
  }
}

extension RedisMember {
  /// Removes the entries of a dead node; a lock mostly keeps other nodes from the same work.
  func reap(_ node: String) {
    command(
      "SET", keys.reaping(node), identity.id, "NX", "PX",
      Int(Self.beat.components.seconds * 1000), for: .reap(node: node))
  }

  /// Returns the answer; logs an error instead, so that the entries are removed later.
  func taken(_ result: RedisResult) -> RedisReply? {
    guard case .success(let reply) = result else { return nil }
    guard case .error = reply else { return reply }
    log(RedisRefusal.words("the cleanup after a server", error: words(of: reply)))
    return nil
  }

  /// Counts out all entries of a node, or of this node under a former name, even if the lease still
  /// runs.
  ///
  /// A step changes nothing if another node did it before. The node's name goes last, so that
  /// another node starts again after an interruption or a refusal.
  ///
  /// - Parameter names: Further channels that may have entries, besides the channels that Redis
  ///   lists.
  private func cleanUp(after node: String, on names: [String] = []) {
    let number = cleanings.begin(node, names)
    // This key comes first: a returning node learns from it that its members were reported as gone.
    command(
      "SET", keys.gone(node), identity.id, "PX", Self.memory.wholeNanoseconds / 1_000_000,
      for: .cleaning(number, .mark))
  }

  func cleaned(_ number: Int, _ step: ClusterOrder.CleaningStep, _ result: RedisResult) {
    let isTaken = taken(result).map { go(number, step, $0) } ?? false
    if let node = cleanings.noteAnswer(number, isTaken: isTaken) { forget(node) }
  }

  /// Handles the answer to a step, and returns whether the step succeeded.
  private func go(_ number: Int, _ step: ClusterOrder.CleaningStep, _ reply: RedisReply) -> Bool {
    guard let node = cleanings.node(of: number) else { return false }
    switch step {
    case .step: return true
    case .mark:
      command("DEL", keys.lease(node), for: .cleaning(number, .step))
      command("SMEMBERS", keys.channels(of: node), for: .cleaning(number, .channels))
      command("HGETALL", keys.users(of: node), for: .cleaning(number, .users))
      return true
    case .channels, .users, .channel:
      guard case .array(let values) = reply else { return false }
      take(values, number, step, of: node)
      return true
    }
  }

  private func take(
    _ values: [RedisReply], _ number: Int, _ step: ClusterOrder.CleaningStep, of node: String
  ) {
    let texts = values.map { $0.content.map { String(decoding: $0, as: UTF8.self) } }
    switch step {
    case .channels:
      for name in texts.compactMap(\.self) { cleanings.add(name, to: number) }
      reapNext(node, number)
    case .users:
      for index in stride(from: 0, to: texts.count - 1, by: 2) {
        // Nodes write only numbers.
        guard let userID = texts[index], let connections = texts[index + 1].flatMap(Int32.init)
        else { continue }
        signOut(
          userID, connections: Int(connections), of: node, leaseEnd: "",
          for: .cleaning(number, .step))
      }
    case .channel(let name):
      for index in stride(from: 2, to: texts.count - 1, by: 2) {
        guard let userID = texts[index] else { continue }
        noteDeparture(.init(.memberRemoved, name, userID: userID), RedisChange(values[index + 1]))
      }
      if let vacated = values.first {
        noteDeparture(.init(.channelVacated, name), RedisChange(vacated))
      }
      if texts.count > 1, let cursor = texts[1], !cursor.isEmpty {
        return reap(node, on: name, number, from: cursor)
      }
      cleanings.noteChannel(number)
      reapNext(node, number)
    case .mark, .step: break
    }
  }

  private func reapNext(_ node: String, _ number: Int) {
    while let name = cleanings.nextChannel(number) { reap(node, on: name, number, from: "0") }
  }

  private func reap(_ node: String, on name: String, _ number: Int, from cursor: String) {
    let (before, after) = countText(name)
    call(
      "reap", keys.channel(name),
      [
        "node": node, "bus": keys.bus(name), "channel": name, "before": before, "after": after,
        "delay": delayText, "cursor": cursor,
      ], for: .cleaning(number, .channel(name)))
  }

  private func forget(_ node: String) {
    send("DEL", keys.channels(of: node), keys.users(of: node))
    send("SREM", keys.enrolled, node)
    send("SREM", keys.nodes, node)
    identity.formerIDs.removeAll { $0.isSame(as: node) }
  }
}

extension RedisMember {
  package func leave(_ name: String, userID: String?, at now: Instant) {
    self.now = now
    guard let channel = roster.channels[name] else { return }
    let member = userID.flatMap { channel.members[$0]?.member }
    channel.remove(userID)
    let departure = Departures.Subscription(channel: name, member: member)
    if isActive { countOut(departure) } else { departures.subscriptions.append(departure) }
    forgetIfEmpty(name)
  }

  private func countOut(_ departure: Departures.Subscription) {
    let name = departure.channel
    let userID = departure.member?.userID
    let (before, after) = countText(name)
    departures.unanswered += 1
    departures.unansweredOn[name, default: 0] += 1
    call(
      "leave", keys.channel(name),
      [
        "node": identity.id, "bus": keys.bus(name), "channel": name,
        "isMember": userID == nil ? "0" : "1", "user": userID ?? "", "before": before,
        "after": after, "leaseEnd": identity.leaseEnd, "delay": delayText,
      ], for: .leave(departure))
  }

  private func countedOut(
    _ departure: Departures.Subscription, _ result: RedisResult, since registration: Int
  ) {
    defer { departureAnswered() }
    let name = departure.channel
    let count = departures.unansweredOn[name] ?? 1
    departures.unansweredOn[name] = count == 1 ? nil : count - 1
    guard case .success(.array(let values)) = result, values.count == 3 else {
      departures.doubtful.insert(name)
      check(result, to: "the departure from \(name)", since: registration)
      // The departure may not have been counted; then the removal of the former entries counts it.
      return departures.subscriptions.append(departure)
    }
    if values[2] == .integer(-1) {
      departures.doubtful.insert(name)
      departures.subscriptions.append(departure)
      return noticeLoss(since: registration)
    }
    if isCurrent(registration) { noteCountedOut(name) }
    if let member = departure.member {
      noteDeparture(
        .init(.memberRemoved, name, userID: member.userID, id: member.id), RedisChange(values[1]))
    }
    noteDeparture(.init(.channelVacated, name), RedisChange(values[0]))
    if case .integer(let count) = values[2] { noteCount(name, Int(count)) }
  }

  package func signOut(_ userID: String, at now: Instant) {
    self.now = now
    guard let count = roster.users[userID] else { return }
    roster.users[userID] = count == 1 ? nil : count - 1
    if isActive { signOut(userID) } else { departures.users.append(userID) }
  }

  func signOut(_ userID: String) {
    departures.unanswered += 1
    signOut(
      userID, connections: 1, of: identity.id, leaseEnd: "\(identity.leaseEnd)",
      for: .signOut(userID: userID))
  }

  /// - Parameter leaseEnd: Empty for the entries of a dead node.
  func signOut(
    _ userID: String, connections: Int, of node: String, leaseEnd: String,
    for purpose: ClusterOrder.Purpose
  ) {
    call(
      "signOut", [keys.users, keys.users(of: node)],
      [
        "bus": keys.usersBus, "user": userID, "left": setup.text.watchlist(offline: [userID]),
        "connections": connections, "leaseEnd": leaseEnd,
      ], for: purpose)
  }

  private func signedOut(_ userID: String, _ result: RedisResult, since registration: Int) {
    defer { departureAnswered() }
    guard case .success(.integer(let change)) = result else {
      check(result, to: "a sign-out", since: registration)
      return departures.users.append(userID)
    }
    guard change < 0 else { return }
    departures.users.append(userID)
    noticeLoss(since: registration)
  }

  private func departureAnswered() {
    departures.unanswered -= 1
    if departures.endsMembership, departures.unanswered == 0 { endMembership() }
  }

  // MARK: Shutdown

  /// Ends the membership once Redis has answered all departures.
  package func resign(at now: Instant) {
    self.now = now
    departures.endsMembership = true
    if departures.unanswered == 0 { endMembership() }
  }

  private func endMembership() {
    guard !hasLeft else { return }
    // The last node reports the departures that are not due yet, before it leaves.
    if isActive, others.count == 1, !departures.areTaken, !delayText.isEmpty {
      departures.areTaken = true
      return takeDepartures(all: true)
    }
    let (wasRegistered, wasActive, id) = (isRegistered, isActive, identity.id)
    // Answers to earlier orders must not cause another registration.
    identity.registration += 1
    state = .left
    guard wasRegistered else { return }
    let isComplete =
      sockets.requests.isEmpty && departures.isEmpty
      && roster.channels.elements.allSatisfy(\.unlisted.isEmpty)
    guard wasActive, isComplete else {
      // Another node counts out the sockets that left in the meantime.
      return send("DEL", keys.lease(id))
    }
    send("DEL", keys.lease(id), keys.channels(of: id), keys.users(of: id))
    for set in [keys.nodes, keys.enrolled] { send("SREM", set, id) }
  }
}

/// Connections of one user, or of anonymous subscribers, on one channel.
struct RosterEntry: Sendable {
  let member: Member?
  let connections: Int
}

/// Connections on one channel that enter Redis in one step.
struct EntrySlice: Sendable {
  let name: String
  /// All with a member, or one without.
  let entries: ArraySlice<RosterEntry>
  let remains: FormerEntries
}

/// The entries of a registration that wait until few answers are due.
///
/// They are as they were when it began. Connections that end meanwhile are counted out after it.
struct Entrance {
  enum Step {
    case slice(EntrySlice)
    case user(String, connections: Int, FormerEntries)
  }

  var steps = Fifo<Step>()
  var isOpen = false
}

extension RedisMember {
  /// Enters everything that this node has under its new name, a little at a time, so that the lease
  /// is renewed in between.
  func enter(_ remains: FormerEntries) {
    identity.hasBegun = true
    entrance.isOpen = true
    for name in roster.channels.names {
      guard let channel = roster.channels[name] else { continue }
      channel.noteFollowed()
      let members = channel.members.elements.map {
        RosterEntry(member: $0.member, connections: $0.connections)
      }
      if !members.isEmpty {
        add(members, of: name, remains)
      } else if channel.count > 0 {
        add([RosterEntry(member: nil, connections: channel.count)], of: name, remains)
      } else {
        // Only joins wait. They find the channel followed, and do not list it.
        send("SADD", keys.channels(of: identity.id), name)
      }
    }
    var connections = roster.users
    // Waiting sign-ins enter with their own requests.
    for case .signIn(let user, _) in sockets.requests.values {
      connections[user.id, default: 0] -= 1
    }
    for userID in connections.names {
      guard let count = connections[userID], count > 0 else { continue }
      entrance.steps.append(.user(userID, connections: count, remains))
    }
    enterDepartures(remains)
    enterNext()
  }

  /// Enters sockets that left while Redis could not be reached.
  ///
  /// If Redis was emptied, they count as connected until all nodes are back, so that the last
  /// departure is known. Otherwise they are counted out with the former entries.
  private func enterDepartures(_ remains: FormerEntries) {
    guard remains == .lost else {
      (departures.subscriptions, departures.users) = ([], [])
      return
    }
    for departure in departures.subscriptions {
      add([RosterEntry(member: departure.member, connections: 1)], of: departure.channel, remains)
    }
    for userID in departures.users {
      entrance.steps.append(.user(userID, connections: 1, remains))
    }
  }

  /// Maximum number of entries in one step.
  private static let sliceLength = 50
  /// Size of a step's members in bytes, from which no more follow.
  private static let sliceSize = 32 << 10

  private func add(_ entries: [RosterEntry], of name: String, _ remains: FormerEntries) {
    for start in stride(from: 0, to: entries.count, by: Self.sliceLength) {
      let slice = entries[start..<min(start + Self.sliceLength, entries.count)]
      entrance.steps.append(.slice(EntrySlice(name: name, entries: slice, remains: remains)))
    }
  }

  /// Enters more while few answers are due, and tells the others when all have come.
  private func enterNext() {
    guard entrance.isOpen else { return }
    while pace.hasRoom, let step = entrance.steps.popFirst() {
      switch step {
      case .slice(let slice): enter(slice)
      case .user(let userID, let connections, let remains):
        signIn(
          SignedInUser(member: Member(userID: userID), watchlist: []), socketID: "",
          request: calls.nextNumber(), connections: connections, isNew: remains != .lost)
      }
    }
    guard entrance.steps.isEmpty, pace.isIdle else { return }
    entrance.isOpen = false
    send("SADD", keys.enrolled, identity.id)
    command(
      "PUBLISH", keys.usersBus, RedisFields.encode(["n", identity.id]),
      for: .registration(.entered))
  }

  private func enter(_ slice: EntrySlice) {
    var words: [String] = []
    var bytes = 0
    var rest = slice.entries
    while bytes < Self.sliceSize, let entry = rest.popFirst() {
      words.append("\(entry.connections)")
      guard let member = entry.member else { continue }
      let stored = member.stored
      words += [member.userID, stored]
      bytes += stored.utf8.count
    }
    if !rest.isEmpty {
      entrance.steps.prepend(
        .slice(EntrySlice(name: slice.name, entries: rest, remains: slice.remains)))
    }
    let sent = EntrySlice(
      name: slice.name, entries: slice.entries[..<rest.startIndex], remains: slice.remains)
    let number = calls.nextNumber()
    pace.noteSent(number, bytes: bytes)
    send("SADD", keys.channels(of: identity.id), slice.name)
    let (before, after) = countText(slice.name)
    call(
      "enter", keys.channel(slice.name) + [keys.nodes],
      [
        "node": identity.id, "answers": keys.answers(identity.id), "request": number,
        "bus": keys.bus(slice.name), "channel": slice.name,
        "isMember": slice.entries.first?.member == nil ? "0" : "1",
        "before": before, "after": after, "leaseEnd": identity.leaseEnd,
      ], and: words, for: .registration(.rejoined(sent)))
  }

  func rejoined(_ slice: EntrySlice, _ result: RedisResult, since registration: Int) {
    check(result, to: "the join of \(slice.name)", since: registration)
    guard case .success(.array(let values)) = result, values.count >= 2 else { return }
    if values[1] == .integer(1) { return noticeLoss(since: registration) }
    // Arrivals are reported only if the departures were.
    guard slice.remains == .cleanedUp else { return }
    noteJoined(slice.name, as: nil, isFirst: RedisChange(values[0]), isNew: .none)
    for (entry, change) in zip(slice.entries, values[2...]) {
      noteJoined(slice.name, as: entry.member, isFirst: .none, isNew: RedisChange(change))
    }
  }
}

enum RedisChange: Int64 {
  case none = 0
  /// Clients and webhooks get a report.
  case told = 1
  /// The webhook of a departure is delayed, or an arrival cancels a delayed departure.
  case held = 2

  init(_ reply: RedisReply) {
    self = if case .integer(let number) = reply { Self(rawValue: number) ?? .none } else { .none }
  }

  init(_ field: String) { self = Int64(field).flatMap(RedisChange.init(rawValue:)) ?? .none }
}

// Departures with delayed webhooks.
//
// Redis holds them for all nodes of the app. An arrival on any node removes its departure in the
// step that counts the arrival. One node removes a departure that is due, and reports it. So the
// webhooks of a user alternate between arrivals and departures.
extension RedisMember {
  /// Maximum number of departures that one call of the script returns.
  private static let departurePortion = 100

  /// Delay of a departure in milliseconds; empty for an app without webhooks or without a delay.
  private var delayText: String {
    guard !setup.application.webhooks.isEmpty, webhookDelay > .zero else { return "" }
    return "\(max(webhookDelay.wholeNanoseconds / 1_000_000, 1))"
  }

  private func tellDepartures() {
    if isActive, departures.askedAt == nil { takeDepartures(all: false) }
  }

  /// Removes departures from Redis and reports them; the last node also takes those not due yet.
  func takeDepartures(all: Bool) {
    guard !delayText.isEmpty else { return }
    departures.askedAt = now
    call("takeDepartures", [keys.departed], ["which": all ? "all" : ""], for: .departures(all: all))
  }

  func took(_ result: RedisResult, all: Bool, since registration: Int) {
    let asked = departures.askedAt
    departures.askedAt = nil
    guard case .success(.array(let values)) = result else {
      check(result, to: "the list of departures", since: registration)
      if all { endMembership() }
      return
    }
    for value in values { report(departure: value.content ?? []) }
    if values.count >= Self.departurePortion { return takeDepartures(all: all) }
    if all { endMembership() }
    if let asked { departures.held.removeAll { $0.due <= asked } }
  }

  private func report(departure bytes: [UInt8]) {
    guard let fields = RedisFields.decode(bytes), fields.count == 3 else { return }
    var notice =
      fields[1] == "m"
      ? WebhookNotice(.memberRemoved, fields[0], userID: fields[2])
      : WebhookNotice(.channelVacated, fields[0])
    notice.audience = .webhooks
    note(notice)
  }

  /// Stores the delayed departures again after Redis was emptied, unless the user is back.
  func holdAgain() {
    for departure in departures.held {
      call(
        "holdAgain", keys.channel(departure.channel),
        [
          "channel": departure.channel, "isMember": departure.userID == nil ? "0" : "1",
          "user": departure.userID ?? "", "delay": delayText,
        ], for: .check("the list of departures"))
    }
  }

  func noteDeparture(_ notice: WebhookNotice, _ change: RedisChange) {
    note(notice, change)
    guard change == .held else { return }
    departures.held.append(
      Departures.Held(
        channel: notice.channel, userID: notice.userID, due: now.advanced(by: webhookDelay)))
  }

  private func noteJoined(
    _ name: String, as member: Member?, isFirst: RedisChange, isNew: RedisChange
  ) {
    note(.init(.channelOccupied, name), isFirst)
    if let member {
      note(
        .init(.memberAdded, name, userID: member.userID, id: member.id, userInfo: member.info),
        isNew)
    }
  }

  private func note(_ notice: WebhookNotice, _ change: RedisChange) {
    switch change {
    case .none: return
    case .told: note(notice)
    case .held:
      var notice = notice
      notice.audience = .console
      note(notice)
    }
  }

  package func note(_ notice: WebhookNotice) {
    if setup.notes(notice) { outbox.add(notice) }
  }
}

extension RedisMember {
  /// The message with a channel's count, cut at the number; empty for an app without counts.
  private func countText(_ name: String) -> (before: String, after: String) {
    guard setup.tellsCount(of: name) else { return ("", "") }
    let mark = 987_654_321_987
    let text = Array(setup.text.subscriptionCount(channel: name, count: mark).utf8)
    let digits = Array("\(mark)".utf8)
    // The last occurrence counts, because a channel's name may have any digits.
    let place = text.indices.last { text[$0...].starts(with: digits) } ?? 0
    return (
      String(decoding: text[..<place], as: UTF8.self),
      String(decoding: text[(place + digits.count)...], as: UTF8.self)
    )
  }

  /// Notes a changed count; the script itself publishes small counts at once.
  func noteCount(_ name: String, _ count: Int) {
    guard setup.tellsCount(of: name), count > 0 else { return }
    if roster.counts.note(name, count: count) { noteReported(count, name) }
  }

  private func noteReported(_ count: Int, _ name: String) {
    note(.init(.subscriptionCount, name, details: [.init("subscription_count", .integer(count))]))
  }

  private func tellDueCounts() {
    for name in roster.counts.takeDue(at: now) where isActive {
      let (before, after) = countText(name)
      call(
        "tellCount", [keys.channel(name)[0], keys.counted(name)],
        [
          "bus": keys.bus(name), "channel": name, "before": before, "after": after,
          "milliseconds": Int(SubscriptionCounts.interval.components.seconds * 900),
        ], for: .count(name))
    }
  }

  func counted(_ name: String, _ result: RedisResult, since registration: Int) {
    check(result, to: "the count of \(name)", since: registration)
    if case .success(.integer(let count)) = result, count > 0 { noteReported(Int(count), name) }
  }
}

extension RedisMember {
  /// Sends a request, now or when the member becomes active.
  func ask(_ request: WaitingSockets.Request) -> Int {
    let number = calls.nextNumber()
    sockets.requests[number] = request
    if !isActive, sockets.requests.count >= sockets.dropsAt { dropAbandoned() }
    if isActive { send(request, number) }
    return number
  }

  /// Drops the requests of closed sockets, because nothing would count them out again.
  private func dropAbandoned() {
    for (number, request) in sockets.requests where !roster.sockets.contains(request.socketID) {
      sockets.requests[number] = nil
      outbox.add(.dropped(number))
    }
    sockets.dropsAt = max(2 * sockets.requests.count, 1024)
  }

  func send(_ request: WaitingSockets.Request, _ number: Int) {
    switch request {
    case .join(let wish):
      let channel = roster.channels[wish.channel] ?? RedisChannel()
      roster.channels[wish.channel] = channel
      channel.waiting += 1
      follow(wish.channel, channel, number)
    case .signIn(let user, let socketID):
      signIn(user, socketID: socketID, request: number, connections: 1)
    }
  }

  /// Queues a join until its channel is subscribed, so that a socket's answers stay in order.
  private func follow(_ name: String, _ channel: RedisChannel, _ number: Int) {
    sockets.line.append((channel, number))
    if channel.beginFollowing() {
      send("SADD", keys.channels(of: identity.id), name)
      order(.subscribe(keys.bus(name)), .followed(channel))
    }
    advance()
  }

  func followed(_ channel: RedisChannel, _ result: RedisResult, since registration: Int) {
    guard isCurrent(registration) else { return }
    guard case .success = result else { return check(result, to: "SUBSCRIBE", since: registration) }
    channel.isFollowed = true
    advance()
  }

  /// Sends joins as long as few answers are due.
  func advance() {
    while pace.hasRoom, let first = sockets.line.first, first.channel.isFollowed {
      guard let next = sockets.line.popFirst(),
        case .join(let wish)? = sockets.requests[next.number]
      else { continue }
      join(wish, next.number)
      if wish.member != nil, next.channel.view == nil { readList(wish.channel, next.channel) }
    }
  }

  /// Counts a connection in; the answer comes as a message.
  private func join(_ wish: JoinRequest, _ number: Int) {
    let name = wish.channel
    let (before, after) = countText(name)
    let stored = wish.member?.stored ?? ""
    pace.noteSent(number, bytes: stored.utf8.count)
    call(
      "join", keys.channel(name) + [keys.nodes],
      [
        "node": identity.id, "answers": keys.answers(identity.id), "request": number,
        "bus": keys.bus(name), "channel": name, "socket": wish.socketID,
        "isMember": wish.member == nil ? "0" : "1", "user": wish.member?.userID ?? "",
        "member": stored, "limit": setup.limits.presenceMembers, "before": before, "after": after,
        "connections": wish.isAgain ? 0 : 1, "has": roster.channels[name]?.count ?? 0,
        "leaseEnd": identity.leaseEnd,
      ], for: .join(name))
  }

  /// Counts connections of a user in; the answer comes as a message.
  func signIn(
    _ user: SignedInUser, socketID: String, request: Int, connections: Int, isNew: Bool = true
  ) {
    pace.noteSent(request, bytes: 0)
    call(
      "signIn", [keys.users, keys.users(of: identity.id), keys.nodes],
      [
        "node": identity.id, "answers": keys.answers(identity.id), "request": request,
        "bus": keys.usersBus, "user": user.id, "socket": socketID,
        "came": isNew ? setup.text.watchlist(online: [user.id]) : "", "connections": connections,
        "leaseEnd": identity.leaseEnd,
      ], and: user.watchlist, for: .signIn)
  }

  private func forgetIfEmpty(_ name: String) {
    guard let channel = roster.channels[name], channel.isUnused else { return }
    roster.channels[name] = nil
    order(.unsubscribe(keys.bus(name)), .nothing)
  }

  /// Removes a channel without subscribers from this node's list in Redis.
  ///
  /// All departures must be answered and counted first. Otherwise no node would find the uncounted
  /// departure after this node is gone.
  private func noteCountedOut(_ name: String) {
    guard isRegistered, roster.channels[name] == nil, departures.unansweredOn[name] == nil,
      !departures.doubtful.contains(name)
    else { return }
    send("SREM", keys.channels(of: identity.id), name)
  }
}

extension JoinRequest {
  /// True if the socket is already subscribed as the same user; then it only gets another answer.
  fileprivate var isAgain: Bool { isSecond && formerUserID.isSame(as: member?.userID) }
}

extension RedisMember {
  private static var leaseMilliseconds: Int64 { lease.wholeNanoseconds / 1_000_000 }

  private func giveSign() {
    guard isRegistered else { return }
    call(
      "beat", [keys.lease(identity.id)],
      [
        "content": ownConnectionCount, "milliseconds": Self.leaseMilliseconds,
        "leaseEnd": identity.leaseEnd,
      ], for: .lease(.sign))
    lookForOthers()
  }

  private func lookForOthers() { command("SMEMBERS", keys.nodes, for: .lease(.nodes)) }

  private func leased(
    _ result: RedisResult, _ step: ClusterOrder.LeaseStep, since registration: Int
  ) {
    switch step {
    case .sign:
      guard let end = number(result, of: "the lease", since: registration) else { return }
      if end > 0, isCurrent(registration) {
        identity.leaseEnd = end
        trouble.lastTold = nil
      }
      // Other nodes have reported this node's members as gone, or Redis was emptied.
      if end == 0 { noticeLoss(since: registration) }
    case .nodes:
      guard isCurrent(registration) else { return }
      guard case .success(.array(let values)) = result else {
        return check(result, to: "SMEMBERS", since: registration)
      }
      let others = values.compactMap(\.content).map { String(decoding: $0, as: UTF8.self) }
        .filter { $0 != identity.id }
      // Other nodes may have removed the entries of a former name.
      identity.formerIDs.removeAll { former in !others.contains { $0.isSame(as: former) } }
      look(at: others)
    case .leases(let nodes):
      guard case .success(.array(let leases)) = result, leases.count == nodes.count else {
        return check(result, to: "MGET", since: registration)
      }
      count(nodes, leases)
    }
  }

  private func look(at nodes: [String]) {
    guard !nodes.isEmpty else {
      others = OtherNodes()
      return
    }
    order(.command([Array("MGET".utf8)] + nodes.map(keys.lease)), .lease(.leases(nodes)))
  }

  private func count(_ nodes: [String], _ leases: [RedisReply]) {
    var found = OtherNodes()
    for (node, lease) in zip(nodes, leases) {
      if let content = lease.content {
        found.connections += Self.connections(content)
        found.count += 1
      } else {
        reap(node)
      }
    }
    others = found
  }

  /// Returns the number of sockets in a lease; 0 for content that no server writes.
  private static func connections(_ lease: [UInt8]) -> Int {
    let count = Int(String(decoding: lease, as: UTF8.self)) ?? 0
    return (0...connectionLimit).contains(count) ? count : 0
  }

  private static let connectionLimit = 1 << 24
}

/// Channels whose members are being read, a few at a time, and those that wait.
struct ListReadings {
  private static let limit = 8

  private var running = 0
  private var waiting = Fifo<String>()

  mutating func add(_ name: String) { waiting.append(name) }
  mutating func noteEnd() { running -= 1 }

  /// Returns the next channel to read; `nil` while enough are being read.
  mutating func next() -> String? {
    guard running < Self.limit, let name = waiting.popFirst() else { return nil }
    running += 1
    return name
  }
}

// A node reads the members of a presence channel once, from the replies to its commands. From then
// on the messages about changes keep its list right.
extension RedisMember {
  /// Reads the members of a channel, unless that goes on already.
  private func readList(_ name: String, _ channel: RedisChannel) {
    guard channel.pages == nil else { return }
    channel.pages = MemberPages()
    readings.add(name)
    continueReading()
  }

  /// Reads the lists again that sockets know or wait for.
  private func readKnownLists() {
    for name in roster.channels.names {
      guard let channel = roster.channels[name] else { continue }
      if channel.view != nil || !channel.unlisted.isEmpty { readList(name, channel) }
    }
  }

  private func continueReading() {
    while let name = readings.next() {
      if let channel = roster.channels[name], channel.pages != nil {
        askPage("0", name, channel)
      } else {
        readings.noteEnd()
      }
    }
  }

  private func askPage(_ cursor: String, _ name: String, _ channel: RedisChannel) {
    command(
      "HSCAN", keys.members(name), cursor, "COUNT", HashPage.size, for: .page(name, channel))
  }

  private func tookPage(
    _ result: RedisResult, of name: String, _ channel: RedisChannel, since registration: Int
  ) {
    guard isCurrent(registration) else { return }
    guard let page = HashPage(result) else {
      if case .success(let reply) = result {
        refuse(RedisRefusal.words("HSCAN", error: words(of: reply)), since: registration)
      }
      return
    }
    // The channel may have lost its sockets, and may have new ones.
    if channel.pages != nil, roster.channels[name] === channel {
      channel.pages?.take(page)
      if let next = page.next { return askPage(next, name, channel) }
      complete(name, channel)
    }
    readings.noteEnd()
    continueReading()
  }

  /// Tells the sockets how the list differs from what they know, and answers those that wait.
  private func complete(_ name: String, _ channel: RedisChannel) {
    guard let new = channel.pages?.view else { return }
    if let known = channel.view?.list {
      for member in new.list.members where known[member.userID] == nil {
        tell(.channel(name, arrival(of: member, on: name), except: nil))
      }
      for member in known.members where new.list[member.userID] == nil {
        tell(.channel(name, departure(of: member, from: name), except: nil))
      }
    }
    (channel.view, channel.pages) = (new, nil)
    for join in channel.unlisted.takeAll() {
      answer(join.number, join.request, channel, join.event)
    }
    forgetIfEmpty(name)
  }

  func arrival(of member: Member, on name: String) -> SharedFrame {
    SharedFrame(setup.text.memberAdded(channel: name, member: member))
  }

  func departure(of member: Member, from name: String) -> SharedFrame {
    SharedFrame(setup.text.memberRemoved(channel: name, userID: member.id))
  }

  /// Answers a counted join.
  func answer(_ number: Int, _ request: JoinRequest, _ channel: RedisChannel, _ event: String) {
    let members = request.member == nil ? nil : channel.view?.list ?? MemberList()
    let isCache = setup.naming.isCache(request.channel)
    let joined = Joined(
      memberID: request.member.flatMap { members?[$0.userID]?.id }, members: members,
      cached: isCache ? CachedEvents.Event(stored: event) : nil)
    outbox.add(.answer(number, .joined(.joined(joined))))
  }
}

extension RedisMember {
  package func take(_ payload: [UInt8], from channel: [UInt8], at now: Instant) {
    self.now = now
    guard let fields = RedisFields.decode(payload), let kind = fields.first else { return }
    // Requests under a former name were sent again, so their answers are ignored.
    if ["j", "s", "e"].contains(kind), channel != keys.answers(identity.id) { return }
    switch (kind, fields.count) {
    case ("m", 5): message(fields)
    case ("a", 6): added(fields)
    case ("r", 4): removed(fields)
    case ("w", 4):
      tell(.watchers(fields[1], SharedFrame(fields[3]), except: Self.socket(fields[2])))
    // A registering node gets its own message too, and looks for the other nodes.
    case ("n", 2): lookForOthers()
    case ("t", 2): tell(.terminate(userID: fields[1]))
    case ("j", 4...): joined(Array(fields.dropFirst()))
    case ("s", 2...): signedIn(Array(fields.dropFirst()))
    case ("e", 2): Int(fields[1]).map(noteAnswered)
    default: break
    }
  }

  private static func socket(_ field: String) -> String? { field.isEmpty ? nil : field }
  func tell(_ message: BusMessage) { outbox.add(.message(message)) }

  private func message(_ fields: [String]) {
    let isEvent = fields[2] != "0"
    let frame = SharedFrame(fields[4], channel: isEvent ? fields[1] : nil)
    let message = BusMessage.channel(fields[1], frame, except: Self.socket(fields[3]))
    outbox.add(
      isEvent
        ? .event(message, channel: fields[1], isFromClient: fields[2] == "2") : .message(message))
  }

  /// Announces a new user, unless the list has the user already.
  private func added(_ fields: [String]) {
    guard let channel = roster.channels[fields[1]], channel.isFollowed,
      let number = Int(fields[4]), let member = Member(stored: fields[5])
    else { return }
    if channel.pages != nil { return channel.note(fields[3], number, member) }
    guard channel.view?.add(member, number) == true else { return }
    let frame = arrival(of: member, on: fields[1])
    tell(.channel(fields[1], frame, except: Self.socket(fields[2])))
  }

  private func removed(_ fields: [String]) {
    guard let channel = roster.channels[fields[1]], channel.isFollowed,
      let number = Int(fields[3])
    else { return }
    if channel.pages != nil { return channel.note(fields[2], number, nil) }
    guard let member = channel.view?.remove(fields[2], number) else { return }
    tell(.channel(fields[1], departure(of: member, from: fields[1]), except: nil))
  }

  /// Sends what waited for an answer.
  private func noteAnswered(_ number: Int) {
    pace.noteAnswered(number)
    advance()
    enterNext()
  }

  private func joined(_ fields: [String]) {
    guard let number = Int(fields[0]) else { return }
    defer { noteAnswered(number) }
    guard let channel = roster.channels[fields[1]],
      let request = sockets.requests.removeValue(forKey: number), case .join(let wish) = request
    else { return }
    channel.waiting -= 1
    guard fields.count == 7 else {
      outbox.add(.answer(number, .joined(.full(keepsFormer: false))))
      forgetIfEmpty(wish.channel)
      return noteCountedOut(wish.channel)
    }
    if !wish.isAgain { channel.add(wish.member) }
    noteJoined(
      wish.channel, as: wish.member, isFirst: RedisChange(fields[3]), isNew: RedisChange(fields[4]))
    if wish.member != nil, channel.lacksList {
      channel.unlisted.append(.init(number: number, request: wish, event: fields[6]))
    } else {
      answer(number, wish, channel, fields[6])
    }
    noteCount(wish.channel, Int(fields[5]) ?? 0)
  }

  private func signedIn(_ fields: [String]) {
    guard let number = Int(fields[0]) else { return }
    defer { noteAnswered(number) }
    guard let request = sockets.requests.removeValue(forKey: number), case .signIn = request
    else { return }
    outbox.add(.answer(number, .signedIn(NameSet(fields.dropFirst()))))
  }
}

extension RedisMember {
  package func ask(_ question: ClusterQuestion, at now: Instant) -> ClusterReply {
    self.now = now
    switch question {
    case .join(let request):
      if request.isSecond, !request.isAgain {
        leave(request.channel, userID: request.formerUserID, at: now)
      }
      return .later(ask(.join(request)))
    case .signIn(let user, let socketID):
      roster.users[user.id, default: 0] += 1
      return .later(ask(.signIn(user, socketID: socketID)))
    case .admit(let events, let bytes): return admit(events: events, bytes: bytes)
    case .published: return calls.waitForEvents().map { .later($0) } ?? .answered(.published(true))
    case .facts(let names, let withMembers):
      guard isActive else { return .answered(.facts(nil)) }
      guard !names.isEmpty else { return .answered(.facts([])) }
      let number = calls.nextNumber()
      askFacts(names, number, wantsNames: false, withMembers: withMembers)
      return .later(number)
    case .channels(let prefix):
      guard isActive else { return .answered(.channels(nil)) }
      let number = calls.nextNumber()
      command("SMEMBERS", keys.nodes, for: .question(number, .nodes(prefix: prefix)))
      return .later(number)
    }
  }

  private func admit(events: Int, bytes: Int) -> ClusterReply {
    guard isActive else { return .answered(.admission(.unavailable)) }
    guard hasQuota else { return .answered(.admission(.admitted)) }
    let number = calls.nextNumber()
    countEvents(events, bytes: bytes, for: .question(number, .admission))
    return .later(number)
  }

  private var hasQuota: Bool {
    let limits = setup.application.limits
    return limits.eventsPerSecond != nil || limits.bytesPerSecond != nil
  }

  private func countEvents(
    _ events: Int, bytes: Int, isTrial: Bool = false, for purpose: ClusterOrder.Purpose
  ) {
    let limits = setup.application.limits
    func text(_ limit: Int?) -> String { isTrial ? "" : limit.map { "\($0)" } ?? "" }
    call(
      "admit", keys.quotas,
      [
        "events": events, "bytes": bytes, "eventLimit": text(limits.eventsPerSecond),
        "byteLimit": text(limits.bytesPerSecond),
      ], for: purpose)
  }

  private func askFacts(
    _ names: [String], _ number: Int, wantsNames: Bool, withMembers: Bool = false
  ) {
    calls.facts[number] = WaitingCalls.Facts(
      missing: withMembers ? 2 * names.count : names.count, wantsNames: wantsNames)
    for name in names {
      call("facts", keys.channel(name), [:], for: .question(number, .facts(name)))
      if withMembers { askMembers(of: name, from: "0", number) }
    }
  }

  private func askMembers(of name: String, from cursor: String, _ number: Int) {
    command(
      "HSCAN", keys.members(name), cursor, "COUNT", HashPage.size,
      for: .question(number, .members(name)))
  }

  // MARK: Answers

  func answered(
    _ number: Int, _ step: ClusterOrder.QuestionStep, _ result: RedisResult, since registration: Int
  ) {
    switch step {
    case .admission:
      check(result, to: "the count of events", since: registration)
      outbox.add(.answer(number, .admission(admission(result))))
    case .facts(let name):
      checkCall(result, to: "the facts of \(name)")
      let facts = ChannelFacts(name: name, result)
      calls.facts[number]?.known.append(facts ?? ChannelFacts(name: name))
      noteFacts(number, isKnown: facts != nil)
    case .members(let name):
      checkCall(result, to: "the members of \(name)")
      let page = HashPage(result)
      if let page { calls.facts[number]?.lists[name, default: MemberPages()].take(page) }
      if let next = page?.next { return askMembers(of: name, from: next, number) }
      noteFacts(number, isKnown: page != nil)
    case .nodes(let prefix):
      guard case .success(.array(let nodes)) = result, !nodes.isEmpty else {
        return noNames(result, to: "SMEMBERS", number)
      }
      let sets = nodes.compactMap(\.content).map {
        keys.channels(of: String(decoding: $0, as: UTF8.self))
      }
      order(.command([Array("SUNION".utf8)] + sets), .question(number, .names(prefix: prefix)))
    case .names(let prefix):
      guard case .success(.array(let values)) = result else {
        return noNames(result, to: "SUNION", number)
      }
      let names = values.compactMap(\.content).map { String(decoding: $0, as: UTF8.self) }
        .filter { $0.begins(with: prefix) }.sorted()
      // The list of a node may have a channel without subscribers.
      if isActive, !names.isEmpty { return askFacts(names, number, wantsNames: true) }
      outbox.add(.answer(number, .channels(isActive ? [] : nil)))
    }
  }

  private func admission(_ result: RedisResult) -> Admission {
    let limits = setup.application.limits
    switch result {
    case .success(.integer(1)): return .overQuota(limits.refusal(ofEvents: true))
    case .success(.integer(2)): return .overQuota(limits.refusal(ofEvents: false))
    case .success(.integer): return .admitted
    default: return .unavailable
    }
  }

  private func noNames(_ result: RedisResult, to what: String, _ number: Int) {
    checkCall(result, to: what)
    outbox.add(.answer(number, .channels(nil)))
  }

  /// Counts an answer, and answers the question after the last one.
  private func noteFacts(_ number: Int, isKnown: Bool) {
    guard var waiting = calls.facts[number] else { return }
    waiting.missing -= 1
    waiting.isKnown = waiting.isKnown && isKnown
    guard waiting.missing == 0 else {
      calls.facts[number] = waiting
      return
    }
    calls.facts[number] = nil
    for index in waiting.known.indices {
      let list = waiting.lists[waiting.known[index].name]?.view.list
      waiting.known[index].members = list ?? MemberList()
    }
    let known = waiting.isKnown ? waiting.known : nil
    outbox.add(
      .answer(
        number,
        waiting.wantsNames
          ? .channels(known?.filter { $0.subscriptions > 0 }.map(\.name)) : .facts(known)))
  }

  // MARK: Events

  package func publish(_ event: ChannelEvent, at now: Instant) -> Publication {
    self.now = now
    guard isActive else { return .everywhere }
    calls.notePublished()
    let message = RedisFields.encode([
      "m", event.channel, event.isFromClient ? "2" : "1", event.excluded ?? "",
      event.text,
    ])
    guard event.isKept else {
      command("PUBLISH", keys.bus(event.channel), message, for: .publish)
      return .everywhere
    }
    let kept = CachedEvents.Event(name: event.name, data: event.data ?? .null, expiry: nil)
    call(
      "keep", [keys.event(event.channel)],
      [
        "event": kept.stored,
        "milliseconds": setup.limits.times.cachedEvent.map { "\($0.wholeNanoseconds / 1_000_000)" }
          ?? "", "bus": keys.bus(event.channel), "message": message,
      ], for: .publish)
    return .everywhere
  }

  package func terminate(userID: String, at now: Instant) -> Bool {
    self.now = now
    guard isActive else { return false }
    calls.notePublished()
    command("PUBLISH", keys.usersBus, RedisFields.encode(["t", userID]), for: .publish)
    return true
  }

  func published(_ result: RedisResult, since registration: Int) {
    // An overload fails this event alone, so only refusals of Redis are checked.
    if case .success = result { check(result, to: "PUBLISH", since: registration) }
    var isTaken = false
    if case .success(let reply) = result { isTaken = reply.errorCode == nil }
    for (number, isTaken) in calls.noteAnswer(isTaken: isTaken) {
      outbox.add(.answer(number, .published(isTaken)))
    }
  }
}

extension ChannelFacts {
  fileprivate init?(name: String, _ result: RedisResult) {
    guard case .success(.array(let values)) = result, values.count == 4,
      case .integer(let count) = values[0], case .integer(let timeLeft) = values[2],
      case .integer(let users) = values[3]
    else { return nil }
    self.init(name: name)
    (subscriptions, memberCount) = (Int(count), Int(users))
    let event = String(decoding: values[1].content ?? [], as: UTF8.self)
    if let event = CachedEvents.Event(stored: event) {
      cached = CachedFacts(
        name: event.name, data: event.data.text ?? JSONWriter.text(event.data),
        timeLeft: timeLeft > 0 ? .milliseconds(timeLeft) : nil)
    }
  }
}

// Refusals of Redis. A refusal that affects the registration makes the member inactive until it has
// registered again.
extension RedisMember {
  /// Text of a refusal; `nil` for other answers and for a lost link.
  func refusal(in result: RedisResult) -> String? {
    switch result {
    case .success(let reply): reply.errorCode == nil ? nil : words(of: reply)
    case .failure(.refused(_, _, let words)), .failure(.overloaded(let words)): words
    case .failure: nil
    }
  }

  func words(of reply: RedisReply) -> String { reply.words(without: secret) }

  /// Ends the registration if the answer is a refusal; answers for an earlier registration are
  /// ignored.
  ///
  /// - Parameter what: The command, without names that change, so that repeated reasons are logged
  ///   once.
  func check(_ result: RedisResult, to what: @autoclosure () -> String, since registration: Int) {
    guard let words = refusal(in: result) else { return }
    refuse(RedisRefusal.words(what(), error: words), since: registration)
  }

  /// Returns the number in the answer; any other answer is a refusal.
  func number(_ result: RedisResult, of what: String, since registration: Int) -> Int64? {
    if case .success(.integer(let number)) = result { return number }
    if case .success(let reply) = result {
      refuse(RedisRefusal.words(what, error: words(of: reply)), since: registration)
    } else {
      check(result, to: what, since: registration)
    }
    return nil
  }

  /// Checks the answer to an API call; only a missing right ends the registration.
  private func checkCall(_ result: RedisResult, to what: @autoclosure () -> String) {
    guard let words = refusal(in: result) else { return }
    let reason = RedisRefusal.words(what(), error: words)
    if RedisRefusal.isPermissionError(words) {
      refuse(reason, since: identity.registration)
    } else {
      log(reason)
    }
  }

  /// Logs an error that affects one call, or the entries of a dead node.
  func log(_ reason: String) {
    if isNew(reason) { outbox.add(.log(.busError(reason: reason))) }
  }

  private func isNew(_ reason: String) -> Bool {
    guard trouble.lastTold.map({ !$0.isSame(as: reason) }) ?? true else { return false }
    trouble.lastTold = reason
    return true
  }

  func refuse(_ reason: String, since registration: Int) {
    guard !hasLeft else { return log(reason) }
    guard isCurrent(registration) else { return }
    stop()
    state = .lost(retries: true)
    trouble.refusal = "refuses \(reason)"
    outbox.addRefusal(isNew(reason) ? reason : nil)
  }

  /// Tries every command that the member needs, so that all missing rights are logged together.
  func probe() {
    call(
      "probe", [keys.probe(identity.id), keys.nodes, keys.enrolled, keys.users, keys.departed],
      ["bus": keys.usersBus], for: .registration(.probe))
    if hasQuota { countEvents(0, bytes: 0, isTrial: true, for: .check("the count of events")) }
  }

  func probed(_ result: RedisResult, since registration: Int) {
    guard case .success(.array(let values)) = result else {
      return check(result, to: "a script", since: registration)
    }
    let errors = values.compactMap(\.content).map { String(decoding: $0, as: UTF8.self) }
    guard !errors.isEmpty else { return }
    refuse(RedisRefusal.words(errors.map { words(of: .error($0)) }), since: registration)
  }

  /// Maximum number of former names before their entries must be removed.
  private static let formerLimit = 16

  private func cleanUpFirst() {
    for former in identity.formerIDs { cleanUp(after: former, on: roster.channels.names) }
    refuse("the removal of earlier registrations", since: identity.registration)
  }
}

extension RedisMember {
  /// Notes that Redis cannot be reached; sockets stay connected, and their requests wait.
  package func lose(at now: Instant) {
    self.now = now
    guard !hasLeft else { return }
    stop()
    state = .lost(retries: false)
  }

  func stop() {
    identity.registration += 1
    sockets.line = Fifo()
    (pace, readings, entrance) = (Pace(), ListReadings(), Entrance())
    dropAbandoned()
    for channel in roster.channels.elements { channel.forgetLink() }
  }

  func isCurrent(_ registration: Int) -> Bool { identity.registration == registration }

  /// Registers all entries under a new name.
  ///
  /// Entries under the former name may be incomplete or removed.
  ///
  /// - Parameter isFenced: True if orders under a former name can no longer reach Redis. Otherwise
  ///   the former entries stay until their lease is over.
  package func register(isFenced: Bool, at now: Instant) {
    self.now = now
    guard !hasLeft else { return }
    stop()
    identity.isFenced = isFenced
    departures.doubtful.removeAll()
    order(.unsubscribe(keys.answers(identity.id)), .nothing)
    if identity.hasBegun { identity.formerIDs.append(identity.id) }
    identity.hasBegun = false
    identity.renew()
    // The users' channel comes last, because other nodes count its subscribers.
    let channels =
      [keys.answers(identity.id)] + roster.channels.names.map(keys.bus) + [keys.usersBus]
    state = .registering(.listening(missing: channels.count, rest: channels[...]))
    for _ in 0..<Self.listeningPortion { listenToNext() }
  }

  /// Number of subscriptions that wait for their answers together.
  private static let listeningPortion = 1000

  private func listenToNext() {
    guard case .registering(.listening(let missing, var rest)) = state,
      let channel = rest.popFirst()
    else { return }
    state = .registering(.listening(missing: missing, rest: rest))
    order(.subscribe(channel), .registration(.listening))
  }

  /// Registers again because the lease is over or Redis was emptied.
  private func noticeLoss(since registration: Int) {
    // All orders under the former name reached Redis before this answer.
    if isCurrent(registration) { register(isFenced: true, at: now) }
  }

  func registered(
    _ result: RedisResult, _ step: ClusterOrder.RegistrationStep, since registration: Int
  ) {
    switch step {
    case .listening: listening(result, since: registration)
    case .wasKnown:
      if number(result, of: "SISMEMBER", since: registration) == 0 { set(.lost, registration) }
    case .wasReaped:
      if number(result, of: "EXISTS", since: registration) == 1 { set(.cleanedUp, registration) }
    case .began: began(result, since: registration)
    case .entered: entered(result, since: registration)
    case .rejoined(let slice): rejoined(slice, result, since: registration)
    case .probe: probed(result, since: registration)
    case .gathering: gathered(result, since: registration)
    }
  }

  private func listening(_ result: RedisResult, since registration: Int) {
    guard isCurrent(registration), case .registering(.listening(let missing, let rest)) = state
    else { return }
    guard case .success = result else { return check(result, to: "SUBSCRIBE", since: registration) }
    state = .registering(.listening(missing: missing - 1, rest: rest))
    if missing == 1 { askForRemains() } else { listenToNext() }
  }

  private func askForRemains() {
    guard !identity.isFenced || identity.formerIDs.count < Self.formerLimit else {
      return cleanUpFirst()
    }
    state = .registering(.asking(.intact))
    probe()
    if let former = identity.registeredID {
      command("SISMEMBER", keys.nodes, former, for: .registration(.wasKnown))
      command("EXISTS", keys.gone(former), for: .registration(.wasReaped))
    }
    call(
      "begin", [keys.lease(identity.id), keys.nodes],
      [
        "content": ownConnectionCount, "milliseconds": Self.leaseMilliseconds,
        "node": identity.id,
      ], for: .registration(.began))
  }

  private func set(_ remains: FormerEntries, _ registration: Int) {
    guard isCurrent(registration), case .registering(.asking) = state else { return }
    state = .registering(.asking(remains))
  }

  private func began(_ result: RedisResult, since registration: Int) {
    guard let end = number(result, of: "the lease", since: registration), isCurrent(registration),
      case .registering(.asking(let remains)) = state
    else { return }
    identity.leaseEnd = end
    // An emptied Redis may lack channels that sockets joined since. Sockets that left at the
    // lease's end may still be counted on channels without subscribers.
    let names =
      (remains == .lost ? roster.channels.names : []) + departures.subscriptions.map(\.channel)
    dropAbandoned()
    state = .registering(.entering(remains, names))
    enter(remains)
  }

  private func entered(_ result: RedisResult, since registration: Int) {
    guard isCurrent(registration), number(result, of: "PUBLISH", since: registration) != nil,
      case .registering(.entering(let remains, let names)) = state
    else { return }
    let isFirst = identity.registeredID == nil
    identity.registeredID = identity.id
    // Former names stay listed until their removal is done, because the link may be lost before.
    if identity.isFenced {
      for former in identity.formerIDs { cleanUp(after: former, on: names) }
    }
    if remains == .lost { holdAgain() }
    if isFirst { return takePart() }
    // After Redis was emptied, only this node knows how many nodes there were.
    state = .gathering(
      Gathering(
        end: now.advanced(by: Self.lease), wanted: remains == .lost ? others.count : nil,
        nextLook: now))
    gather()
  }

  // MARK: Other nodes

  /// Counts the nodes that are back after a loss; they would miss events published earlier.
  func gather() {
    guard case .gathering(var gathering) = state else { return }
    gathering.counts = []
    gathering.nextLook = now.advanced(by: Self.gatheringPause)
    state = .gathering(gathering)
    command("SCARD", keys.nodes, for: .registration(.gathering))
    command("SCARD", keys.enrolled, for: .registration(.gathering))
    command("PUBSUB", "NUMSUB", keys.usersBus, for: .registration(.gathering))
  }

  private func gathered(_ result: RedisResult, since registration: Int) {
    guard isCurrent(registration), case .gathering(var gathering) = state else { return }
    guard refusal(in: result) == nil else {
      return check(result, to: "a count of the servers", since: registration)
    }
    gathering.counts.append(result.count)
    state = .gathering(gathering)
    guard gathering.counts.count == 3 else { return }
    let wanted = gathering.wanted ?? gathering.counts[0]
    if gathering.counts[1...].allSatisfy({ $0 >= wanted }) || gathering.end <= now { takePart() }
  }

  private func takePart() {
    state = .active
    trouble.refusal = nil
    dropAbandoned()
    settle()
    for (number, request) in sockets.requests.sorted(by: { $0.key < $1.key }) {
      send(request, number)
    }
  }

  /// Counts out waiting departures, and compares all members with those that the sockets know.
  private func settle() {
    let (subscriptions, users) = (departures.subscriptions, departures.users)
    (departures.subscriptions, departures.users) = ([], [])
    for departure in subscriptions { countOut(departure) }
    for userID in users { signOut(userID) }
    readKnownLists()
  }
}

extension RedisResult {
  /// The number, or the last number of a list; 0 for any other reply.
  fileprivate var count: Int {
    switch self {
    case .success(.integer(let count)): Int(count)
    case .success(.array(let values)):
      if case .integer(let count)? = values.last { Int(count) } else { 0 }
    case .success, .failure: 0
    }
  }
}

/// Limits the bytes of requests whose answers are due.
///
/// An answer comes as a message, after all messages that its request causes. So the bytes on their
/// way to this node have a limit too, and Redis need not close the connection that carries them
/// (`client-output-buffer-limit pubsub`).
struct Pace {
  private static let limit = 256 << 10
  /// The cost of a request besides its content.
  private static let base = 512

  private var costs: [Int: Int] = [:]
  private var due = 0

  var hasRoom: Bool { due < Self.limit }
  var isIdle: Bool { costs.isEmpty }

  mutating func noteSent(_ number: Int, bytes: Int) {
    costs[number] = bytes + Self.base
    due += bytes + Self.base
  }

  mutating func noteAnswered(_ number: Int) { due -= costs.removeValue(forKey: number) ?? 0 }
}

enum RedisRefusal {
  static func words(_ what: String, error: String) -> String {
    let advice = advice(error)
    return "\(what): \(error)" + (advice.isEmpty ? "" : ": " + advice)
  }

  /// Describes the errors of the probe; each begins with the command's name.
  static func words(_ errors: [String]) -> String {
    let lacking = errors.filter { isPermissionError($0) && isOfCommand($0) }.map(command)
    guard lacking.isEmpty else {
      let rights = lacking.map { "+" + $0.lowercased() }.joined(separator: " ")
      return "\(lacking.joined(separator: ", ")): give its user \(rights)"
    }
    guard let first = errors.first else { return "" }
    let name = command(first)
    return words(
      name, error: String(decoding: first.utf8.dropFirst(name.utf8.count + 1), as: UTF8.self))
  }

  fileprivate static func isPermissionError(_ error: String) -> Bool {
    error.holds("NOPERM") || error.holds("user executing the script") || error.holds("ACL failure")
  }

  private static func command(_ error: String) -> String {
    String(decoding: error.utf8.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self)
  }

  // Redis 6 and later say "run the 'set' command", "run this command", "access a key" and "access
  // one of the channels".
  private static func isOfCommand(_ error: String) -> Bool {
    !isOfChannel(error) && !isOfKey(error)
  }

  private static func isOfChannel(_ error: String) -> Bool { error.holds("channel") }
  private static func isOfKey(_ error: String) -> Bool {
    error.holds("a key") || error.holds("the keys")
  }

  private static func advice(_ error: String) -> String {
    if error.begins(with: "OOM") { return "raise its maxmemory" }
    guard isPermissionError(error) else { return "" }
    if isOfChannel(error) { return "give its user &pusher-cli:*" }
    if isOfKey(error) { return "give its user ~pusher-cli:*" }
    // A script's error may not name the command; the probe of the next registration finds it.
    let parts = error.utf8.split(separator: UInt8(ascii: "'"))
    return error.holds("run the '") && parts.count > 1
      ? "give its user +\(String(decoding: parts[1], as: UTF8.self))" : ""
  }
}

enum MemberState {
  case connecting
  case registering(Registration)
  /// The member is registered and waits for the other nodes.
  case gathering(Gathering)
  /// Sockets get answers, and events are published.
  case active
  /// The link is lost, or Redis refused a command; with `retries` the next beat registers again.
  case lost(retries: Bool)
  case left
}

enum Registration {
  /// The answers to `missing` subscriptions are due; those of `rest` are not sent yet.
  case listening(missing: Int, rest: ArraySlice<[UInt8]>)
  case asking(FormerEntries)
  /// The entries are on their way to Redis; former entries may have been on these channels too.
  case entering(FormerEntries, [String])
}

enum FormerEntries: Sendable {
  /// The entries are intact, so no arrival is reported.
  case intact
  /// Another node removed and reported the entries, so every arrival is reported.
  case cleanedUp
  /// Redis was emptied, and no departure was reported.
  case lost
}

struct Gathering {
  /// Nodes that are missing at this time count as gone.
  let end: Instant
  /// Number of nodes to wait for; `nil` for the number that Redis knows.
  let wanted: Int?
  var counts: [Int] = []
  var nextLook: Instant
}

struct Identity {
  var id = ""
  /// End of the lease, in milliseconds of Redis' clock.
  var leaseEnd: Int64 = 0
  /// The last name under which all entries were in Redis.
  var registeredID: String?
  var hasBegun = false
  var formerIDs: [String] = []
  /// True if commands of earlier connections can no longer reach Redis.
  var isFenced = false
  /// Number of the registration; answers for an earlier one are ignored.
  var registration = 0
  private var random: any RandomNumberGenerator

  init(random: any RandomNumberGenerator) { self.random = random }

  mutating func renew() { id = String(random.next(), radix: 16) + String(random.next(), radix: 16) }
}

struct Roster {
  var sockets = NameSet()
  var channels = NameTable<RedisChannel>()
  /// Number of connections of each signed-in user.
  var users = NameTable<Int>()
  var counts = SubscriptionCounts()
}

struct WaitingSockets {
  enum Request {
    case join(JoinRequest)
    case signIn(SignedInUser, socketID: String)

    var socketID: String {
      switch self {
      case .join(let wish): wish.socketID
      case .signIn(_, let socketID): socketID
      }
    }
  }

  var requests: [Int: Request] = [:]
  var line = Fifo<(channel: RedisChannel, number: Int)>()
  /// From this number of requests on, requests of closed sockets are dropped.
  var dropsAt = 1024
}

struct WaitingCalls {
  struct Facts {
    var missing: Int
    var known: [ChannelFacts] = []
    /// The members of each channel, if the question asks for them.
    var lists = NameTable<MemberPages>()
    var isKnown = true
    let wantsNames: Bool
  }

  var lastNumber = 0
  var facts: [Int: Facts] = [:]
  private var sent = 0
  private var answered = 0
  /// Calls that wait for the answers to all events up to a number.
  private var waiting: [(event: Int, number: Int, isTaken: Bool)] = []

  mutating func nextNumber() -> Int {
    lastNumber += 1
    return lastNumber
  }

  mutating func notePublished() { sent += 1 }

  /// Counts an answer, and returns the calls that need not wait any longer.
  mutating func noteAnswer(isTaken: Bool) -> [(number: Int, isTaken: Bool)] {
    answered += 1
    if !isTaken { for index in waiting.indices { waiting[index].isTaken = false } }
    let over = waiting.prefix { $0.event <= answered }
    waiting.removeFirst(over.count)
    return over.map { ($0.number, $0.isTaken) }
  }

  /// Returns the number of a call that waits for all sent events; `nil` if all are answered.
  mutating func waitForEvents() -> Int? {
    guard sent > answered else { return nil }
    let number = nextNumber()
    waiting.append((sent, number, true))
    return number
  }
}

struct Departures {
  struct Subscription {
    let channel: String
    let member: Member?
  }

  struct Held {
    let channel: String
    /// `nil` for the last subscriber of a channel.
    let userID: String?
    let due: Instant
  }

  /// Departures that Redis did not receive or did not accept.
  var subscriptions: [Subscription] = []
  /// The users of such sign-outs, once for each connection.
  var users: [String] = []
  /// Number of departures without an answer of Redis.
  var unanswered = 0
  var unansweredOn = NameTable<Int>()
  /// Channels on which a departure may be uncounted, since the last registration.
  var doubtful = NameSet()
  var held: [Held] = []
  var askedAt: Instant?
  /// True if the membership ends after the answers to all departures.
  var endsMembership = false
  /// True if the last node has taken the delayed departures from Redis.
  var areTaken = false

  var isEmpty: Bool { subscriptions.isEmpty && users.isEmpty }
}

struct OtherNodes {
  var connections = 0
  /// Number of nodes, with this one.
  var count = 1
}

struct RefusalRecord {
  var refusal: String?
  var lastTold: String?
}
