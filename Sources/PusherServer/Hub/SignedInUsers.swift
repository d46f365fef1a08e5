internal import PusherCore

/// The user of a connection, as a sign-in told.
struct SignedInUser: Equatable {
  let id: String
  /// What the app tells about the user; `nil` when nothing.
  let info: JSONValue?
  /// Whose coming and going the user is told.
  let watchlist: [String]
}

/// A client's claim to be somebody.
struct SignInClaim {
  let socketID: String
  /// `KEY:HEX`.
  let auth: String
  let userData: String

  /// Checks signature and content.
  func user(
    for application: Application, limits: ServerLimits
  ) throws(SubscriptionRefusal) -> SignedInUser {
    let signature = SubscriptionSignature(key: application.key, secret: application.secret)
    let expected = signature.signIn(socketID: socketID, userData: userData)
    guard Digest.equalInConstantTime(Array(auth.utf8), Array(expected.utf8)) else {
      let given = auth.drop { $0 != ":" }.dropFirst()
      throw SubscriptionRefusal(
        reason: "Invalid signature: Expected HMAC SHA256 hex digest of "
          + "\(socketID)::user::\(userData), but got \(given)", code: .unauthorized)
    }
    guard userData.utf8.count <= limits.userData else {
      throw SubscriptionRefusal(
        reason: "user_data has at most \(limits.userData) bytes, this one \(userData.utf8.count)",
        code: .unauthorized)
    }
    guard let data = try? JSONParser.parse(userData), let id = data["id"]?.identifier, !id.isEmpty
    else {
      throw SubscriptionRefusal(
        reason: "user_data is not a JSON object with an id", code: .unauthorized)
    }
    guard id.count <= limits.userID else {
      throw SubscriptionRefusal(
        reason: "a user's id has at most \(limits.userID) characters, this one \(id.count)",
        code: .unauthorized)
    }
    let watchlist = (data["watchlist"]?.elements ?? []).compactMap(\.identifier)
    guard watchlist.count <= limits.watchlist else {
      throw SubscriptionRefusal(
        reason: "a watchlist has at most \(limits.watchlist) users, this one \(watchlist.count)",
        code: .unauthorized)
    }
    return SignedInUser(id: id, info: data["user_info"], watchlist: watchlist)
  }
}

/// Who is signed in on which connections, and who wants to know of it.
struct SignedInUsers {
  private typealias Sessions = [ObjectIdentifier: ClientSession]

  private var sessions = NameTable<Sessions>()
  private var watchers = NameTable<Sessions>()

  /// The connections of a user.
  func sessions(of userID: String) -> [ClientSession] {
    sessions[userID].map { Array($0.values) } ?? []
  }

  /// The connections whose users watch this one.
  func watchers(of userID: String) -> [ClientSession] {
    watchers[userID].map { Array($0.values) } ?? []
  }

  func isOnline(_ userID: String) -> Bool { sessions[userID] != nil }

  /// Counts a connection in; true for the user's first.
  mutating func add(_ session: ClientSession, _ user: SignedInUser) -> Bool {
    let isFirst = sessions[user.id] == nil
    let key = ObjectIdentifier(session)
    sessions[user.id, default: [:]][key] = session
    for watched in user.watchlist { watchers[watched, default: [:]][key] = session }
    return isFirst
  }

  /// Counts a connection out; true for the user's last.
  mutating func remove(_ session: ClientSession, _ user: SignedInUser) -> Bool {
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
  /// Signs a connection in: it gets the answer and its watchlist, those who watch the user learn of it.
  func signIn(_ session: ClientSession, as user: SignedInUser, userData: String, auth: String) {
    session.user = user
    let isFirst = users.add(session, user)
    session.send(text.signInSuccess(userData: userData, auth: auth))
    log(.signedIn(socketID: session.socketID, userID: user.id))
    let online = user.watchlist.filter { users.isOnline($0) }
    let offline = user.watchlist.filter { !users.isOnline($0) }
    if !user.watchlist.isEmpty {
      session.send(text.watchlist(online: online, offline: offline))
    }
    if isFirst { tellWatchers(of: user.id, text.watchlist(online: [user.id]), except: session) }
  }

  /// Lets go of a connection's user.
  func signOut(_ session: ClientSession) {
    guard let user = session.user else { return }
    session.user = nil
    guard users.remove(session, user) else { return }
    tellWatchers(of: user.id, text.watchlist(offline: [user.id]))
  }

  private func tellWatchers(
    of userID: String, _ message: String, except excluded: ClientSession? = nil
  ) {
    let watchers = users.watchers(of: userID)
    guard !watchers.isEmpty else { return }
    deliver(SharedFrame(message), to: watchers, except: excluded)
  }

  /// Closes all connections of a user; answers how many there were.
  @discardableResult
  package func terminateConnections(userID: String) -> Int {
    let sessions = users.sessions(of: userID)
    for session in sessions { session.terminate() }
    return sessions.count
  }
}
