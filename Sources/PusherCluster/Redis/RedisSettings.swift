internal import PusherCore

/// Host and port of a server; an IPv6 address has no brackets.
package struct RedisEndpoint: Sendable, Equatable, CustomStringConvertible {
  package var host: String
  package var port: UInt16

  package init(host: String, port: UInt16) { (self.host, self.port) = (host, port) }

  /// `host:port`, with an IPv6 address in brackets.
  package var description: String {
    host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
  }
}

/// A password that no text shows.
package struct RedisPassword: Sendable, CustomStringConvertible, CustomReflectable {
  let text: String

  package init(_ text: String) { self.text = text }

  package var description: String { "<password>" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

extension RedisPassword: Equatable {
  /// Compares in constant time.
  package static func == (left: RedisPassword, right: RedisPassword) -> Bool {
    Digest.equalInConstantTime(Array(left.text.utf8), Array(right.text.utf8))
  }
}

/// Place, credentials and database of a Redis.
package struct RedisSettings: Sendable, Equatable {
  /// The server, or the Sentinels if ``primaryName`` is set.
  package var endpoints: [RedisEndpoint]
  /// True if every connection uses TLS.
  package var isSecure: Bool
  /// The user of an access control list; `nil` for the default user.
  package var user: String?
  package var password: RedisPassword?
  package var database: Int
  /// The name under which Sentinels watch the primary; `nil` without Sentinel.
  package var primaryName: String?

  package init(
    endpoints: [RedisEndpoint], isSecure: Bool = false, user: String? = nil,
    password: RedisPassword? = nil, database: Int = 0, primaryName: String? = nil
  ) {
    (self.endpoints, self.isSecure, self.user) = (endpoints, isSecure, user)
    (self.password, self.database, self.primaryName) = (password, database, primaryName)
  }
}

extension RedisSettings: CustomStringConvertible, CustomReflectable {
  /// The URL without user and password.
  package var description: String {
    let scheme = isSecure ? "rediss" : "redis"
    let places = endpoints.map(\.description).joined(separator: ",")
    guard let primaryName else { return "\(scheme)://\(places)/\(database)" }
    let name = PercentEncoding.encode(primaryName)
    return "\(scheme)+sentinel://\(places)/\(name)/\(database)"
  }

  package var customMirror: Mirror { Mirror(self, children: []) }
}
