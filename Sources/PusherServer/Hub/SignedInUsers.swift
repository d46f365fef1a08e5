package import PusherCore

/// The signed-in user of a connection.
struct SignedInUser: Equatable {
  let member: Member
  /// The users that this user watches.
  let watchlist: [String]

  var id: String { member.userID }
}

/// The signed-in users, their connections and their watchers.
struct SignedInUsers {
  private typealias Sessions = [ObjectIdentifier: any HubSession]

  private var sessions = NameTable<Sessions>()
  private var watchers = NameTable<Sessions>()

  /// The connections of a user.
  func sessions(of userID: String) -> [any HubSession] {
    sessions[userID].map { Array($0.values) } ?? []
  }

  /// The connections whose users watch this one.
  func watchers(of userID: String) -> [any HubSession] {
    watchers[userID].map { Array($0.values) } ?? []
  }

  func isOnline(_ userID: String) -> Bool { sessions[userID] != nil }

  /// Counts a connection in; true for the user's first.
  mutating func add(_ session: any HubSession, _ user: SignedInUser) -> Bool {
    let isFirst = sessions[user.id] == nil
    let key = ObjectIdentifier(session)
    sessions[user.id, default: [:]][key] = session
    for watched in user.watchlist { watchers[watched, default: [:]][key] = session }
    return isFirst
  }

  /// Counts a connection out; true for the user's last.
  mutating func remove(_ session: any HubSession, _ user: SignedInUser) -> Bool {
    let key = ObjectIdentifier(session)
    for watched in user.watchlist {
      watchers[watched]?[key] = nil
      if watchers[watched]?.isEmpty == true { watchers[watched] = nil }
    }
    sessions[user.id]?[key] = nil
    guard sessions[user.id]?.isEmpty == true else { return false }
    sessions[user.id] = nil
    return true
  }
}

// Users and their connections.
extension Hub {
  /// Signs a connection in: it gets the answer and its watchlist, and the user's watchers learn of it.
  func signIn(
    _ session: any HubSession, as user: SignedInUser, userData: String, auth: String,
    at now: Instant
  ) {
    session.user = user
    let isFirst = users.add(session, user)
    session.send(text.signInSuccess(userData: userData, auth: auth), at: now)
    log(.signedIn(socketID: session.socketID, userID: user.id))
    let online = user.watchlist.filter { users.isOnline($0) }
    let offline = user.watchlist.filter { !users.isOnline($0) }
    if !user.watchlist.isEmpty {
      session.send(text.watchlist(online: online, offline: offline), at: now)
    }
    if isFirst {
      tellWatchers(of: user.id, text.watchlist(online: [user.id]), except: session, at: now)
    }
  }

  func signOut(_ session: any HubSession, at now: Instant) {
    guard let user = session.user else { return }
    session.user = nil
    guard users.remove(session, user) else { return }
    tellWatchers(of: user.id, text.watchlist(offline: [user.id]), at: now)
  }

  private func tellWatchers(
    of userID: String, _ message: String, except excluded: (any HubSession)? = nil, at now: Instant
  ) {
    let watchers = users.watchers(of: userID)
    guard !watchers.isEmpty else { return }
    deliver(SharedFrame(message), to: watchers, except: excluded, at: now)
  }

  /// Closes all connections of a user; answers how many there were.
  @discardableResult
  package func terminateConnections(userID: String, at now: Instant) -> Int {
    let sessions = users.sessions(of: userID)
    for session in sessions { session.terminate(at: now) }
    return sessions.count
  }
}
