/// Decides which of a name's addresses is tried when: a small form of Happy Eyeballs (RFC 8305 section 5).
///
/// Addresses are tried in the resolver's order; the next one starts when one has failed, or when an attempt has taken
/// ``attemptDelay`` and still goes on. The owner makes the attempts and tells how they end.
package struct Dialer {
  /// What RFC 8305 section 8 recommends.
  package static let attemptDelay = Duration.milliseconds(250)

  private var waiting: ArraySlice<SocketAddress>
  private var running = 0
  private var nextStart = LoopInterest.immediately
  private var lastFailure: (address: SocketAddress, reason: String)?

  package init(addresses: [SocketAddress]) {
    waiting = addresses[...]
  }

  /// The address to try now; ask until it answers `nil`.
  package mutating func nextAttempt(at now: Instant) -> SocketAddress? {
    guard nextStart <= now, let address = waiting.popFirst() else { return nil }
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

  /// When to ask for the next attempt; `nil` when there is none left.
  package var deadline: Instant? { waiting.isEmpty ? nil : nextStart }

  /// The error of the last attempt, once all have failed.
  package var failure: TransportError? {
    guard running == 0 && waiting.isEmpty, let lastFailure else { return nil }
    return .connect(address: lastFailure.address.description, reason: lastFailure.reason)
  }
}
