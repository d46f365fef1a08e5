package import PusherCore
package import PusherServer

/// A hub's place among the nodes that share a Redis.
///
/// It does no input or output: answers, messages, questions and the time come in; orders and news
/// go out. It holds the state of its own sockets. Redis holds the state of all nodes together, and
/// ``ClusterCall`` changes it there. While Redis cannot be reached, sockets stay connected and
/// their requests wait. After a loss the member registers its entries under a new name, and removes
/// the former entries.
package final class RedisMember: ClusterMember {
  package var node: NodeRecord
  let keys: RedisKeys
  private let webhookDelay: Duration
  private let secret: RedisPassword?
  private var now: Instant
  /// Number of the registration that the answer in ``receive(_:for:at:)`` belongs to.
  private var answered = 0
  private var registration: Registration
  private var roster = Roster()
  private var departures = Departures()
  private var calls = WaitingCalls()
  private var numbering = Numbering()
  private var cleanings: [Int: Cleaning] = [:]
  private var lastCleaning = 0
  private var orders = Fifo<ClusterOrder>()
  /// Refusals since the last call of ``takeRefusals()``, each with the reason if it is new.
  private var refusals: [String?] = []

  /// A node counts as dead this long after its last sign of life.
  package static let lease = Duration.seconds(6)
  package static let beat = Duration.seconds(2)
  /// Time for which Redis remembers that a node's members were reported as gone.
  private static let memory = Duration.seconds(7 * 86_400)

  package init(
    _ setup: AppSetup, database: Int, secret: RedisPassword? = nil, webhookDelay: Duration,
    random: any RandomNumberGenerator, at now: Instant
  ) {
    node = NodeRecord(setup)
    (self.secret, self.webhookDelay, self.now) = (secret, webhookDelay, now)
    keys = RedisKeys(app: setup.application.id, database: database)
    registration = Registration(random: random)
  }

  // MARK: State

  package var isActive: Bool { if case .active = registration.state { true } else { false } }
  var isGathering: Bool { if case .gathering = registration.state { true } else { false } }
  var hasLeft: Bool { if case .left = registration.state { true } else { false } }
  var isGone: Bool { hasLeft && departures.unanswered == 0 }
  /// The refusal that keeps the member from its registration, in words.
  var refusal: String? { registration.refusal }

  package var connectionCount: Int { ownConnectionCount + registration.others.connections }
  package var isDeserted: Bool { departures.unanswered == 0 && departures.held.isEmpty }
  package var channelCount: Int { roster.channels.count }
  package func isOccupied(_ channel: String) -> Bool { roster.channels[channel] != nil }
  package var isAvailable: Bool { isActive }

  // MARK: Output

  package func nextOrder() -> ClusterOrder? { orders.popFirst() }
  func takeRefusals() -> [String?] { refusals.takeAll() }

  /// The next time for ``look(at:)``, besides the signs of life.
  package var deadline: Instant? {
    if case .gathering(let gathering) = registration.state { return gathering.nextLook }
    guard isActive else { return nil }
    let due = departures.askedAt == nil ? departures.held.first?.due : nil
    return numbering.isWaiting ? Instant.earliest(due, numbering.nextLook) : due
  }

  private typealias Answer = ClusterOrder.Answer

  private func order(_ action: ClusterOrder.Action, _ answer: @escaping Answer = { _, _ in }) {
    orders.append(ClusterOrder(action, registration: registration.number, answer))
  }

  private func command(_ words: any RedisWord..., answer: @escaping Answer) {
    order(.command(words.map(\.redisBytes)), answer)
  }

  private func call(
    _ operation: String, _ keys: [[UInt8]], _ arguments: KeyValuePairs<String, any RedisWord>,
    and more: [String] = [], answer: @escaping Answer
  ) {
    let values = arguments.map(\.value.redisBytes) + more.map(\.redisBytes)
    order(.call(ClusterCall(operation, keys: keys, names: arguments.map(\.key), values)), answer)
  }

  /// Sends a command and ignores its answer, unless it is a refusal.
  private func send(_ words: any RedisWord...) {
    let bytes = words.map(\.redisBytes)
    order(.command(bytes)) { $0.check($1, to: String(decoding: bytes[0], as: UTF8.self)) }
  }

  // MARK: Answers

  package func receive(_ result: RedisResult, for order: ClusterOrder, at now: Instant) {
    (self.now, answered) = (now, order.registration)
    order.answer(self, result)
  }

  // MARK: Time

  package func tick(at now: Instant) {
    self.now = now
    tellDueCounts()
  }

  /// Counts the missing nodes and reports delayed departures, when they are due.
  package func look(at now: Instant) {
    self.now = now
    if case .gathering(let gathering) = registration.state, gathering.nextLook <= now { gather() }
    if isActive, let due = departures.held.first?.due, due <= now { tellDepartures() }
    if isActive, numbering.isWaiting, numbering.nextLook <= now { askForNumbers() }
    if let end = numbering.deadline, end <= now { answerWithoutPlaces() }
  }

  /// Renews the lease, and retries after a refusal.
  package func beat(at now: Instant) {
    self.now = now
    if case .lost(retries: true) = registration.state {
      register(isFenced: registration.isFenced, at: now)
    }
    giveSign()
    tellDepartures()
    if isActive, numbering.isWanted { askForNumbers() }
    if let end = numbering.deadline, end <= now { answerWithoutPlaces() }
  }
}

// MARK: - Registration

/// The name under which this node's entries are in Redis, and the way there.
private struct Registration {
  enum State {
    case connecting
    /// The answers to `missing` subscriptions are due; those of `rest` are not sent yet.
    case listening(missing: Int, rest: ArraySlice<[UInt8]>)
    case asking(FormerEntries)
    /// The entries are on their way to Redis; former entries may have been on these channels too.
    case entering(FormerEntries, [String])
    /// The member is registered and waits for the other nodes.
    case gathering(Gathering)
    /// Sockets get answers, and events are published.
    case active
    /// The link is lost, or Redis refused a command; with `retries` the next beat registers again.
    case lost(retries: Bool)
    case left
  }

  /// Nodes that are missing at the end count as gone; `wanted` is the number of nodes to wait for,
  /// or `nil` for the number that Redis knows.
  typealias Gathering = (end: Instant, wanted: Int?, counts: [Int], nextLook: Instant)

  var state = State.connecting
  private(set) var id = ""
  var leaseEnd: Int64 = 0
  /// The last name under which all entries were in Redis.
  private(set) var registeredID: String?
  /// True if some entries may be in Redis under the current name.
  var hasBegun = false
  var formerIDs: [String] = []
  /// True if commands of earlier connections can no longer reach Redis.
  private(set) var isFenced = false
  /// Answers for a registration with an earlier number are ignored.
  private(set) var number = 0
  var others = (connections: 0, count: 1)
  var refusal: String?
  var lastTold: String?
  private var random: any RandomNumberGenerator

  init(random: any RandomNumberGenerator) {
    self.random = random
    rename()
  }

  private mutating func rename() {
    id = String(random.next(), radix: 16) + String(random.next(), radix: 16)
  }

  mutating func end() { number += 1 }

  mutating func renew(isFenced: Bool) {
    self.isFenced = isFenced
    if hasBegun { formerIDs.append(id) }
    hasBegun = false
    rename()
  }

  mutating func noteEntered() -> Bool {
    defer { registeredID = id }
    return registeredID == nil
  }

  var isRegistered: Bool {
    switch state {
    case .entering, .gathering, .active: true
    case .listening, .asking, .connecting, .lost, .left: false
    }
  }
}

enum FormerEntries {
  /// The entries are intact, so no arrival is reported.
  case intact
  /// Another node removed and reported the entries, so every arrival is reported.
  case cleanedUp
  /// Redis was emptied, and no departure was reported.
  case lost
}

extension RedisMember {
  /// Notes that Redis cannot be reached; sockets stay connected, and their requests wait.
  package func lose(at now: Instant) {
    self.now = now
    guard !hasLeft else { return }
    stop()
    registration.state = .lost(retries: false)
  }

  private func stop() {
    registration.end()
    numbering.isOn = false
    roster.endWork()
    dropAbandoned()
  }

