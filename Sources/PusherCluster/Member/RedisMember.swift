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
  var cleanings = Cleanings()
  var pace = Pace()
  var readings = ListReadings()
  var entrance = Entrance()
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

  var isRegistered: Bool {
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

  static let gatheringPause = Duration.milliseconds(200)

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
