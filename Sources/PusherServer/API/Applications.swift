internal import PusherCore

/// Apps of a server; sockets find their app by key, API calls by ID.
package final class Applications {
  package private(set) var hubs: [Hub] = []
  /// Hubs of removed apps that still have sockets.
  private(set) var leaving: [Hub] = []
  var all: [Hub] { leaving.isEmpty ? hubs : hubs + leaving }
  package let limits: ServerLimits
  let text: MessageText
  package let dialect: Dialect
  private var hubsByKey = NameTable<Hub>()
  private var hubsByID = NameTable<Hub>()
  private var random: any RandomNumberGenerator

  package init(
    limits: ServerLimits, dialect: Dialect, text: MessageText, random: any RandomNumberGenerator
  ) { (self.limits, self.dialect, self.text, self.random) = (limits, dialect, text, random) }

  /// Replaces the apps and returns the hubs of removed apps; apps that stay keep their hub.
  @discardableResult
  package func renew(_ setups: [AppSetup], in cluster: (any Cluster)? = nil) -> [Hub] {
    let former = hubs
    hubs = setups.map { setup in
      guard let hub = former.first(where: { $0.application.id.isSame(as: setup.application.id) })
      else { return Hub(setup, member: cluster?.place(for: setup)) }
      hub.adopt(setup)
      return hub
    }
    let gone = former.filter { hub in !hubs.contains { $0 === hub } }
    leaving += gone
    (hubsByKey, hubsByID) = (NameTable(), NameTable())
    for hub in hubs.reversed() {
      hubsByKey[hub.application.key] = hub
      hubsByID[hub.application.id] = hub
    }
    return gone
  }

  /// Removes and returns the hubs of removed apps that have no sockets left.
  func forgetUnusedApps() -> [Hub] {
    let deserted = leaving.filter(\.isDeserted)
    guard !deserted.isEmpty else { return [] }
    leaving.removeAll { hub in deserted.contains { $0 === hub } }
    return deserted
  }

  package func hub(key: String) -> Hub? { hubsByKey[key] }
  package func hub(id: String) -> Hub? { hubsByID[id] }
  package var connectionCount: Int { hubs.reduce(0) { $0 + $1.member.ownConnectionCount } }

  /// Returns a name for one life of an app's streams.
  package func newStreamLife() -> String { String(random.next(), radix: 36) }

  /// Returns a socket ID that no app uses: two numbers of at most nine digits.
  package func newSocketID() -> String {
    while true {
      let bits = random.next()
      let id = "\((bits >> 32) % 999_999_999 + 1).\((bits & 0xFFFF_FFFF) % 999_999_999 + 1)"
      if !hubs.contains(where: { $0.hasSocket(id) }) { return id }
    }
  }
}
