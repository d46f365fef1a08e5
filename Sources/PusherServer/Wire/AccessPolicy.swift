package import PusherCore

/// Who may speak to the server at all, before any path, key or signature is looked at.
package struct AccessPolicy: Sendable, Equatable {
  package var origins = OriginPolicy()
  package var hosts = HostPolicy()

  /// What a request is refused for, as it was written.
  package enum Refusal: Sendable, Hashable, CustomStringConvertible {
    case origin(String)
    case host(String)

    package var description: String {
      switch self {
      case .origin(let text): "a page of '\(Self.cut(text))'"
      case .host(let text): "a request for host '\(Self.cut(text))'"
      }
    }

    /// The beginning of a text of any length.
    private static func cut(_ text: String) -> String {
      text.utf8.count > 100 ? String(decoding: text.utf8.prefix(100), as: UTF8.self) + "…" : text
    }

    /// What the one who asked is told.
    var answer: HTTPAnswer {
      switch self {
      case .origin: .refusal(403, "pages of this origin may not speak to this server")
      case .host: .refusal(403, "this server is not to be asked for by this host name")
      }
    }
  }

  package init() {}

  /// Why a request is refused; `nil` when it may be looked at.
  ///
  /// Of several fields of a name each must be allowed, and so must the name in a target that is a whole URL.
  package func refusal(_ head: HTTPRequestHead) -> Refusal? {
    if let origin = head.headers.all("Origin").first(where: { !origins.allows($0) }) {
      return .origin(origin)
    }
    let named = RequestTarget.authority(of: head.target).map { [$0] } ?? []
    return (named + head.headers.all("Host")).first { !hosts.allows($0) }.map { .host($0) }
  }
}

/// Tells refusals without letting those who are refused fill the log: each origin and host once, and only so many.
package struct RefusalReport {
  package enum Telling: Equatable {
    case tell
    /// This one is told, and that no further ones will be.
    case tellLast
    case silence
  }

  /// How many are told.
  package static let limit = 20

  private var told: Set<AccessPolicy.Refusal> = []

  package init() {}

  /// Notes a refusal, and says whether it is told.
  package mutating func note(_ refusal: AccessPolicy.Refusal) -> Telling {
    guard told.count < Self.limit, told.insert(refusal).inserted else { return .silence }
    return told.count == Self.limit ? .tellLast : .tell
  }
}