  /// True if the current answer belongs to the current registration.
  private var isCurrent: Bool { registration.number == answered }

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
    // Events may have passed while this node heard none. Clients of V2 get them when they resume,
    // if no later event reaches them before.
    if numbering.isWanted, numbering.wasActive { node.add(.missedEvents) }
    departures.doubtful.removeAll()
    order(.unsubscribe(keys.answers(registration.id)))
    registration.renew(isFenced: isFenced)
    // The users' channel comes last, because other nodes count its subscribers.
    let channels =
      [keys.answers(registration.id)] + roster.channels.names.map(keys.bus) + [keys.usersBus]
    registration.state = .listening(missing: channels.count, rest: channels[...])
    for _ in 0..<Self.listeningPortion { listenToNext() }
  }

  private static let listeningPortion = 1000

  private func listenToNext() {
    guard case .listening(let missing, var rest) = registration.state, let channel = rest.popFirst()
    else { return }
    registration.state = .listening(missing: missing, rest: rest)
    order(.subscribe(channel)) { $0.listening($1) }
  }

  /// Unsubscribes from what all nodes have; other nodes count the subscribers.
  func stopListening() {
    order(.unsubscribe(keys.usersBus))
    order(.unsubscribe(keys.answers(registration.id)))
  }

  /// Registers again because the lease is over or Redis was emptied.
  private func noticeLoss() {
    // All orders under the former name reached Redis before this answer.
    if isCurrent { register(isFenced: true, at: now) }
  }

  private func listening(_ result: RedisResult) {
    guard isCurrent, case .listening(let missing, let rest) = registration.state else {
      return
    }
    guard case .success = result else { return check(result, to: "SUBSCRIBE") }
    registration.state = .listening(missing: missing - 1, rest: rest)
    if missing == 1 { askForRemains() } else { listenToNext() }
  }

  private func askForRemains() {
    guard !registration.isFenced || registration.formerIDs.count < Self.formerLimit else {
      for former in registration.formerIDs { cleanUp(after: former, on: roster.channels.names) }
      return refuse("the removal of earlier registrations")
    }
    registration.state = .asking(.intact)
    probe()
    if let former = registration.registeredID {
      command("SISMEMBER", keys.nodes, former) {
        // Redis no longer lists the former name of this node.
        if $0.integer($1, of: "SISMEMBER") == 0 { $0.set(.lost) }
      }
      command("EXISTS", keys.gone(former)) {
        // Another node reported the members under the former name as gone.
        if $0.integer($1, of: "EXISTS") == 1 { $0.set(.cleanedUp) }
      }
    }
    call(
      "begin", [keys.lease(registration.id), keys.nodes],
      [
        "content": ownConnectionCount, "milliseconds": Self.leaseMilliseconds,
        "node": registration.id,
      ]
    ) { $0.began($1) }
  }

  private static let formerLimit = 16

  private func set(_ remains: FormerEntries) {
    guard isCurrent, case .asking = registration.state else { return }
    registration.state = .asking(remains)
  }

  private func began(_ result: RedisResult) {
    guard let end = integer(result, of: "the lease"), isCurrent,
      case .asking(let remains) = registration.state
    else { return }
    registration.leaseEnd = end
    // Asked after the node is in the list, so that a node that begins streams waits for this one.
    command("EXISTS", keys.streams) {
      if $0.integer($1, of: "EXISTS") == 1 || $0.numbering.isWanted { $0.giveNumbers() }
    }
    // An emptied Redis may lack channels that sockets joined since. Sockets that left at the
    // lease's end may still be counted on channels without subscribers.
    let names =
      (remains == .lost ? roster.channels.names : []) + departures.subscriptions.map(\.channel)
    dropAbandoned()
    registration.state = .entering(remains, names)
    enter(remains)
  }

  private func entered(_ result: RedisResult) {
    guard isCurrent, integer(result, of: "PUBLISH") != nil,
      case .entering(let remains, let names) = registration.state
    else { return }
    let isFirst = registration.noteEntered()
    // Former names stay listed until their removal is done, because the link may be lost before.
    if registration.isFenced {
      for former in registration.formerIDs { cleanUp(after: former, on: names) }
    }
    if remains == .lost { holdAgain() }
    if isFirst { return takePart() }
    // After Redis was emptied, only this node knows how many nodes there were.
    registration.state = .gathering(
      (
        now.advanced(by: Self.lease), remains == .lost ? registration.others.count : nil, [], now
      ))
    gather()
  }

  // MARK: Other nodes

  /// Counts the nodes that are back after a loss; they would miss events published earlier.
  private func gather() {
    guard case .gathering(var gathering) = registration.state else { return }
    gathering.counts = []
    gathering.nextLook = now.advanced(by: .milliseconds(200))
    registration.state = .gathering(gathering)
    command("SCARD", keys.nodes) { $0.gathered($1) }
    command("SCARD", keys.enrolled) { $0.gathered($1) }
    command("PUBSUB", "NUMSUB", keys.usersBus) { $0.gathered($1) }
  }

  private func gathered(_ result: RedisResult) {
    guard isCurrent, case .gathering(var gathering) = registration.state else { return }
    guard refusal(in: result) == nil else {
      return check(result, to: "a count of the servers")
    }
    // The number, or the last number of a list; 0 for any other reply.
    let count = result.integer ?? result.elements?.last.flatMap(\.integer) ?? 0
    gathering.counts.append(Int(count))
    registration.state = .gathering(gathering)
    guard gathering.counts.count == 3 else { return }
    let wanted = gathering.wanted ?? gathering.counts[0]
    if gathering.counts[1...].allSatisfy({ $0 >= wanted }) || gathering.end <= now { takePart() }
  }

  /// Becomes active: counts out waiting departures, compares all members with those that the
  /// sockets know, and sends the waiting requests.
  private func takePart() {
    registration.state = .active
    registration.refusal = nil
    dropAbandoned()
    let (subscriptions, users) = departures.takeMissed()
    for departure in subscriptions { countOut(departure.channel, departure.member) }
    for userID in users { signOut(userID) }
    readKnownLists()
    numbering.wasActive = true
    for (number, request) in roster.requests.sorted(by: { $0.key < $1.key }) {
      send(request.question, number)
    }
  }

  // MARK: The lease

  private static var leaseMilliseconds: Int64 { lease.wholeNanoseconds / 1_000_000 }

  private func giveSign() {
    guard registration.isRegistered else { return }
    call(
      "beat", [keys.lease(registration.id)],
      [
        "content": ownConnectionCount, "milliseconds": Self.leaseMilliseconds,
        "leaseEnd": registration.leaseEnd,
      ]
    ) { $0.signed($1) }
    lookForOthers()
  }

  private func signed(_ result: RedisResult) {
    guard let end = integer(result, of: "the lease") else { return }
    if end > 0, isCurrent {
      registration.leaseEnd = end
      registration.lastTold = nil
    }
    // Other nodes have reported this node's members as gone, or Redis was emptied.
    if end == 0 { noticeLoss() }
  }

  private func lookForOthers() { command("SMEMBERS", keys.nodes) { $0.listed($1) } }

  private func listed(_ result: RedisResult) {
    guard isCurrent else { return }
    guard let values = result.elements else {
      return check(result, to: "SMEMBERS")
    }
    let nodes = values.compactMap(\.text).filter { $0 != registration.id }
    // Other nodes may have removed the entries of a former name.
    registration.formerIDs.removeAll { former in !nodes.contains { $0.isSame(as: former) } }
    guard !nodes.isEmpty else {
      registration.others = (0, 1)
      return
    }
    order(.command([Array("MGET".utf8)] + nodes.map(keys.lease))) { $0.count(nodes, $1) }
  }

  private func count(_ nodes: [String], _ result: RedisResult) {
    guard let leases = result.elements, leases.count == nodes.count else {
      return check(result, to: "MGET")
    }
    var found = (connections: 0, count: 1)
    for (node, lease) in zip(nodes, leases) {
      guard let content = lease.text else {
        // A lock mostly keeps other nodes from the same work.
        command(
          "SET", keys.reaping(node), registration.id, "NX", "PX",
          Int(Self.beat.components.seconds * 1000)
        ) { if case .status? = $0.taken($1) { $0.cleanUp(after: node) } }
        continue
      }
      // The number of sockets; no server writes other content.
      let count = Int(content) ?? 0
      found.connections += (0...1 << 24).contains(count) ? count : 0
      found.count += 1
    }
    registration.others = found
  }
}

