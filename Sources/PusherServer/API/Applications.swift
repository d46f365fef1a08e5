package import PusherCore

/// The apps of a server, found by key for sockets and by id for API calls.
package final class Applications {
  /// One hub an app.
  package let hubs: [Hub]
  package let limits: ServerLimits
  /// "" or a path that begins with a slash, before `/app` and `/apps`.
  let pathPrefix: String
  let text: MessageText
  let dialect: Dialect
  private var hubsByKey = NameTable<Hub>()
  private var hubsByID = NameTable<Hub>()
  private var random: any RandomNumberGenerator

  /// Apps with distinct ids and keys; of two alike the first counts.
  ///
  /// `random` draws the socket ids.
  package init(
    _ applications: [Application], limits: ServerLimits = ServerLimits(), pathPrefix: String = "",
    service: PusherService = .pusher, dialect: Dialect = .pusher, random: any RandomNumberGenerator
  ) {
    self.limits = limits
    self.pathPrefix = pathPrefix
    self.random = random
    self.dialect = dialect
    text = MessageText(service: service, dialect: dialect)
    hubs = applications.map {
      Hub(application: $0, limits: limits, service: service, dialect: dialect)
    }
    for hub in hubs.reversed() {
      hubsByKey[hub.application.key] = hub
      hubsByID[hub.application.id] = hub
    }
  }

  package func hub(key: String) -> Hub? { hubsByKey[key] }

  package func hub(id: String) -> Hub? { hubsByID[id] }

  /// How many sockets all apps have together.
  package var connectionCount: Int { hubs.reduce(0) { $0 + $1.connectionCount } }

  /// An id that no socket of any app has: two numbers of at most nine digits.
  package func newSocketID() -> String {
    while true {
      let bits = random.next()
      let id = "\((bits >> 32) % 999_999_999 + 1).\((bits & 0xFFFF_FFFF) % 999_999_999 + 1)"
      if !hubs.contains(where: { $0.hasSocket(id) }) { return id }
    }
  }
}
