internal import PusherCore

package struct SignedInUser: Sendable, Equatable {
  let member: Member
  package let watchlist: [String]

  package init(member: Member, watchlist: [String]) {
    (self.member, self.watchlist) = (member, watchlist)
  }

  package var id: String { member.userID }
}

/// The signed text of a sign-in; the answer repeats both parts.
package struct SignInProof: Sendable {
  let auth: String
  let userData: String

  package init(auth: String, userData: String) { (self.auth, self.userData) = (auth, userData) }
}

struct SignedInUsers {
  private typealias Sessions = [ObjectIdentifier: any HubSession]

  private var sessions = NameTable<Sessions>()
  private var watchers = NameTable<Sessions>()

  func sessions(of userID: String) -> [any HubSession] {
    sessions[userID].map { Array($0.values) } ?? []
  }

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
