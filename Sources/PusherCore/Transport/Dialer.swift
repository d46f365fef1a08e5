/// Which kinds of address a connection may use.
package enum AddressFamilies: Sendable, Equatable {
  case any
  case ipv4Only
  case ipv6Only

  /// The families to ask a name for, the preferred one first (RFC 8305 section 4).
  var preference: [SocketAddress.Family] {
    switch self {
    case .any: [.ipv6, .ipv4]
    case .ipv4Only: [.ipv4]
    case .ipv6Only: [.ipv6]
    }
  }
}

/// Decides which of a name's addresses is tried when: Happy Eyeballs version 2 (RFC 8305).
///
/// Both families are asked for at once. IPv6 goes first if its addresses come within ``resolutionDelay`` of the others
/// (section 3), the families take turns (section 4), and the next attempt starts when one has failed, or when one has
/// taken ``attemptDelay`` and still goes on (section 5). The owner looks up, connects, and reports the results.
package struct Dialer {
  /// How long addresses of the second choice wait for those of the first (RFC 8305 section 8).
  package static let resolutionDelay = Duration.milliseconds(50)
  /// How long an attempt goes on alone (RFC 8305 section 8).
  package static let attemptDelay = Duration.milliseconds(250)

  private let host: String
  private let preference: [SocketAddress.Family]
  /// The families whose answer has not come.
  private var open: [SocketAddress.Family]
  private var waiting: [SocketAddress] = []
  private var lastFamily: SocketAddress.Family?
  private var running = 0
  /// When the next attempt may start; before any answer there is nothing to start.
  private var nextStart = LoopInterest.immediately
  private var lastFailure: (address: SocketAddress, reason: String)?
  private var unresolved: String?

  /// - Parameters:
  ///   - host: The name, for the error.
  ///   - families: Those that are asked for; each has to be answered once.
  package init(host: String, families: AddressFamilies) {
    self.host = host
    preference = families.preference
    open = families.preference
  }

  /// The families that are still asked for.
  package var openQuestions: [SocketAddress.Family] { open }

  /// Whether an attempt was ever made.
  package private(set) var hasAttempted = false

  /// Takes a family's answer; no address at all is an answer too.
  package mutating func resolved(
    _ family: SocketAddress.Family, _ addresses: [SocketAddress], at now: Instant
  ) {
    guard let index = open.firstIndex(of: family) else { return }
    open.remove(at: index)
    waiting += addresses
    guard !hasAttempted else { return }
    let isPreferred = family == preference.first
    if isPreferred || open.isEmpty {
      // Nothing better can come, also when the preferred family has no address.
      nextStart = LoopInterest.immediately
    } else if !addresses.isEmpty {
      nextStart = now.advanced(by: Self.resolutionDelay)
    }
  }

  /// Takes note that a family cannot be asked for.
  package mutating func resolutionFailed(
    _ family: SocketAddress.Family, reason: String, at now: Instant
  ) {
    // IPv6 may fail because there is no IPv6 network, so its error says less about the name.
    if unresolved == nil || family == preference.last { unresolved = reason }
    resolved(family, [], at: now)
  }

  /// The address to try now; ask until it answers `nil`.
  package mutating func nextAttempt(at now: Instant) -> SocketAddress? {
    guard !waiting.isEmpty, nextStart <= now else { return nil }
    let turn = lastFamily.map { last in preference.first { $0 != last } ?? last } ?? preference[0]
    let address = waiting.remove(at: waiting.firstIndex { $0.family == turn } ?? 0)
    lastFamily = address.family
    hasAttempted = true
    running += 1
    nextStart = now.advanced(by: Self.attemptDelay)
    return address
  }

  /// Takes note that an attempt has failed; the next one may start at once.
  package mutating func attemptFailed(_ address: SocketAddress, reason: String) {
    running -= 1
    nextStart = LoopInterest.immediately
    lastFailure = (address, reason)
  }

  /// When to ask for the next attempt; `nil` while there is none to make.
  package var deadline: Instant? { waiting.isEmpty ? nil : nextStart }

  /// Why there is no connection, once nothing is left to try or to wait for.
  package var failure: TransportError? {
    guard running == 0 && waiting.isEmpty && open.isEmpty else { return nil }
    if let lastFailure {
      return .connect(address: lastFailure.address.description, reason: lastFailure.reason)
    }
    return .resolve(host: host, reason: unresolved ?? missing)
  }

  private var missing: String {
    switch preference {
    case [.ipv4]: "it has no IPv4 address"
    case [.ipv6]: "it has no IPv6 address"
    default: "it has no address"
    }
  }
}
