import PusherCore
import Testing

@Suite struct ResolverTests {
  private func resolve(_ host: String) throws -> Resolver.Answer? {
    let harness = try LoopHarness()
    var answer: Resolver.Answer?
    _ = harness.loop.resolver.resolve(host, port: 80) {
      answer = $0
      harness.loop.stop()
    }
    #expect(answer == nil)
    #expect(harness.run())
    return answer
  }

  @Test(arguments: [
    ("127.0.0.1", "127.0.0.1:443"), ("::1", "[::1]:443"),
    ("2001:db8:0:0:1:0:0:1", "[2001:db8::1:0:0:1]:443"),
    ("::", "[::]:443"), ("fe80::", "[fe80::]:443"), ("1:2:3:4:5:6:7:8", "[1:2:3:4:5:6:7:8]:443"),
    ("1:0:3:4:5:6:7:8", "[1:0:3:4:5:6:7:8]:443"),
  ])
  func `an address needs no question, and is written as RFC 5952 says`(host: String, text: String) {
    #expect(Resolver.literal(host, port: 443)?.description == text)
  }

  @Test func `a name is no address`() {
    #expect(Resolver.literal("localhost", port: 443) == nil)
    #expect(Resolver.literal("", port: 443) == nil)
  }

  @Test func `localhost is the loopback address`() throws {
    let addresses = try resolve("localhost")?.get() ?? []
    #expect(!addresses.isEmpty)
    for address in addresses { #expect(["127.0.0.1", "::1"].contains(address.host)) }
  }

  @Test(arguments: ["", "no such host", "a..b"])
  func `what is no name is an error that names it`(host: String) throws {
    guard case .failure(.resolve(let named, let reason)) = try resolve(host) else {
      Issue.record("resolved")
      return
    }
    #expect(named == host)
    #expect(!reason.isEmpty)
  }

  @Test func `a cancelled question is not answered`() throws {
    let harness = try LoopHarness()
    let ticket = harness.loop.resolver.resolve("localhost", port: 1) { _ in
      Issue.record("answered")
    }
    harness.loop.resolver.cancel(ticket)
    _ = harness.loop.resolver.resolve("localhost", port: 2) { _ in harness.loop.stop() }
    #expect(harness.run())
  }
}

/// Which address is tried when: RFC 8305 section 5.
@Suite struct DialerTests {
  private let addresses = (1...3).map {
    SocketAddress(family: .ipv4, octets: [192, 0, 2, $0], port: 80)
  }
  private let start = Instant(nanoseconds: 0)

  @Test func `the next address waits its turn while an attempt goes on`() {
    var dialer = Dialer(addresses: addresses)
    #expect(dialer.nextAttempt(at: start) == addresses[0])
    #expect(dialer.nextAttempt(at: start) == nil)
    #expect(dialer.deadline == start.advanced(by: Dialer.attemptDelay))
    #expect(dialer.nextAttempt(at: start.advanced(by: Dialer.attemptDelay)) == addresses[1])
    #expect(dialer.nextAttempt(at: start.advanced(by: Dialer.attemptDelay)) == nil)
  }

  @Test func `a failure brings the next address at once, and the last failure is the error`() {
    var dialer = Dialer(addresses: addresses)
    for (index, address) in addresses.enumerated() {
      #expect(dialer.nextAttempt(at: start) == address)
      #expect(dialer.failure == nil)
      dialer.attemptFailed(address, reason: "reason \(index)")
    }
    #expect(dialer.nextAttempt(at: start) == nil)
    #expect(dialer.deadline == nil)
    #expect(dialer.failure == .connect(address: "192.0.2.3:80", reason: "reason 2"))
  }

  @Test func `there is no failure while an attempt goes on`() {
    var dialer = Dialer(addresses: Array(addresses.prefix(2)))
    _ = dialer.nextAttempt(at: start)
    _ = dialer.nextAttempt(at: start.advanced(by: Dialer.attemptDelay))
    dialer.attemptFailed(addresses[1], reason: "refused")
    #expect(dialer.failure == nil)
    dialer.attemptFailed(addresses[0], reason: "no route")
    #expect(dialer.failure == .connect(address: "192.0.2.1:80", reason: "no route"))
  }
}
