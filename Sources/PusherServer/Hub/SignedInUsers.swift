package import PusherCore

/// The signed-in user of a connection.
struct SignedInUser: Sendable, Equatable {
  let member: Member
  /// The users that this user watches.
  let watchlist: [String]

  var id: String { member.userID }
}

/// The signed-in users of one node, their connections and their watchers.
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

  mutating func add(_ session: any HubSession, _ user: SignedInUser) {
    let key = ObjectIdentifier(session)
    sessions[user.id, default: [:]][key] = session
    for watched in user.watchlist { watchers[watched, default: [:]][key] = session }
  }

  mutating func remove(_ session: any HubSession, _ user: SignedInUser) {
    let key = ObjectIdentifier(session)
    for watched in user.watchlist {
      watchers[watched]?[key] = nil
      if watchers[watched]?.isEmpty == true { watchers[watched] = nil }
    }
    sessions[user.id]?[key] = nil
    if sessions[user.id]?.isEmpty == true { sessions[user.id] = nil }
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
    users.add(session, user)
    node.signIn(user, socketID: session.socketID, at: now) { [weak self] online, now in
      guard let self else { return }
      session.send(text.signInSuccess(userData: userData, auth: auth), at: now)
      log(.signedIn(socketID: session.socketID, userID: user.id))
      guard !user.watchlist.isEmpty else { return }
      session.send(
        text.watchlist(
          online: user.watchlist.filter { online.contains($0) },
          offline: user.watchlist.filter { !online.contains($0) }), at: now)
    }
  }

  func signOut(_ session: any HubSession, at now: Instant) {
    guard let user = session.user else { return }
    session.user = nil
    users.remove(session, user)
    node.signOut(user.id, at: now)
  }

  /// Closes all connections of a user, on all nodes.
  package func terminateConnections(userID: String, at now: Instant) {
    node.terminate(userID: userID, at: now)
  }
}
