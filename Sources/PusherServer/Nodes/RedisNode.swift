#if Redis
  internal import PusherCore

  /// A hub's place among nodes that meet in Redis.
  ///
  /// What it knows of its own sockets stays here; what they are together with those of other nodes stands in Redis, and is
  /// changed by ``RedisScripts``. While Redis cannot be reached, sockets stay and what they ask for waits; when it is back
  /// the node registers what it has under a new id, and has the former one cleaned up. It belongs to its loop's thread.
  final class RedisNode {
    /// A socket that waits for its answer.
    enum Request {
      case join(JoinRequest, (JoinAnswer, Instant) -> Void)
      case signIn(SignedInUser, socketID: String, (NameSet, Instant) -> Void)

      var socketID: String {
        switch self {
        case .join(let wish, _): wish.socketID
        case .signIn(_, let socketID, _): socketID
        }
      }
    }

    weak var receiver: (any BusReceiver)?
    private(set) var setup: AppSetup
    let keys: RedisKeys
    let link: RedisLink
    let loop: EventLoop
    /// Its name in Redis, since it registered last.
    var id: String
    /// When its lease ends unless it is renewed, in milliseconds by Redis' clock.
    var leaseEnd: Int64 = 0
    /// The last ID under which all subscriptions and users were stored in Redis.
    var registeredID: String?
    /// Whether Redis may hold entries under the present ID.
    var hasBegun = false
    /// Former names under which something may stand in Redis.
    var formerIDs: [String] = []
    /// Whether what it has stands in Redis, and is being added to it.
    var isRegistered = false
    /// Whether it takes part: it is registered, and so are the others, as far as they are there.
    var isReady = false
    /// The others that it waits for; `nil` when it waits for none.
    var gathering: RedisGathering?
    /// How many nodes there were when it last looked, this one among them.
    var nodeCount = 1
    /// The last refusal of Redis; `nil` after a successful registration.
    var refusal: String?
    /// Whether the node must register again because Redis refused a command.
    var wantsRetry = false
    /// Whether commands of earlier connections can no longer reach Redis.
    var isFenced = false
    /// Whether the node has left the cluster for good.
    var hasLeft = false
    /// The last error of Redis that was logged.
    var lastTold: String?
    /// Departures on this node whose webhooks are delayed.
    var held: [RedisHeldDeparture] = []
    /// Delay of the webhooks for departures.
    let webhookDelay: Duration
    /// Called when Redis refuses a command; `news` is the reason if it was not logged yet.
    var onRefusal: (_ news: String?) -> Void = { _ in }
    /// Called when a departure is delayed, so that the owner sets its timer.
    var onHeld: () -> Void = {}
    /// Called when it begins to wait for others, so that ``gather(at:)`` is called soon.
    var onGathering: () -> Void = {}
    /// Called when it begins to take part.
    var onReady: () -> Void = {}
    /// Counts the registrations, so that answers to an earlier one are told apart.
    var generation = 0
    var channels = NameTable<RedisChannel>()
    /// How many connections each signed-in user has here.
    var users = NameTable<Int>()
    /// How many departures Redis has not answered yet.
    var unansweredDepartures = 0 {
      didSet { if unansweredDepartures == 0 { takeLeave() } }
    }
    /// Called when the node has taken leave, once it wants to.
    var onLeave: (() -> Void)?
    /// Who left while Redis could not be told.
    var departures = RedisDepartures()
    var requests: [Int: Request] = [:]
    /// What waits for a channel to be listened to, in its order.
    var line = RedisQueue<(channel: RedisChannel, action: () -> Void)>()
    private var lastRequest = 0
    /// How many requests may wait before it is looked whose sockets have left.
    private var dropsAt = 1024
    private var sockets = NameSet()
    /// How many sockets the other nodes had when they last told.
    var otherConnections = 0
    var notices: [WebhookNotice] = []
    var counts = SubscriptionCounts()
    private var published = PublishedCount()
    let newID: () -> String
    let log: (ServerLogEvent) -> Void

    /// How long a node counts as alive without a sign of it.
    static let lease = Duration.seconds(6)
    /// How often it gives one.
    static let beat = Duration.seconds(2)
    /// How long it is remembered that a node was told as gone.
    static let memory = Duration.seconds(7 * 86_400)

    init(
      _ setup: AppSetup, link: RedisLink, database: Int, loop: EventLoop, webhookDelay: Duration,
      newID: @escaping () -> String, log: @escaping (ServerLogEvent) -> Void
    ) {
      self.setup = setup
      self.link = link
      self.loop = loop
      self.webhookDelay = webhookDelay
      self.newID = newID
      self.log = log
      keys = RedisKeys(app: setup.application.id, database: database)
      id = newID()
    }

    func adopt(_ setup: AppSetup) { self.setup = setup }

    // MARK: What comes from Redis

    /// Takes a message of a channel that this node listens to.
    func take(_ payload: [UInt8], from channel: [UInt8]) {
      guard let fields = RedisFields.decode(payload), let kind = fields.first else { return }
      // What was asked under a former id is asked again.
      if kind == "j" || kind == "s", channel != keys.answers(id) { return }
      let now = loop.now
      switch (kind, fields.count) {
      case ("m", 5):
        let isEvent = fields[2] != "0"
        let frame = SharedFrame(fields[4], channel: isEvent ? fields[1] : nil)
        let except = fields[3].isEmpty ? nil : fields[3]
        let count = receiver?.deliver(.channel(fields[1], frame, except: except), at: now) ?? 0
        if isEvent, count > 0 {
          log(.delivered(channel: fields[1], isFromClient: fields[2] == "2", recipients: count))
        }
      case ("a", 5): added(fields, at: now)
      case ("r", 4): removed(fields[2], from: fields[1], fields[3], at: now)
      case ("w", 4):
        let except = fields[2].isEmpty ? nil : fields[2]
        deliver(.watchers(fields[1], SharedFrame(fields[3]), except: except), at: now)
      // A node that registers hears of itself too, and looks who is there already.
      case ("n", 2): lookForOthers()
      case ("t", 2): deliver(.terminate(userID: fields[1]), at: now)
      case ("j", 4...): joined(Array(fields.dropFirst()), at: now)
      case ("s", 2...): signedIn(Array(fields.dropFirst()), at: now)
      default: break
      }
    }

    private func deliver(_ message: BusMessage, at now: Instant) {
      receiver?.deliver(message, at: now)
    }

    /// A user has come, unless the sockets here know of it from before Redis was lost.
    private func added(_ fields: [String], at now: Instant) {
      guard let channel = channels[fields[1]], channel.known?.insert(fields[3]) != false else {
        return
      }
      let except = fields[2].isEmpty ? nil : fields[2]
      deliver(.channel(fields[1], SharedFrame(fields[4]), except: except), at: now)
    }

    func removed(_ userID: String, from name: String, _ text: String, at now: Instant) {
      guard let channel = channels[name], channel.known?.remove(userID) != false else { return }
      deliver(.channel(name, SharedFrame(text), except: nil), at: now)
    }

    private func joined(_ fields: [String], at now: Instant) {
      guard let number = Int(fields[0]), let channel = channels[fields[1]] else { return }
      let isFull = fields[2] == "full"
      guard let request = requests.removeValue(forKey: number) else {
        if !isFull, number < 0 { compare(fields, channel, at: now) }
        return
      }
      guard case .join(let wish, let answer) = request else { return }
      channel.waiting -= 1
      if isFull {
        answer(.full(keepsFormer: false), now)
        forgetIfEmpty(wish.channel)
        noteCountedOut(wish.channel)
        return
      }
      guard fields.count >= 7 else { return }
      let members = wish.member == nil ? nil : Self.members(fields)
      if !wish.isAgain { channel.add(wish.member) }
      // Sockets that were here before learn of this one by the message that follows.
      channel.known = channel.known ?? members.map { NameSet($0.members.map(\.userID)) }
      noteJoined(
        wish.channel, as: wish.member, isFirst: RedisChange(fields[3]),
        isNew: RedisChange(fields[4]))
      answer(
        .joined(
          Joined(
            memberID: wish.member.flatMap { members?[$0.userID]?.id }, members: members,
            cached: setup.naming.isCache(wish.channel)
              ? CachedEvents.Event(stored: fields[6]) : nil)), now)
      noteCount(wish.channel, Int(fields[5]) ?? 0)
    }

    static func members(_ fields: [String]) -> MemberList {
      let pairs = fields.dropFirst(7)
      return MemberList(
        stored: stride(from: pairs.startIndex, to: pairs.endIndex - 1, by: 2).map {
          (fields[$0], fields[$0 + 1])
        })
    }

    private func signedIn(_ fields: [String], at now: Instant) {
      guard let number = Int(fields[0]), let request = requests.removeValue(forKey: number),
        case .signIn(_, _, let answer) = request
      else { return }
      answer(NameSet(fields.dropFirst()), now)
    }

    // MARK: Requests

    /// Sends a request now, or when the node is registered.
    func ask(_ request: Request) {
      lastRequest += 1
      requests[lastRequest] = request
      if !isReady, requests.count >= dropsAt { dropAbandoned() }
      if isReady { send(request, lastRequest) }
    }

    /// Forgets what sockets asked for that have left meanwhile: nobody would count them out again.
    func dropAbandoned() {
      for (number, request) in requests where !sockets.contains(request.socketID) {
        requests[number] = nil
      }
      dropsAt = max(2 * requests.count, 1024)
    }

    func send(_ request: Request, _ number: Int) {
      switch request {
      case .join(let wish, _):
        let channel = channels[wish.channel] ?? RedisChannel()
        channels[wish.channel] = channel
        channel.waiting += 1
        follow(wish.channel, channel) { [weak self] in
          self?.join(
            wish.channel, as: wish.member, socketID: wish.socketID, request: number,
            connections: wish.isAgain ? 0 : 1)
        }
      case .signIn(let user, let socketID, _):
        signIn(user, socketID: socketID, request: number, connections: 1)
      }
    }

    /// Has something done once a channel is listened to, and after everything that came before: a socket's answers come
    /// in the order of its questions.
    private func follow(
      _ name: String, _ channel: RedisChannel, _ action: @escaping () -> Void
    ) {
      line.append((channel, action))
      if channel.beginFollowing() {
        let generation = generation
        send("SADD", [keys.channels(of: id), Array(name.utf8)])
        link.subscribe(keys.bus(name)) { [weak self, weak channel] result in
          guard let self, self.generation == generation else { return }
          guard case .success = result else { return checkSubscription(result, since: generation) }
          channel?.isFollowed = true
          advance()
        }
      }
      advance()
    }

    /// Does what stands first in the line and need not wait any more.
    private func advance() {
      while let first = line.first, first.channel.isFollowed { line.popFirst()?.action() }
    }

    /// Counts connections in; the answer comes as a message.
    func join(
      _ name: String, as member: Member?, socketID: String, request: Int, connections: Int,
      _ done: @escaping (Result<RedisReply, RedisFailure>) -> Void = { _ in }
    ) {
      let (before, after) = countText(name)
      let text = setup.text
      let generation = generation
      link.run(
        RedisScripts.join, keys: keys.channel(name),
        arguments: [
          Array(id.utf8), keys.answers(id), Array("\(request)".utf8), keys.bus(name),
        ]
          + [
            name, socketID, member == nil ? "0" : "1", member?.userID ?? "", member?.stored ?? "",
            member.map { text.memberAdded(channel: name, member: $0) } ?? "",
            member.map { text.memberRemoved(channel: name, userID: $0.id) } ?? "",
            // Those who are there already stay, however many there are.
            "\(request > 0 ? setup.limits.presenceMembers : 0)", before, after, "\(connections)",
            // What is registered anew is not there yet.
            "\(request > 0 ? channels[name]?.count ?? 0 : 0)", "\(leaseEnd)",
          ].map { Array($0.utf8) }
      ) { [weak self] result in
        self?.check(result, to: "the join of \(name)", since: generation)
        done(result)
        if case .success(.array(let values)) = result, values.last == .integer(1) {
          self?.noticeLoss(since: generation)
        }
      }
    }

    /// Counts connections of a user in; the answer comes as a message.
    ///
    /// - Parameter isNews: Whether those who watch the user may be told.
    func signIn(
      _ user: SignedInUser, socketID: String, request: Int, connections: Int, isNews: Bool = true
    ) {
      let word = isNews ? setup.text.watchlist(online: [user.id]) : ""
      let generation = generation
      link.run(
        RedisScripts.signIn, keys: [keys.users, keys.users(of: id)],
        arguments: [keys.answers(id), Array("\(request)".utf8), keys.usersBus]
          + ([user.id, socketID, word, "\(connections)", "\(leaseEnd)"] + user.watchlist).map {
            Array($0.utf8)
          }
      ) { [weak self] result in
        self?.check(result, to: "a sign-in", since: generation)
        if case .success(.integer(-1)) = result { self?.noticeLoss(since: generation) }
      }
    }

    /// Nobody here is subscribed any more, or wants to be.
    func forgetIfEmpty(_ name: String) {
      guard let channel = channels[name], channel.count == 0, channel.waiting == 0 else { return }
      channels[name] = nil
      link.unsubscribe(keys.bus(name))
    }

    /// Nothing is counted on a channel that nobody here is subscribed to: no need to clean up after it.
    ///
    /// It is said once Redis has answered that all are counted out. Before, it could take effect where that did not.
    func noteCountedOut(_ name: String) {
      guard isRegistered, channels[name] == nil else { return }
      send("SREM", [keys.channels(of: id), Array(name.utf8)])
    }

    // MARK: Sockets

    func connect(_ socketID: String) { sockets.insert(socketID) }
    func disconnect(_ socketID: String) { sockets.remove(socketID) }
    func hasSocket(_ socketID: String) -> Bool { sockets.contains(socketID) }
    var connectionCount: Int { sockets.count + otherConnections }
    var ownConnectionCount: Int { sockets.count }
    // The sockets of other threads are theirs. What the last ones have caused is known when Redis has answered.
    var isDeserted: Bool { unansweredDepartures == 0 && held.isEmpty }
    var channelCount: Int { channels.count }
    func hasRoom(for channel: String, limit: Int) -> Bool {
      channels.count < limit || channels[channel] != nil
    }

    // MARK: Publishing

    func publish(_ command: RedisCommand) {
      published.add()
      let generation = generation
      link.send(command) { [weak self] in self?.noteAnswer($0, since: generation) }
    }

    func noteAnswer(_ result: Result<RedisReply, RedisFailure>, since generation: Int) {
      // A command too many fails alone.
      if case .success = result { check(result, to: "PUBLISH", since: generation) }
      var isTaken = false
      if case .success(let reply) = result { isTaken = reply.errorCode == nil }
      // Called outside the change, since an answer may publish again.
      for waiting in published.note(isTaken: isTaken) { waiting.done(waiting.isTaken) }
    }

    /// One more is published, whose answer goes to ``noteAnswer(_:since:)``.
    func notePublished() { published.add() }

    func whenPublished(_ done: @escaping (Bool) -> Void) {
      if !published.wait(done) { done(true) }
    }
  }
#endif
