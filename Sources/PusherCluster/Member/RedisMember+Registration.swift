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