// MARK: - Refusals

// A refusal that affects the registration makes the member inactive until it has registered again.
extension RedisMember {
  /// Text of a refusal; `nil` for other answers and for a lost link.
  private func refusal(in result: RedisResult) -> String? {
    switch result {
    case .success(let reply): reply.errorCode == nil ? nil : words(of: reply)
    case .failure(.refused(_, _, let words)), .failure(.overloaded(let words)): words
    case .failure: nil
    }
  }

  private func words(of reply: RedisReply) -> String { reply.words(without: secret) }

  /// Ends the registration if the answer is a refusal; answers for an earlier registration are
  /// ignored.
  ///
  /// - Parameter what: The command, without names that change, so that repeated reasons are logged
  ///   once.
  private func check(_ result: RedisResult, to what: @autoclosure () -> String) {
    guard let words = refusal(in: result) else { return }
    refuse(Self.words(what(), error: words))
  }

  /// Returns the number in the answer; any other answer is a refusal.
  private func integer(_ result: RedisResult, of what: String) -> Int64? {
    if let integer = result.integer { return integer }
    if case .success(let reply) = result {
      refuse(Self.words(what, error: words(of: reply)))
    } else {
      check(result, to: what)
    }
    return nil
  }

  /// Checks the answer to an API call; only a missing right ends the registration.
  private func checkCall(_ result: RedisResult, to what: @autoclosure () -> String) {
    guard let words = refusal(in: result) else { return }
    let reason = Self.words(what(), error: words)
    if Self.isPermissionError(words) {
      refuse(reason, isCurrent: true)
    } else {
      log(reason)
    }
  }

  /// Logs an error that affects one call, or the entries of a dead node.
  private func log(_ reason: String) {
    if isNew(reason) { node.add(.log(.busError(reason: reason))) }
  }

  private func isNew(_ reason: String) -> Bool {
    defer { registration.lastTold = reason }
    return !registration.lastTold.isSame(as: reason)
  }

  /// - Parameter isCurrent: False for the answer to an order of an earlier registration.
  private func refuse(_ reason: String, isCurrent: Bool? = nil) {
    guard !hasLeft else { return log(reason) }
    guard isCurrent ?? self.isCurrent else { return }
    stop()
    registration.state = .lost(retries: true)
    registration.refusal = "refuses \(reason)"
    refusals.append(isNew(reason) ? reason : nil)
  }

  /// Tries every command that the member needs, so that all missing rights are logged together.
  private func probe() {
    call(
      "probe", [keys.probe(registration.id), keys.nodes, keys.enrolled, keys.users, keys.departed],
      ["bus": keys.usersBus]
    ) { $0.probed($1) }
    if hasQuota {
      countEvents(0, bytes: 0, isTrial: true) { $0.check($1, to: "the count of events") }
    }
  }

  private func probed(_ result: RedisResult) {
    guard let values = result.elements else { return check(result, to: "a script") }
    let errors = values.compactMap(\.text)
    guard !errors.isEmpty else { return }
    refuse(Self.words(errors.map { words(of: .error($0)) }))
  }
}

// Texts of refusals.
extension RedisMember {
  private static func words(_ what: String, error: String) -> String {
    let advice = advice(error)
    return "\(what): \(error)" + (advice.isEmpty ? "" : ": " + advice)
  }

  /// Describes the errors of the probe; each begins with the command's name.
  private static func words(_ errors: [String]) -> String {
    let lacking = errors.filter { isPermissionError($0) && !isOfChannel($0) && !isOfKey($0) }
      .map(command)
    guard lacking.isEmpty else {
      let rights = lacking.map { "+" + $0.lowercased() }.joined(separator: " ")
      return "\(lacking.joined(separator: ", ")): give its user \(rights)"
    }
    guard let first = errors.first else { return "" }
    let name = command(first)
    return words(
      name, error: String(decoding: first.utf8.dropFirst(name.utf8.count + 1), as: UTF8.self))
  }

  private static func isPermissionError(_ error: String) -> Bool {
    error.holds("NOPERM") || error.holds("user executing the script") || error.holds("ACL failure")
  }

  private static func command(_ error: String) -> String {
    String(decoding: error.utf8.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self)
  }

  // Redis 6 and later say "run the 'set' command", "run this command", "access a key" and "access
  // one of the channels".
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

extension RedisResult {
  fileprivate var elements: [RedisReply]? {
    if case .success(.array(let values)) = self { values } else { nil }
  }

  fileprivate var integer: Int64? {
    if case .success(let reply) = self { reply.integer } else { nil }
  }
}

// MARK: - Departures

private struct Departures {
  /// Departures that Redis did not receive or did not accept.
  private(set) var subscriptions: [(channel: String, member: Member?)] = []
  /// The users of such sign-outs, once for each connection.
  private(set) var users: [String] = []
  private(set) var unanswered = 0
  private(set) var unansweredOn = NameTable<Int>()
  /// Channels on which a departure may be uncounted, since the last registration.
  var doubtful = NameSet()
  /// Departures with delayed webhooks; `userID` is `nil` for the last subscriber of a channel.
  var held: [(channel: String, userID: String?, due: Instant)] = []
  var askedAt: Instant?
  /// True if the membership ends after the answers to all departures.
  var endsMembership = false
  /// True if the last node has taken the delayed departures from Redis.
  var areTaken = false

  var missesNone: Bool { subscriptions.isEmpty && users.isEmpty }

  mutating func miss(_ channel: String, _ member: Member?) {
    subscriptions.append((channel, member))
  }
  mutating func miss(userID: String) { users.append(userID) }

  mutating func takeMissed() -> ([(channel: String, member: Member?)], users: [String]) {
    defer { (subscriptions, users) = ([], []) }
    return (subscriptions, users)
  }

  mutating func noteSent(on channel: String? = nil) {
    unanswered += 1
    if let channel { unansweredOn[channel, default: 0] += 1 }
  }

  mutating func noteAnswered() { unanswered -= 1 }

  mutating func noteAnswered(on channel: String) {
    let count = unansweredOn[channel] ?? 1
    unansweredOn[channel] = count == 1 ? nil : count - 1
  }
}

extension RedisMember {
  package func leave(_ name: String, userID: String?, at now: Instant) {
    self.now = now
    guard let channel = roster.channels[name] else { return }
    let member = userID.flatMap { channel.members[$0]?.member }
    channel.remove(userID)
    if isActive { countOut(name, member) } else { departures.miss(name, member) }
    forgetIfEmpty(name)
  }

  private func countOut(_ name: String, _ member: Member?) {
    let (before, after) = countText(name)
    departures.noteSent(on: name)
    call(
      "leave", keys.channel(name),
      [
        "node": registration.id, "bus": keys.bus(name), "channel": name,
        "isMember": member == nil ? "0" : "1", "user": member?.userID ?? "", "before": before,
        "after": after, "leaseEnd": registration.leaseEnd, "delay": delayText,
      ]
    ) { $0.countedOut(name, member, $1) }
  }

  private func countedOut(
    _ name: String, _ member: Member?, _ result: RedisResult
  ) {
    defer { departureAnswered() }
    departures.noteAnswered(on: name)
    guard let values = result.elements, values.count == 3 else {
      departures.doubtful.insert(name)
      check(result, to: "the departure from \(name)")
      // The departure may not have been counted; then the removal of the former entries counts it.
      return departures.miss(name, member)
    }
    if values[2] == .integer(-1) {
      departures.doubtful.insert(name)
      departures.miss(name, member)
      return noticeLoss()
    }
    if isCurrent { noteCountedOut(name) }
    if let member { noteDeparture(.memberRemoved(name, member), RedisChange(values[1])) }
    noteDeparture(.init(.channelVacated, name), RedisChange(values[0]))
    if let count = values[2].integer { noteCount(name, Int(count)) }
  }

  package func signOut(_ userID: String, at now: Instant) {
    self.now = now
    guard node.signOut(userID) != nil else { return }
    if isActive { signOut(userID) } else { departures.miss(userID: userID) }
  }

  private func signOut(_ userID: String) {
    departures.noteSent()
    signOut(
      userID, connections: 1, of: registration.id, leaseEnd: "\(registration.leaseEnd)"
    ) { $0.signedOut(userID, $1) }
  }

