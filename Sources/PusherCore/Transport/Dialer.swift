package enum AddressFamilies: Sendable, Equatable {
  case any
  case ipv4Only
  case ipv6Only

  /// Families to look up, in order of preference (RFC 8305 section 4).
  var preference: [SocketAddress.Family] {
    switch self {
    case .any: [.ipv6, .ipv4]
    case .ipv4Only: [.ipv4]
    case .ipv6Only: [.ipv6]
    }
  }
}

/// Decides the order and times of connection attempts: Happy Eyeballs version 2 (RFC 8305).
///
/// Both families are looked up at once. IPv6 goes first if its addresses come within
/// ``resolutionDelay`` of the others (section 3). The families then alternate (section 4). The next
/// attempt starts when one has failed or has taken ``attemptDelay`` (section 5). The owner looks
/// up, connects, and reports the results.
package struct Dialer {
  /// Wait of the second family for the first (RFC 8305 section 8).
  package static let resolutionDelay = Duration.milliseconds(50)
  /// Time before the next attempt starts beside this one (RFC 8305 section 8).
  package static let attemptDelay = Duration.milliseconds(250)
  private let host: String
  private let preference: [SocketAddress.Family]
  private var open: [SocketAddress.Family]
  private var waiting: [SocketAddress] = []
  private var lastFamily: SocketAddress.Family?
  private var running = 0
  private var nextStart = LoopInterest.immediately
  private var lastFailure: (address: SocketAddress, reason: String)?
  private var unresolved: String?

  package init(host: String, families: AddressFamilies) {
    self.host = host
    preference = families.preference
    open = families.preference
  }

  package var openQuestions: [SocketAddress.Family] { open }

  package private(set) var hasAttempted = false

  /// Takes a family's addresses, which may be none.
  package mutating func resolved(
    _ family: SocketAddress.Family, _ addresses: [SocketAddress], at now: Instant
  ) {
    guard let index = open.firstIndex(of: family) else { return }
    open.remove(at: index)
    waiting += addresses
    guard !hasAttempted else { return }
    let isPreferred = family == preference.first
    if isPreferred || open.isEmpty {
      nextStart = LoopInterest.immediately
    } else if !addresses.isEmpty {
      nextStart = now.advanced(by: Self.resolutionDelay)
    }
  }

  package mutating func resolutionFailed(
    _ family: SocketAddress.Family, reason: String, at now: Instant
  ) {
    // IPv6 may fail for lack of an IPv6 network, so its error says less about the name.
    if unresolved == nil || family == preference.last { unresolved = reason }
    resolved(family, [], at: now)
  }

  /// Returns the address to try now; call it until it returns `nil`.
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

  /// Records a failed attempt; the next one may start at once.
  package mutating func attemptFailed(_ address: SocketAddress, reason: String) {
    running -= 1
    nextStart = LoopInterest.immediately
    lastFailure = (address, reason)
  }

  /// Time to ask for the next attempt; `nil` without waiting addresses.
  package var deadline: Instant? { waiting.isEmpty ? nil : nextStart }

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
