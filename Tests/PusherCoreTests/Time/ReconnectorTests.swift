import TestSupport
import Testing

@testable import PusherCore

/// Times of reconnect attempts.
@Suite struct ReconnectorTests {
  private var random: any RandomNumberGenerator = SeededGenerator(seed: 7)

  /// Returns the delay before the next attempt, or `nil` for none.
  private mutating func wait(
    _ reconnector: inout Reconnector, _ wanted: ReconnectDecision = .atOnce
  ) -> Duration? {
    let verdict = reconnector.lost(wanted, retryAfter: nil, random: &random)
    guard case .retry(let delay) = verdict else { return nil }
    return delay
  }

  @Test mutating func `a stable connection is made anew at once, and once only`() throws {
    var reconnector = Reconnector(ReconnectPolicy(mode: .always))
    #expect(try #require(wait(&reconnector)) >= .seconds(1))
    reconnector.noteStable()
    #expect(wait(&reconnector) == .zero)
    let next = try #require(wait(&reconnector))
    #expect(next >= .seconds(1) && next <= .seconds(2))
    #expect(reconnector.attempts == 2)
  }

  @Test mutating func `a server that asks for a wait gets it, however stable the connection was`()
    throws
  {
    var reconnector = Reconnector(ReconnectPolicy(mode: .always))
    reconnector.noteStable()
    let first = try #require(wait(&reconnector, .backOff))
    #expect(first >= .seconds(1) && first <= .seconds(2))
  }

  @Test mutating func `the attempt at once counts as an attempt`() {
    var reconnector = Reconnector(ReconnectPolicy(mode: .always, maximumAttempts: 1))
    reconnector.noteStable()
    #expect(wait(&reconnector) == .zero)
    #expect(wait(&reconnector) == nil)
  }

  @Test mutating func `a request that the server asks for again waits, and only before the first`()
    throws
  {
    var policy = ReconnectPolicy(mode: .never)
    var reconnector = Reconnector(policy)
    #expect(wait(&reconnector, .asked) == nil)
    policy.retriesWhenAsked = true
    reconnector = Reconnector(policy)
    #expect(wait(&reconnector, .backOff) == nil)
    #expect(try #require(wait(&reconnector, .asked)) >= .seconds(1))
    reconnector.noteOpen()
    #expect(wait(&reconnector, .asked) == nil)
  }

  @Test mutating func `a stream waits as long as it has asked for, stable or not`() {
    var reconnector = Reconnector(ReconnectPolicy(mode: .always), namedWait: .seconds(3))
    #expect(wait(&reconnector, .backOff) == .seconds(3))
    reconnector.noteStable()
    #expect(wait(&reconnector, .backOff) == .seconds(3))
  }
}
