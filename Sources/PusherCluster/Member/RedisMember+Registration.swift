package import PusherCore
internal import PusherServer

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
    let names = roster.channels.names
    state = .registering(.listening(missing: names.count + 2))
    // The users' channel comes last, because other nodes count its subscribers.
    for channel in [keys.answers(identity.id)] + names.map(keys.bus) + [keys.usersBus] {
      order(.subscribe(channel), .registration(.listening))
    }
  }

  /// Registers again because the lease is over or Redis was emptied.
  func noticeLoss(since registration: Int) {
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
    case .rejoined(let name, let entry, let remains):
      check(result, to: "the join of \(name)", since: registration)
      rejoined(name, entry, remains, result)
      noteIfUnknown(result, since: registration)
    case .probe: probed(result, since: registration)
    case .gathering: gathered(result, since: registration)
    }
  }

  private func listening(_ result: RedisResult, since registration: Int) {
    guard isCurrent(registration), case .registering(.listening(let missing)) = state else {
      return
    }
    guard case .success = result else { return check(result, to: "SUBSCRIBE", since: registration) }
    state = .registering(.listening(missing: missing - 1))
    if missing == 1 { askForRemains() }
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
    // The lease grows by 1 ms for each entry, because many entries take long.
    let size = roster.channels.elements.reduce(roster.users.count) { $0 + 1 + $1.members.count }
    let lease = Self.lease + .milliseconds(size)
    call(
      "begin", [keys.lease(identity.id), keys.nodes],
      [
        "content": ownConnectionCount, "milliseconds": lease.wholeNanoseconds / 1_000_000,
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

  // MARK: Entries

  private func enter(_ remains: FormerEntries) {
    identity.hasBegun = true
    for name in roster.channels.names { enter(name, remains) }
    for userID in roster.users.names {
      // Waiting sign-ins enter with their own requests.
      let connections = (roster.users[userID] ?? 0) - waitingSignIns(of: userID)
      if connections > 0 { enter(userID: userID, connections, remains) }
    }
    enterDepartures(remains)
    send("SADD", keys.enrolled, identity.id)
    // Its answer comes after the answers to all entries.
    command(
      "PUBLISH", keys.usersBus, RedisFields.encode(["n", identity.id]),
      for: .registration(.entered))
  }

  private func enter(_ name: String, _ remains: FormerEntries) {
    guard let channel = roster.channels[name] else { return }
    channel.noteFollowed()
    send("SADD", keys.channels(of: identity.id), name)
    if channel.members.isEmpty, channel.count > 0 {
      rejoin(name, RosterEntry(member: nil, connections: channel.count), remains)
    }
    for entry in channel.members.elements {
      rejoin(name, RosterEntry(member: entry.member, connections: entry.connections), remains)
    }
  }

  private func enter(userID: String, _ connections: Int, _ remains: FormerEntries) {
    signIn(
      SignedInUser(member: Member(userID: userID), watchlist: []), socketID: "", request: 0,
      connections: connections, isNew: remains != .lost)
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
      send("SADD", keys.channels(of: identity.id), departure.channel)
      rejoin(departure.channel, RosterEntry(member: departure.member, connections: 1), remains)
    }
    for userID in departures.users { enter(userID: userID, 1, remains) }
  }

  private func rejoin(_ name: String, _ entry: RosterEntry, _ remains: FormerEntries) {
    join(
      name, as: entry.member, socketID: "", request: 0, connections: entry.connections,
      for: .registration(.rejoined(name, entry, remains)))
  }

  private func rejoined(
    _ name: String, _ entry: RosterEntry, _ remains: FormerEntries, _ result: RedisResult
  ) {
    // Arrivals are reported only if the departures were.
    guard remains == .cleanedUp, case .success(.array(let values)) = result, values.count == 3
    else { return }
    noteJoined(
      name, as: entry.member, isFirst: RedisChange(values[0]), isNew: RedisChange(values[1]))
  }

  private func waitingSignIns(of userID: String) -> Int {
    sockets.requests.values.count {
      if case .signIn(let user, _) = $0 { user.id.isSame(as: userID) } else { false }
    }
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
    for name in roster.channels.names where roster.channels[name]?.known != nil {
      join(
        name, as: Member(userID: ""), socketID: "", request: -1, connections: 0, for: .join(name))
    }
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
