package import PusherCore

/// A password that no text shows.
package struct RedisPassword: Sendable, CustomStringConvertible, CustomReflectable {
  let text: String

  package init(_ text: String) { self.text = text }

  package var description: String { "<password>" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

extension RedisPassword: Equatable {
  package static func == (left: RedisPassword, right: RedisPassword) -> Bool {
    Digest.equalInConstantTime(Array(left.text.utf8), Array(right.text.utf8))
  }
}

/// Place, credentials and database of a Redis.
package struct RedisSettings: Sendable, Equatable {
  /// The server, or the Sentinels if ``primaryName`` is set.
  package var endpoints: [Route]
  package var isSecure: Bool
  /// The user of an access control list; `nil` for the default user.
  package var user: String?
  package var password: RedisPassword?
  package var database: Int
  /// The name under which Sentinels watch the primary; `nil` without Sentinel.
  package var primaryName: String?

  package init(
    endpoints: [Route], isSecure: Bool = false, user: String? = nil,
    password: RedisPassword? = nil, database: Int = 0, primaryName: String? = nil
  ) {
    (self.endpoints, self.isSecure, self.user) = (endpoints, isSecure, user)
    (self.password, self.database, self.primaryName) = (password, database, primaryName)
  }
}

extension RedisSettings: CustomStringConvertible, CustomReflectable {
  package var description: String {
    let scheme = isSecure ? "rediss" : "redis"
    let places = endpoints.map(\.description).joined(separator: ",")
    guard let primaryName else { return "\(scheme)://\(places)/\(database)" }
    let name = PercentEncoding.encode(primaryName)
    return "\(scheme)+sentinel://\(places)/\(name)/\(database)"
  }

  package var customMirror: Mirror { Mirror(self, children: []) }
}

extension RedisSettings {
  /// Parses `redis://[user:password@]host[:port][/database]`, with `rediss` for TLS.
  ///
  /// `redis+sentinel://` and `rediss+sentinel://` take several places with commas between them.
  /// Their path is the name of the primary and, optionally, the database:
  /// `redis+sentinel://a:26379,b:26379/mymaster/0`. Without a user the password belongs to the
  /// default user: `redis://:password@host`. User, password and name are percent-encoded. The
  /// default port is 6379, or 26379 for a Sentinel. An error repeats no part of the URL except the
  /// scheme.
  package init(parsing text: String) throws(ExplainedError) {
    guard text.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }) else {
      throw ExplainedError(
        "percent-encode blanks, control characters and characters beyond ASCII")
    }
    guard let mark = text.range(ofBytes: "://") else {
      throw ExplainedError("it does not begin with redis:// or rediss://")
    }
    let rest = text[mark.upperBound...]
    let (isSecure, hasSentinels) = try Self.scheme(text[..<mark.lowerBound].lowercased())
    guard !rest.utf8.contains(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) else {
      throw ExplainedError("it has a '?' or a '#': percent-encode them in a password")
    }
    let slash = rest.utf8.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
    let authority = rest[..<slash]
    let at = authority.utf8.lastIndex(of: UInt8(ascii: "@"))
    let places = at.map { authority[authority.utf8.index(after: $0)...] } ?? authority
    let parts = rest[slash...].utf8.dropFirst().split(
      separator: UInt8(ascii: "/"), omittingEmptySubsequences: false
    ).map { String($0) ?? "" }
    self.init(endpoints: [], isSecure: isSecure)
    if let at { try readUser(authority[..<at]) }
    if hasSentinels {
      try readPlaces(places, port: 26_379)
      try readSentinelPath(parts)
    } else {
      guard !places.utf8.contains(UInt8(ascii: ",")) else {
        throw ExplainedError("several hosts need the scheme redis+sentinel")
      }
      try readPlaces(places, port: 6379)
      try readDatabase(parts)
    }
  }

  private static func scheme(
    _ name: String
  ) throws(ExplainedError) -> (isSecure: Bool, hasSentinels: Bool) {
    switch name {
    case "redis": return (false, false)
    case "rediss": return (true, false)
    case "redis+sentinel": return (false, true)
    case "rediss+sentinel": return (true, true)
    default:
      throw ExplainedError("its scheme is not redis, rediss, redis+sentinel or rediss+sentinel")
    }
  }

  private mutating func readUser(_ text: Substring) throws(ExplainedError) {
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
      throw ExplainedError(
        "there is no ':' before the '@': write user:password@, or :password@ for the default user")
    }
    let user = try Self.decoded(text[..<colon], "the user")
    let password = try Self.decoded(text[text.utf8.index(after: colon)...], "the password")
    guard !password.isEmpty else {
      guard user.isEmpty else { throw ExplainedError("the user has no password") }
      return
    }
    self.user = user.isEmpty ? nil : user
    self.password = RedisPassword(password)
  }

  private static func decoded(_ text: Substring, _ what: String) throws(ExplainedError) -> String {
    guard let decoded = PercentEncoding.decode(String(text)) else {
      throw ExplainedError("\(what) has a '%' without two hex digits, or is not UTF-8")
    }
    return decoded
  }

  private mutating func readPlaces(_ text: Substring, port: UInt16) throws(ExplainedError) {
    let places = text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
    guard places.count <= Self.sentinelLimit else {
      throw ExplainedError("it has more than \(Self.sentinelLimit) hosts")
    }
    for place in places {
      do throws(HTTPError) {
        let (host, given) = try HTTPURL.hostAndPort(Substring(place))
        endpoints.append(Route(host: host, port: given.map { UInt16($0) } ?? port))
      } catch {
        guard case .invalidURL(let reason) = error else {
          throw ExplainedError("an address is neither host nor host:port")
        }
        throw ExplainedError(reason)
      }
    }
  }

  /// Maximum number of Sentinels in a URL.
  static let sentinelLimit = 64

  private mutating func readSentinelPath(_ parts: [String]) throws(ExplainedError) {
    guard let first = parts.first, !first.isEmpty else {
      throw ExplainedError("the name of the primary is missing: write it as the path, /mymaster")
    }
    let name = try Self.decoded(first[...], "the name of the primary")
    guard name.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }) else {
      throw ExplainedError("the name of the primary has a blank or a character beyond ASCII")
    }
    primaryName = name
    try readDatabase(Array(parts.dropFirst()))
  }

  private mutating func readDatabase(_ parts: [String]) throws(ExplainedError) {
    guard parts.count <= 1 else { throw ExplainedError("its path has too many parts") }
    guard let digits = parts.first, !digits.isEmpty else { return }
    guard digits.utf8.count <= 10, digits.utf8.allSatisfy({ $0 &- 0x30 < 10 }),
      let number = Int32(digits)
    else { throw ExplainedError("the database must be a number, 0 or higher") }
    database = Int(number)
  }
}
