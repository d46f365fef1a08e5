package import PusherCore
package import PusherServer

/// A hub's place among nodes that meet in Redis.
///
/// It is pure: Redis' answers and messages, questions and the time come in; orders and news go out. What it knows of its own
/// sockets stays here. What they are together with those of other nodes is in Redis, where ``ClusterScript`` changes it.
/// While Redis cannot be reached, sockets stay and what they ask for waits. When Redis is back, the member registers its
/// entries under a new name, and has those of the former one removed.
package final class RedisMember: ClusterMember {
  private(set) var setup: AppSetup
  let keys: RedisKeys
  /// Delay of the webhooks for departures.
  let webhookDelay: Duration
  /// The password, which no message shows.
  let secret: RedisPassword?
  var now: Instant
  var state = MemberState.connecting
  var identity: Identity
  var roster = Roster()
  var sockets = WaitingSockets()
  var calls = WaitingCalls()
  var departures = Departures()
  var others = OtherNodes()
  var trouble = Trouble()
  /// The removals of other nodes' entries that are under way.
  var cleanings = Cleanings()
  var outbox = MemberOutbox()

  /// How long a node counts as alive without a sign of it.
  package static let lease = Duration.seconds(6)
  /// How often it gives one.
  package static let beat = Duration.seconds(2)
  /// How long it is remembered that a node was told as gone.
  static let memory = Duration.seconds(7 * 86_400)

  /// - Parameters:
  ///   - database: The number of Redis' database.
  ///   - webhookDelay: Delay of the webhooks for departures.
  ///   - random: Draws the names under which it registers.
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

  // MARK: Where it stands

  /// Whether the member's entries are in Redis or on their way.
  var isRegistered: Bool {
    switch state {
    case .registering(.entering), .gathering, .active: true
    case .registering, .connecting, .lost, .left: false
    }
  }

  package var isActive: Bool { if case .active = state { true } else { false } }
  var isGathering: Bool { if case .gathering = state { true } else { false } }
  var hasLeft: Bool { if case .left = state { true } else { false } }

  // MARK: Out

  package func nextOrder() -> ClusterOrder? { outbox.nextOrder() }
  package func takeNews() -> [ClusterNews] { outbox.takeNews() }
  package func takeNotices() -> [WebhookNotice] { outbox.takeNotices() }

  /// When ``tick(at:)`` has something to do besides the sign of life.
  package var deadline: Instant? {
    if case .gathering(let gathering) = state { return gathering.nextLook }
    return isActive && departures.askedAt == nil ? departures.held.first?.due : nil
  }

  /// How often a node that waits for others looks for them.
  static let gatheringPause = Duration.milliseconds(200)

  func order(_ action: ClusterOrder.Action, _ purpose: ClusterOrder.Purpose) {
    outbox.add(
      ClusterOrder(action: action, purpose: purpose, registration: identity.registration))
  }

  func command(_ words: any RedisWord..., for purpose: ClusterOrder.Purpose) {
    order(.command(words.map(\.redisBytes)), purpose)
  }

  func call(
    _ operation: String, _ keys: [[UInt8]],
    _ arguments: KeyValuePairs<String, any RedisWord>, and more: [String] = [],
    for purpose: ClusterOrder.Purpose
  ) {
    let values = arguments.map(\.value.redisBytes) + more.map(\.redisBytes)
    order(
      .call(ClusterCall(operation, keys: keys, names: arguments.map(\.key), values)), purpose)
  }

  /// Sends a command whose answer matters only if it is a refusal.
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

  /// Takes Redis' answer to an order, or why there is none.
  package func receive(
    _ result: Result<RedisReply, RedisFailure>, for order: ClusterOrder, at now: Instant
  ) {
    self.now = now
    let registration = order.registration
    switch order.purpose {
    case .nothing: break
    case .check(let what): check(result, to: what, since: registration)
    case .registration(let step): registered(result, step, since: registration)
    case .lease(let step): leased(result, step, since: registration)
    case .followed(let channel): followed(channel, result, since: registration)
    case .join(let name):
      check(result, to: "the join of \(name)", since: registration)
      noteIfUnknown(result, since: registration)
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

  /// Registers anew where a join has said that the lease is over, or that Redis knows of fewer connections.
  func noteIfUnknown(_ result: Result<RedisReply, RedisFailure>, since registration: Int) {
    if case .success(.array(let values)) = result, values.last == .integer(1) {
      noticeLoss(since: registration)
    }
  }

  // MARK: Time

  package func tick(at now: Instant) {
    self.now = now
    tellDueCounts()
  }

  /// Looks at the others that it waits for, and at delayed departures.
  package func look(at now: Instant) {
    self.now = now
    if case .gathering(let gathering) = state, gathering.nextLook <= now { gather() }
    if isActive, let due = departures.held.first?.due, due <= now { tellDepartures() }
  }

  /// Gives a sign of life, and tries again what Redis has refused.
  package func beat(at now: Instant) {
    self.now = now
    if case .lost(retries: true) = state { register(isFenced: identity.isFenced, at: now) }
    giveSign()
    tellDepartures()
  }
}