  /// - Parameter leaseEnd: Empty for the entries of a dead node.
  private func signOut(
    _ userID: String, connections: Int, of node: String, leaseEnd: String,
    answer: @escaping Answer
  ) {
    call(
      "signOut", [keys.users, keys.users(of: node)],
      [
        "bus": keys.usersBus, "user": userID, "left": setup.text.watchlist(offline: [userID]),
        "connections": connections, "leaseEnd": leaseEnd,
      ], answer: answer)
  }

  private func signedOut(_ userID: String, _ result: RedisResult) {
    defer { departureAnswered() }
    guard let change = result.integer else {
      check(result, to: "a sign-out")
      return departures.miss(userID: userID)
    }
    guard change < 0 else { return }
    departures.miss(userID: userID)
    noticeLoss()
  }

  private func departureAnswered() {
    departures.noteAnswered()
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
    if isActive, registration.others.count == 1, !departures.areTaken, !delayText.isEmpty {
      departures.areTaken = true
      return takeDepartures(all: true)
    }
    let (wasRegistered, wasActive) = (registration.isRegistered, isActive)
    let id = registration.id
    // Answers to earlier orders must not cause another registration.
    registration.end()
    registration.state = .left
    guard wasRegistered else { return }
    let isComplete =
      roster.requests.isEmpty && departures.missesNone
      && roster.channels.elements.allSatisfy(\.unlisted.isEmpty)
    guard wasActive, isComplete else {
      // Another node counts out the sockets that left in the meantime.
      return send("DEL", keys.lease(id))
    }
    send("DEL", keys.lease(id), keys.channels(of: id), keys.users(of: id))
    for set in [keys.nodes, keys.enrolled] { send("SREM", set, id) }
  }

  // MARK: Delayed webhooks

  // Redis holds the departures for all nodes of the app. An arrival on any node removes its
  // departure in the step that counts the arrival. One node removes a departure that is due, and
  // reports it. So the webhooks of a user alternate between arrivals and departures.

  /// Delay of a departure in milliseconds; empty for an app without webhooks or without a delay.
  private var delayText: String {
    guard !setup.application.webhooks.isEmpty, webhookDelay > .zero else { return "" }
    return "\(max(webhookDelay.wholeNanoseconds / 1_000_000, 1))"
  }

  private func tellDepartures() {
    if isActive, departures.askedAt == nil { takeDepartures(all: false) }
  }

  /// Removes departures from Redis and reports them; the last node also takes those not due yet.
  private func takeDepartures(all: Bool) {
    guard !delayText.isEmpty else { return }
    departures.askedAt = now
    call("takeDepartures", [keys.departed], ["which": all ? "all" : ""]) { $0.took($1, all: all) }
  }

  private static let departurePortion = 100

  private func took(_ result: RedisResult, all: Bool) {
    let asked = departures.askedAt
    departures.askedAt = nil
    guard let values = result.elements else {
      check(result, to: "the list of departures")
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
  private func holdAgain() {
    for (channel, userID, _) in departures.held {
      call(
        "holdAgain", keys.channel(channel),
        [
          "channel": channel, "isMember": userID == nil ? "0" : "1", "user": userID ?? "",
          "delay": delayText,
        ]
      ) { $0.check($1, to: "the list of departures") }
    }
  }

  private func noteDeparture(_ notice: WebhookNotice, _ change: RedisChange) {
    note(notice, change)
    guard change == .held else { return }
    departures.held.append((notice.channel, notice.userID, now.advanced(by: webhookDelay)))
  }

  private func noteJoined(
    _ name: String, as member: Member?, isFirst: RedisChange, isNew: RedisChange
  ) {
    note(.init(.channelOccupied, name), isFirst)
    if let member { note(.memberAdded(name, member), isNew) }
  }

  private func note(_ notice: WebhookNotice, _ change: RedisChange) {
    guard change != .none else { return }
    var notice = notice
    if change == .held { notice.audience = .console }
    note(notice)
  }
}

private enum RedisChange: Int64 {
  case none = 0
  /// Clients and webhooks get a report.
  case told = 1
  /// The webhook of a departure is delayed, or an arrival cancels a delayed departure.
  case held = 2

  init(_ reply: RedisReply) { self = reply.integer.flatMap(Self.init) ?? .none }
  init(_ field: String) { self = Int64(field).flatMap(Self.init) ?? .none }
}

// MARK: - Removal of dead nodes' entries

private struct Cleaning {
  /// Maximum number of channels at a time, so that others' calls get their turn.
  private static let limit = 16

  let node: String
  /// Channels that may have entries: at first those that Redis may not list.
  private(set) var channels = Fifo<String>()
  private var running = 0
  var missing = 0
  var isRefused = false

  init(_ node: String, _ names: [String]) {
    self.node = node
    for name in names { channels.append(name) }
  }

  mutating func add(_ channel: String) { channels.append(channel) }

  /// Returns the next channel; `nil` while the removal goes on in enough channels.
  mutating func nextChannel() -> String? {
    guard running < Self.limit, let name = channels.popFirst() else { return nil }
    running += 1
    return name
  }

  mutating func noteChannel() { running -= 1 }
}

extension RedisMember {
  /// Returns the answer; logs an error instead, so that the entries are removed later.
  private func taken(_ result: RedisResult) -> RedisReply? {
    guard case .success(let reply) = result else { return nil }
    guard case .error = reply else { return reply }
    log(Self.words("the cleanup after a server", error: words(of: reply)))
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
    lastCleaning += 1
    cleanings[lastCleaning] = Cleaning(node, names)
    // This key comes first: a returning node learns from it that its members were reported as gone.
    command(
      "SET", keys.gone(node), registration.id, "PX", Self.memory.wholeNanoseconds / 1_000_000,
      answer: step(of: lastCleaning) { member, number, _ in
        member.command("DEL", member.keys.lease(node), answer: member.step(of: number))
        member.command(
          "SMEMBERS", member.keys.channels(of: node),
          answer: member.step(of: number) { $0.reap(node, on: $2, $1) })
        member.command(
          "HGETALL", member.keys.users(of: node),
          answer: member.step(of: number) { $0.signOutUsers(of: node, $2, $1) })
        return true
      })
  }

  /// Counts an order of a removal, and returns what its answer does.
  ///
  /// - Parameter body: Returns whether the step succeeded.
  private func step(
    of number: Int,
    _ body: @escaping (RedisMember, _ number: Int, RedisReply) -> Bool = { _, _, _ in true }
  ) -> Answer {
    cleanings[number]?.missing += 1
    return { member, result in
      let isTaken = member.taken(result).map { body(member, number, $0) } ?? false
      member.cleaned(number, isTaken)
    }
  }

  private func cleaned(_ number: Int, _ isTaken: Bool) {
    guard var cleaning = cleanings[number] else { return }
    cleaning.missing -= 1
    cleaning.isRefused = cleaning.isRefused || !isTaken
    cleanings[number] = cleaning.missing == 0 ? nil : cleaning
    if cleaning.missing == 0, !cleaning.isRefused { forget(cleaning.node) }
  }

  private func reap(_ node: String, on channels: RedisReply, _ number: Int) -> Bool {
    guard case .array(let values) = channels else { return false }
    for name in values.compactMap(\.text) { cleanings[number]?.add(name) }
    reapNext(node, number)
    return true
  }

  private func signOutUsers(of node: String, _ users: RedisReply, _ number: Int) -> Bool {
    guard case .array(let values) = users else { return false }
    let texts = values.map(\.text)
    for index in stride(from: 0, to: texts.count - 1, by: 2) {
      // Nodes write only numbers.
      guard let userID = texts[index], let connections = texts[index + 1].flatMap(Int32.init)
      else { continue }
      signOut(
        userID, connections: Int(connections), of: node, leaseEnd: "", answer: step(of: number))
    }
    return true
  }

  private func reaped(
    _ node: String, on name: String, _ reply: RedisReply, _ number: Int
  ) -> Bool {
    guard case .array(let values) = reply else { return false }
    let texts = values.map(\.text)
    for index in stride(from: 2, to: texts.count - 1, by: 2) {
      guard let userID = texts[index] else { continue }
      noteDeparture(.init(.memberRemoved, name, userID: userID), RedisChange(values[index + 1]))
    }
    if let vacated = values.first {
      noteDeparture(.init(.channelVacated, name), RedisChange(vacated))
    }
    if texts.count > 1, let cursor = texts[1], !cursor.isEmpty {
      reap(node, on: name, number, from: cursor)
    } else {
      cleanings[number]?.noteChannel()
      reapNext(node, number)
    }
    return true
  }

  private func reapNext(_ node: String, _ number: Int) {
    while let name = cleanings[number]?.nextChannel() { reap(node, on: name, number, from: "0") }
  }

  private func reap(_ node: String, on name: String, _ number: Int, from cursor: String) {
    let (before, after) = countText(name)
    call(
      "reap", keys.channel(name),
      [
        "node": node, "bus": keys.bus(name), "channel": name, "before": before, "after": after,
        "delay": delayText, "cursor": cursor,
      ], answer: step(of: number) { $0.reaped(node, on: name, $2, $1) })
  }

  private func forget(_ node: String) {
    send("DEL", keys.channels(of: node), keys.users(of: node))
    send("SREM", keys.enrolled, node)
    send("SREM", keys.nodes, node)
    registration.formerIDs.removeAll { $0.isSame(as: node) }
  }
}

// MARK: - Roster

/// The sockets of this node, and their requests.
private struct Roster {
  /// What is under way on the current link.
  ///
  /// An answer comes as a message, after all messages that its request causes. So a limit on the
  /// bytes of requests whose answers are due also limits the bytes on their way to this node, and
  /// Redis need not close the connection that carries them (`client-output-buffer-limit pubsub`).
  struct Work {
    /// Connections of one user each on a channel, or one entry of all its anonymous subscribers.
    typealias Slice = ArraySlice<(member: Member?, connections: Int)>

    /// What enters Redis in one step.
    enum Entry {
      case slice(Slice, of: String)
      case user(String, connections: Int)
    }

    private static let limit = 256 << 10
    /// The cost of a request besides its content.
    private static let base = 512
    private static let readingLimit = 8

    /// Joins whose channels may not be subscribed yet.
    var line = Fifo<(channel: RedisChannel, number: Int)>()
    private var costs: [Int: Int] = [:]
    private var due = 0
    private var readings = 0
    private var unread = Fifo<String>()
    /// The entries of a registration that wait until few answers are due.
    ///
    /// They are as they were when it began. Connections that end meanwhile are counted out after
    /// it.
    var entries = Fifo<Entry>()
    /// State of the former entries until all entries are in Redis; `nil` then, and before.
    var remains: FormerEntries?

    var hasRoom: Bool { due < Self.limit }
    var isIdle: Bool { costs.isEmpty }

    mutating func noteSent(_ number: Int, bytes: Int) {
      costs[number] = bytes + Self.base
      due += bytes + Self.base
    }

    mutating func noteAnswered(_ number: Int) { due -= costs.removeValue(forKey: number) ?? 0 }

    mutating func read(_ name: String) { unread.append(name) }
    mutating func noteRead() { readings -= 1 }

    /// Returns the next channel to read; `nil` while enough are being read.
    mutating func nextUnread() -> String? {
      guard readings < Self.readingLimit, let name = unread.popFirst() else { return nil }
      readings += 1
      return name
    }
  }

  var channels = NameTable<RedisChannel>()
  /// Joins and sign-ins, each with its socket.
  var requests: [Int: (question: ClusterQuestion, socketID: String)] = [:]
  var work = Work()
  /// From this number of requests on, requests of closed sockets are dropped.
  private var dropsAt = 1024

  var isCrowded: Bool { requests.count >= dropsAt }

  mutating func endWork() {
    work = Work()
    for channel in channels.elements { channel.forgetLink() }
  }

  /// Removes the requests of closed sockets, and returns their numbers.
  mutating func takeAbandoned(_ sockets: NameSet) -> [Int] {
    let abandoned = requests.filter { !sockets.contains($0.value.socketID) }.map(\.key)
    for number in abandoned { requests[number] = nil }
    dropsAt = max(2 * requests.count, 1024)
    return abandoned
  }
}

extension RedisMember {
  /// Enters everything that this node has under its new name, a little at a time, so that the lease
  /// is renewed in between.
  private func enter(_ remains: FormerEntries) {
    registration.hasBegun = true
    roster.work.remains = remains
    for name in roster.channels.names {
      guard let channel = roster.channels[name] else { continue }
      channel.noteFollowed()
      let members = channel.members.elements.map {
        (member: Optional($0.member), connections: $0.connections)
      }
      if !members.isEmpty {
        add(members, of: name)
      } else if channel.count > 0 {
        add([(nil, channel.count)], of: name)
      } else {
        // Only joins wait. They find the channel followed, and do not list it.
        send("SADD", keys.channels(of: registration.id), name)
      }
    }
    var connections = node.users
    // Waiting sign-ins enter with their own requests.
    for case (.signIn(let user, _), _) in roster.requests.values {
      connections[user.id, default: 0] -= 1
    }
    for userID in connections.names {
      guard let count = connections[userID], count > 0 else { continue }
      roster.work.entries.append(.user(userID, connections: count))
    }
    // Sockets that left while Redis could not be reached: if Redis was emptied, they count as
    // connected until all nodes are back, so that the last departure is known. Otherwise they are
    // counted out with the former entries.
    if remains == .lost {
      for (channel, member) in departures.subscriptions {
        add([(member, 1)], of: channel)
      }
      for userID in departures.users {
        roster.work.entries.append(.user(userID, connections: 1))
      }
    } else {
      _ = departures.takeMissed()
    }
    enterNext()
  }

  private static let sliceLength = 50
  /// Size of a step's members in bytes, from which no more follow.
  private static let sliceSize = 32 << 10

  private func add(_ entries: [(member: Member?, connections: Int)], of name: String) {
    for start in stride(from: 0, to: entries.count, by: Self.sliceLength) {
      let slice = entries[start..<min(start + Self.sliceLength, entries.count)]
      roster.work.entries.append(.slice(slice, of: name))
    }
  }

  /// Enters more while few answers are due, and tells the others when all have come.
  private func enterNext() {
    guard let remains = roster.work.remains else { return }
    while roster.work.hasRoom, let entry = roster.work.entries.popFirst() {
      switch entry {
      case .slice(let slice, let name): enter(slice, of: name, remains)
      case .user(let userID, let connections):
        signIn(
          SignedInUser(member: Member(userID: userID), watchlist: []), socketID: "",
          request: calls.nextNumber(), connections: connections, isNew: remains != .lost)
      }
    }
    guard roster.work.entries.isEmpty, roster.work.isIdle else { return }
    roster.work.remains = nil
    send("SADD", keys.enrolled, registration.id)
    command("PUBLISH", keys.usersBus, RedisFields.encode(["n", registration.id])) { $0.entered($1) }
  }

  private func enter(_ slice: Roster.Work.Slice, of name: String, _ remains: FormerEntries) {
    var words: [String] = []
    var bytes = 0
    var rest = slice
    while bytes < Self.sliceSize, let entry = rest.popFirst() {
      words.append("\(entry.connections)")
      guard let member = entry.member else { continue }
      let stored = member.stored
      words += [member.userID, stored]
      bytes += stored.utf8.count
    }
    if !rest.isEmpty { roster.work.entries.prepend(.slice(rest, of: name)) }
    let sent = slice[..<rest.startIndex]
    let number = calls.nextNumber()
    roster.work.noteSent(number, bytes: bytes)
    send("SADD", keys.channels(of: registration.id), name)
    let (before, after) = countText(name)
    call(
      "enter", keys.channel(name) + [keys.nodes],
      [
        "node": registration.id, "answers": keys.answers(registration.id), "request": number,
        "bus": keys.bus(name), "channel": name,
        "isMember": slice.first?.member == nil ? "0" : "1",
        "before": before, "after": after, "leaseEnd": registration.leaseEnd,
      ], and: words
    ) { $0.rejoined(sent, of: name, remains, $1) }
  }

  private func rejoined(
    _ slice: Roster.Work.Slice, of name: String, _ remains: FormerEntries, _ result: RedisResult
  ) {
    check(result, to: "the join of \(name)")
    guard let values = result.elements, values.count >= 2 else { return }
    if values[1] == .integer(1) { return noticeLoss() }
    // Arrivals are reported only if the departures were.
    guard remains == .cleanedUp else { return }
    noteJoined(name, as: nil, isFirst: RedisChange(values[0]), isNew: .none)
    for (entry, change) in zip(slice, values[2...]) {
      noteJoined(name, as: entry.member, isFirst: .none, isNew: RedisChange(change))
    }
  }

  // MARK: Counts

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
  private func noteCount(_ name: String, _ count: Int) {
    if node.isCountDue(name, count) { note(.subscriptionCount(name, count)) }
  }

  private func tellDueCounts() {
    for name in node.takeDueCounts(at: now) where isActive {
      let (before, after) = countText(name)
      call(
        "tellCount", [keys.channel(name)[0], keys.counted(name)],
        [
          "bus": keys.bus(name), "channel": name, "before": before, "after": after,
          "milliseconds": Int(NodeRecord.countInterval.components.seconds * 900),
        ]
      ) { $0.counted(name, $1) }
    }
  }

  private func counted(_ name: String, _ result: RedisResult) {
    check(result, to: "the count of \(name)")
    if let count = result.integer, count > 0 { note(.subscriptionCount(name, Int(count))) }
  }

  // MARK: Requests of sockets

  private func ask(_ question: ClusterQuestion, of socketID: String) -> ClusterReply {
    let number = calls.nextNumber()
    roster.requests[number] = (question, socketID)
    if !isActive, roster.isCrowded { dropAbandoned() }
    if isActive { send(question, number) }
    return .later(number)
  }

  /// Drops the requests of closed sockets, because nothing would count them out again.
  private func dropAbandoned() {
    for number in roster.takeAbandoned(node.sockets) { node.add(.dropped(number)) }
  }

  private func send(_ question: ClusterQuestion, _ number: Int) {
    switch question {
    case .join(let wish):
      let name = wish.channel
      let channel = roster.channels[name] ?? RedisChannel()
      roster.channels[name] = channel
      channel.waiting += 1
      // A join waits until its channel is subscribed, so that a socket's answers stay in order.
      roster.work.line.append((channel, number))
      if channel.beginFollowing() {
        send("SADD", keys.channels(of: registration.id), name)
        order(.subscribe(keys.bus(name))) { $0.followed(channel, $1) }
      }
      advance()
    case .signIn(let user, let socketID):
      signIn(user, socketID: socketID, request: number, connections: 1)
    case .admit, .published, .facts, .channels, .replay: break
    }
  }

  private func followed(_ channel: RedisChannel, _ result: RedisResult) {
    guard isCurrent else { return }
    guard case .success = result else { return check(result, to: "SUBSCRIBE") }
    channel.isFollowed = true
    advance()
  }

  private func advance() {
    while roster.work.hasRoom, let first = roster.work.line.first, first.channel.isFollowed {
      guard let next = roster.work.line.popFirst(),
        case .join(let wish)? = roster.requests[next.number]?.question
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
    roster.work.noteSent(number, bytes: stored.utf8.count)
    call(
      "join", keys.channel(name) + [keys.nodes],
      [
        "node": registration.id, "answers": keys.answers(registration.id), "request": number,
        "bus": keys.bus(name), "channel": name, "socket": wish.socketID,
        "isMember": wish.member == nil ? "0" : "1", "user": wish.member?.userID ?? "",
        "member": stored, "limit": setup.limits.presenceMembers, "before": before, "after": after,
        "connections": wish.isAgain ? 0 : 1, "has": roster.channels[name]?.count ?? 0,
        "leaseEnd": registration.leaseEnd,
      ]
    ) {
      $0.check($1, to: "the join of \(name)")
      // The lease is over, or Redis knows fewer connections.
      if $1.elements?.last == .integer(1) { $0.noticeLoss() }
    }
  }

  /// Counts connections of a user in; the answer comes as a message.
  private func signIn(
    _ user: SignedInUser, socketID: String, request: Int, connections: Int, isNew: Bool = true
  ) {
    roster.work.noteSent(request, bytes: 0)
    call(
      "signIn", [keys.users, keys.users(of: registration.id), keys.nodes],
      [
        "node": registration.id, "answers": keys.answers(registration.id), "request": request,
        "bus": keys.usersBus, "user": user.id, "socket": socketID,
        "came": isNew ? setup.text.watchlist(online: [user.id]) : "", "connections": connections,
        "leaseEnd": registration.leaseEnd,
      ], and: user.watchlist
    ) {
      $0.check($1, to: "a sign-in")
      if case .success(.integer(-1)) = $1 { $0.noticeLoss() }
    }
  }

  private func forgetIfEmpty(_ name: String) {
    guard let channel = roster.channels[name], channel.isUnused else { return }
    roster.channels[name] = nil
    order(.unsubscribe(keys.bus(name)))
  }

  /// Removes a channel without subscribers from this node's list in Redis.
  ///
  /// All departures must be answered and counted first. Otherwise no node would find the uncounted
  /// departure after this node is gone.
  private func noteCountedOut(_ name: String) {
    guard registration.isRegistered, roster.channels[name] == nil,
      departures.unansweredOn[name] == nil, !departures.doubtful.contains(name)
    else { return }
    send("SREM", keys.channels(of: registration.id), name)
  }

  // MARK: Lists of members

  // A node reads the members of a presence channel once, from the replies to its commands. From
  // then on the messages about changes keep its list right.

  /// Reads the members of a channel, unless that goes on already.
  private func readList(_ name: String, _ channel: RedisChannel) {
    guard channel.pages == nil else { return }
    channel.pages = MemberPages()
    roster.work.read(name)
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
    while let name = roster.work.nextUnread() {
      if let channel = roster.channels[name], channel.pages != nil {
        askPage("0", name) { $0.tookPage($1, of: name, channel) }
      } else {
        roster.work.noteRead()
      }
    }
  }

  private func askPage(_ cursor: String, _ name: String, answer: @escaping Answer) {
    command("HSCAN", keys.members(name), cursor, "COUNT", HashPage.size, answer: answer)
  }

  private func tookPage(
    _ result: RedisResult, of name: String, _ channel: RedisChannel
  ) {
    guard isCurrent else { return }
    guard let page = HashPage(result) else {
      if case .success(let reply) = result {
        refuse(Self.words("HSCAN", error: words(of: reply)))
      }
      return
    }
    // The channel may have lost its sockets, and may have new ones.
    if channel.pages != nil, roster.channels[name] === channel {
      channel.pages?.take(page)
      if let next = page.next {
        return askPage(next, name) { $0.tookPage($1, of: name, channel) }
      }
      complete(name, channel)
    }
    roster.work.noteRead()
    continueReading()
  }

  /// Tells the sockets how the list differs from what they know, and answers those that wait.
  private func complete(_ name: String, _ channel: RedisChannel) {
    guard let new = channel.pages?.view else { return }
    if let known = channel.view?.list {
      for member in new.list.members where known[member.userID] == nil {
        tellArrival(of: member, on: name)
      }
      for member in known.members where new.list[member.userID] == nil {
        tellDeparture(of: member, from: name)
      }
    }
    (channel.view, channel.pages) = (new, nil)
    for (number, request, event) in channel.unlisted.takeAll() {
      answer(number, request, channel, event)
    }
    forgetIfEmpty(name)
  }

  private func tellArrival(of member: Member, on name: String, except socketID: String? = nil) {
    node.tell(name, setup.text.memberAdded(channel: name, member: member), except: socketID)
  }

  private func tellDeparture(of member: Member, from name: String) {
    node.tell(name, setup.text.memberRemoved(channel: name, userID: member.id), except: nil)
  }

  private func answer(
    _ number: Int, _ request: JoinRequest, _ channel: RedisChannel, _ event: String
  ) {
    let joined = Joined(
      request, members: channel.view?.list ?? MemberList(),
      cached: setup.isCache(request.channel) ? CachedEvent(stored: event) : nil)
    node.add(.answer(number, .joined(joined)))
  }

  // MARK: Messages of Redis

  package func take(_ payload: [UInt8], from channel: [UInt8], at now: Instant) {
    self.now = now
    guard let fields = RedisFields.decode(payload), let kind = fields.first else { return }
    // Requests under a former name were sent again, so their answers are ignored.
    if ["j", "s", "e"].contains(kind), channel != keys.answers(registration.id) { return }
    switch (kind, fields.count) {
    case ("m", 5), ("m", 7): message(fields)
    case ("v", 1): giveNumbers()
    case ("a", 6): added(fields)
    case ("r", 4): removed(fields)
    case ("w", 4):
      node.add(
        .message(.watchers(fields[1], SharedFrame(fields[3]), except: Self.socket(fields[2]))))
    // A registering node gets its own message too, and looks for the other nodes.
    case ("n", 2): lookForOthers()
    case ("t", 2): node.add(.message(.terminate(userID: fields[1])))
    case ("j", 4...): joined(Array(fields.dropFirst()))
    case ("s", 2...): signedIn(Array(fields.dropFirst()))
    case ("e", 2): Int(fields[1]).map(noteAnswered)
    default: break
    }
  }

  private static func socket(_ field: String) -> String? { field.isEmpty ? nil : field }

  private func message(_ fields: [String]) {
    let isEvent = fields[2] != "0"
    var place: StreamPlace?
    if fields.count == 7, let serial = Int(fields[6]) {
      place = StreamPlace(id: fields[5], serial: serial)
    }
    let frame = SharedFrame(fields[4], channel: isEvent ? fields[1] : nil, place: place)
    let message = BusMessage.channel(fields[1], frame, except: Self.socket(fields[3]))
    node.add(
      isEvent
        ? .event(message, channel: fields[1], isFromClient: fields[2] == "2") : .message(message))
  }

  /// Announces a new user, unless the list has the user already.
  private func added(_ fields: [String]) {
    guard let channel = roster.channels[fields[1]], channel.isFollowed,
      let number = Int(fields[4]), let member = Member(stored: fields[5])
    else { return }
    if channel.pages != nil {
      channel.pages?.note(fields[3], number, member)
    } else if channel.view?.add(member, number) == true {
      tellArrival(of: member, on: fields[1], except: Self.socket(fields[2]))
    }
  }

  private func removed(_ fields: [String]) {
    guard let channel = roster.channels[fields[1]], channel.isFollowed,
      let number = Int(fields[3])
    else { return }
    if channel.pages != nil {
      channel.pages?.note(fields[2], number, nil)
    } else if let member = channel.view?.remove(fields[2], number) {
      tellDeparture(of: member, from: fields[1])
    }
  }

  /// Sends what waited for an answer.
  private func noteAnswered(_ number: Int) {
    roster.work.noteAnswered(number)
    advance()
    enterNext()
  }

  private func joined(_ fields: [String]) {
    guard let number = Int(fields[0]) else { return }
    defer { noteAnswered(number) }
    guard let channel = roster.channels[fields[1]],
      let request = roster.requests.removeValue(forKey: number),
      case .join(let wish) = request.question
    else { return }
    channel.waiting -= 1
    guard fields.count == 7 else {
      node.add(.answer(number, .full(keepsFormer: false)))
      forgetIfEmpty(wish.channel)
      return noteCountedOut(wish.channel)
    }
    if !wish.isAgain { channel.add(wish.member) }
    noteJoined(
      wish.channel, as: wish.member, isFirst: RedisChange(fields[3]), isNew: RedisChange(fields[4]))
    if wish.member != nil, channel.lacksList {
      channel.unlisted.append((number, wish, fields[6]))
    } else {
      answer(number, wish, channel, fields[6])
    }
    noteCount(wish.channel, Int(fields[5]) ?? 0)
  }

  private func signedIn(_ fields: [String]) {
    guard let number = Int(fields[0]) else { return }
    defer { noteAnswered(number) }
    guard let request = roster.requests.removeValue(forKey: number), case .signIn = request.question
    else { return }
    node.add(.answer(number, .signedIn(NameSet(Array(fields.dropFirst())))))
  }
}

// MARK: - Questions and events

private struct WaitingCalls {
  struct Facts {
    var missing: Int
    var known: [ChannelFacts] = []
    /// The members of each channel, if the question asks for them.
    var lists = NameTable<MemberPages>()
    var isKnown = true
    let wantsNames: Bool
  }

  private var lastNumber = 0
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

extension RedisMember {
  package func ask(_ question: ClusterQuestion, at now: Instant) -> ClusterReply {
    self.now = now
    switch question {
    case .join(let request):
      if request.isSecond, !request.isAgain {
        leave(request.channel, userID: request.formerUserID, at: now)
      }
      return ask(question, of: request.socketID)
    case .signIn(let user, let socketID):
      _ = node.signIn(user.id)
      return ask(question, of: socketID)
    case .admit(let events, let bytes):
      guard isActive else { return .answered(.unavailable) }
      guard hasQuota else { return .answered(.admitted) }
      let number = calls.nextNumber()
      countEvents(events, bytes: bytes) { $0.admitted(number, $1) }
      return .later(number)
    case .published: return calls.waitForEvents().map { .later($0) } ?? .answered(.published)
    case .facts(let names, let withMembers):
      guard isActive else { return .answered(.unavailable) }
      guard !names.isEmpty else { return .answered(.facts([])) }
      let number = calls.nextNumber()
      askFacts(names, number, wantsNames: false, withMembers: withMembers)
      return .later(number)
    case .channels(let prefix):
      guard isActive else { return .answered(.unavailable) }
      let number = calls.nextNumber()
      command("SMEMBERS", keys.nodes) { $0.tookNodes(number, prefix, $1) }
      return .later(number)
    case .replay(let name, let start):
      let number = calls.nextNumber()
      numbering.questions.append((number, name, start))
      numbering.deadline = numbering.deadline ?? now.advanced(by: Self.lease + Self.beat)
      if numbering.isOn { askForEvents() }
      return .later(number)
    }
  }

  private var hasQuota: Bool {
    let limits = setup.application.limits
    return limits.eventsPerSecond != nil || limits.bytesPerSecond != nil
  }

  private func countEvents(
    _ events: Int, bytes: Int, isTrial: Bool = false, answer: @escaping Answer
  ) {
    let limits = setup.application.limits
    func text(_ limit: Int?) -> String { isTrial ? "" : limit.map { "\($0)" } ?? "" }
    call(
      "admit", keys.quotas,
      [
        "events": events, "bytes": bytes, "eventLimit": text(limits.eventsPerSecond),
        "byteLimit": text(limits.bytesPerSecond),
      ], answer: answer)
  }

  private func askFacts(
    _ names: [String], _ number: Int, wantsNames: Bool, withMembers: Bool = false
  ) {
    calls.facts[number] = WaitingCalls.Facts(
      missing: withMembers ? 2 * names.count : names.count, wantsNames: wantsNames)
    for name in names {
      call("facts", keys.channel(name), [:]) { $0.tookFacts(number, name, $1) }
      if withMembers { askPage("0", name) { $0.tookMembers(number, name, $1) } }
    }
  }

  // MARK: Answers

  private func admitted(_ number: Int, _ result: RedisResult) {
    check(result, to: "the count of events")
    let limits = setup.application.limits
    let answer: ClusterAnswer =
      switch result.integer {
      case nil: .unavailable
      case 1: .overQuota(limits.refusal(ofEvents: true))
      case 2: .overQuota(limits.refusal(ofEvents: false))
      default: .admitted
      }
    node.add(.answer(number, answer))
  }

  private func tookFacts(_ number: Int, _ name: String, _ result: RedisResult) {
    checkCall(result, to: "the facts of \(name)")
    let facts = ChannelFacts(name: name, result)
    calls.facts[number]?.known.append(facts ?? ChannelFacts(name: name))
    noteFacts(number, isKnown: facts != nil)
  }

  private func tookMembers(_ number: Int, _ name: String, _ result: RedisResult) {
    checkCall(result, to: "the members of \(name)")
    let page = HashPage(result)
    if let page { calls.facts[number]?.lists[name, default: MemberPages()].take(page) }
    if let next = page?.next {
      return askPage(next, name) { $0.tookMembers(number, name, $1) }
    }
    noteFacts(number, isKnown: page != nil)
  }

  private func tookNodes(_ number: Int, _ prefix: String, _ result: RedisResult) {
    guard let nodes = result.elements, !nodes.isEmpty else {
      return noNames(result, to: "SMEMBERS", number)
    }
    let sets = nodes.compactMap(\.text).map(keys.channels(of:))
    order(.command([Array("SUNION".utf8)] + sets)) { $0.tookNames(number, prefix, $1) }
  }

  private func tookNames(_ number: Int, _ prefix: String, _ result: RedisResult) {
    guard let values = result.elements else { return noNames(result, to: "SUNION", number) }
    let names = values.compactMap(\.text).filter { $0.begins(with: prefix) }.sorted()
    // The list of a node may have a channel without subscribers.
    if isActive, !names.isEmpty { return askFacts(names, number, wantsNames: true) }
    node.add(.answer(number, isActive ? .channels([]) : .unavailable))
  }

  private func noNames(_ result: RedisResult, to what: String, _ number: Int) {
    checkCall(result, to: what)
    node.add(.answer(number, .unavailable))
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
    guard waiting.isKnown else { return node.add(.answer(number, .unavailable)) }
    let occupied = waiting.known.filter { $0.subscriptions > 0 }.map(\.name)
    node.add(.answer(number, waiting.wantsNames ? .channels(occupied) : .facts(waiting.known)))
  }

  // MARK: Events

  package func publish(_ event: ChannelEvent, at now: Instant) -> Publication {
    self.now = now
    guard isActive else { return .everywhere }
    calls.notePublished()
    guard !numbering.isAsked else {
      publishNumbered(event)
      return .everywhere
    }
    let message = RedisFields.encode([
      "m", event.channel, event.isFromClient ? "2" : "1", event.excluded ?? "",
      event.text,
    ])
    guard event.isKept else {
      command("PUBLISH", keys.bus(event.channel), message) { $0.published($1) }
      return .everywhere
    }
    call(
      "keep", [keys.event(event.channel)],
      [
        "event": stored(event), "milliseconds": cachedMilliseconds,
        "bus": keys.bus(event.channel), "message": message,
      ]
    ) { $0.published($1) }
    return .everywhere
  }

  package func terminate(userID: String, at now: Instant) -> Bool {
    self.now = now
    guard isActive else { return false }
    calls.notePublished()
    command("PUBLISH", keys.usersBus, RedisFields.encode(["t", userID])) { $0.published($1) }
    return true
  }

  private func published(_ result: RedisResult) {
    // An overload fails this event alone, so only refusals of Redis are checked.
    if case .success = result { check(result, to: "PUBLISH") }
    var isTaken = false
    if case .success(let reply) = result { isTaken = reply.errorCode == nil }
    for (number, isTaken) in calls.noteAnswer(isTaken: isTaken) {
      node.add(.answer(number, isTaken ? .published : .unavailable))
    }
  }
}

// MARK: - Streams

/// Serials of events, for clients of protocol V2; see `beginStreams` of the script.
private struct Numbering {
  typealias Question = (number: Int, channel: String, start: ReplayStart)

  /// True once a node has asked for serials; this node then publishes by `publish`.
  var isAsked = false
  /// True if this node has clients of V2.
  var isWanted = false
  /// True once all nodes give serials.
  var isOn = false
  var wasActive = false
  var askCount = 0
  var nextLook = Instant(nanoseconds: 0)
  /// Questions that wait until all nodes give serials, and the end of the wait.
  var questions: [Question] = []
  var deadline: Instant?
  /// Channels with a staged loss; true for a new stream.
  var lost = NameTable<Bool>()

  var isWaiting: Bool { isWanted && !isOn }
}

extension RedisMember {
  /// An operation may return this number of events at most.
  private static let replayLimit = 1000

  package var keepsStreams: Bool { numbering.isWanted }

  package func beginStreams(life: String) {
    guard setup.limits.allowsRecovery, !numbering.isWanted else { return }
    numbering.isWanted = true
    giveNumbers()
  }

  package func endStreams() {
    (numbering.isWanted, numbering.isOn) = (false, false)
    answerWithoutPlaces()
  }

  package func loseStream(of channel: String, isReset: Bool, at now: Instant) {
    numbering.lost[channel] = isReset
    let stream = keys.stream(channel)
    if isReset { send("DEL", stream[2], stream[3]) } else { send("DEL", stream[2]) }
  }

  private func giveNumbers() {
    numbering.isAsked = true
    if registration.isRegistered || registration.hasBegun { askForNumbers() }
  }

  private func askForNumbers() {
    numbering.nextLook = now.advanced(by: .milliseconds(200))
    numbering.askCount += 1
    // The streams end an hour after the last client of V2 has left.
    let time = max(setup.limits.times.recovery, .seconds(3600)).wholeNanoseconds / 1_000_000
    call(
      "beginStreams",
      [keys.streams, keys.life, keys.ready, keys.nodes, keys.probe(registration.id)],
      [
        "node": registration.id, "life": "\(registration.id).\(numbering.askCount)",
        "milliseconds": time, "bus": keys.usersBus,
      ]
    ) { $0.numbered($1) }
  }

  private func numbered(_ result: RedisResult) {
    if let words = refusal(in: result) { log(Self.words("streams", error: words)) }
    guard isCurrent, numbering.isWanted else { return }
    switch result.integer {
    case 0?: break
    case 1?:
      numbering.isOn = true
      askForEvents()
    default:
      // Without rights for streams, only clients of V2 lack something.
      if case .success = result { endStreams() }
    }
  }

  /// The event for a cache channel.
  private func stored(_ event: ChannelEvent) -> String {
    CachedEvent(name: event.name, data: event.data ?? .null).stored
  }

  private var cachedMilliseconds: String {
    setup.limits.times.cachedEvent.map { "\($0.wholeNanoseconds / 1_000_000)" } ?? ""
  }

  private func publishNumbered(_ event: ChannelEvent) {
    let limits = setup.limits
    call(
      "publish", keys.stream(event.channel) + [keys.event(event.channel)],
      [
        "bus": keys.bus(event.channel), "channel": event.channel,
        "kind": event.isFromClient ? "2" : "1", "socket": event.excluded ?? "",
        "text": event.text, "event": event.isKept ? stored(event) : "",
        "milliseconds": cachedMilliseconds,
        "window": max(limits.times.recovery.wholeNanoseconds / 1_000_000, 1),
        "limit": min(limits.recoveryEvents, Self.replayLimit),
      ]
    ) { $0.published($1) }
  }

  private func askForEvents() {
    let questions = numbering.questions
    (numbering.questions, numbering.deadline) = ([], nil)
    for question in questions {
      let limit = question.start == .now ? 0 : min(setup.limits.recoveryEvents, Self.replayLimit)
      call("replay", keys.stream(question.channel), ["limit": limit]) {
        $0.replayed(question, $1)
      }
    }
  }

  private func answerWithoutPlaces() {
    for question in numbering.questions { node.add(.answer(question.number, .unavailable)) }
    (numbering.questions, numbering.deadline) = ([], nil)
  }

  private func replayed(_ question: Numbering.Question, _ result: RedisResult) {
    let name = question.channel
    guard let values = result.elements, values.count >= 3, let id = values[0].text,
      let serial = values[1].integer, let time = values[2].integer
    else {
      // The streams of an emptied Redis are gone.
      numbering.isOn = false
      return node.add(.answer(question.number, .unavailable))
    }
    var kept: [StreamReplay.Kept] = []
    for index in stride(from: 3, to: values.count - 2, by: 3) {
      guard let serial = values[index].integer, let began = values[index + 1].integer,
        let text = values[index + 2].text
      else { continue }
      let place = StreamPlace(id: id, serial: Int(serial))
      kept.append((SharedFrame(text, channel: name, place: place), .milliseconds(time - began)))
    }
    let head = StreamPlace(id: id, serial: Int(serial))
    var replay = StreamReplay(head: head, isWhole: kept.count == head.serial)
    var loss: StreamReplay.Loss?
    if case .after = question.start {
      loss = numbering.lost.removeValue(of: name).map { $0 ? .reset : .expired }
    }
    replay.fill(kept.reversed(), from: question.start, after: loss, setup.limits)
    node.add(.answer(question.number, .replay(replay)))
  }
}

extension ChannelFacts {
  fileprivate init?(name: String, _ result: RedisResult) {
    guard let values = result.elements, values.count == 4, let count = values[0].integer,
      let timeLeft = values[2].integer, let users = values[3].integer
    else { return nil }
    self.init(name: name)
    (subscriptions, memberCount) = (Int(count), Int(users))
    cached = values[1].text.flatMap(CachedEvent.init(stored:)).map {
      ($0, timeLeft > 0 ? .milliseconds(timeLeft) : nil)
    }
  }
}
