import PusherCore
import TestSupport
import Testing

private func ipv4(_ last: UInt8) -> SocketAddress {
  SocketAddress(family: .ipv4, octets: [192, 0, 2, last], port: 80)
}

private func ipv6(_ last: UInt8) -> SocketAddress {
  SocketAddress(
    family: .ipv6, octets: [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [last],
    port: 80)
}

private let start = Instant(nanoseconds: 1_000_000_000)

private func after(_ milliseconds: Int) -> Instant {
  start.advanced(by: .milliseconds(milliseconds))
}

/// RFC 8305 section 3: effects of the order and time of DNS answers.
@Suite struct `Happy Eyeballs: answers` {
  private var dialer = Dialer(host: "name", families: SocketAddress.Family.both)

  @Test func `both families are asked for, and nothing is tried before an answer`() {
    var dialer = dialer
    #expect(dialer.openQuestions == [.ipv6, .ipv4])
    #expect(dialer.nextAttempt(at: start) == nil)
    #expect(dialer.deadline == nil)
    #expect(dialer.failure == nil)
    #expect(!dialer.hasAttempted)
  }

  @Test func `IPv6 starts at once, whether or not IPv4 has been answered`() {
    var first = dialer
    first.resolved(.ipv6, [ipv6(1)], at: start)
    #expect(first.nextAttempt(at: start) == ipv6(1))
    #expect(first.hasAttempted)
    var second = dialer
    second.resolved(.ipv4, [ipv4(1)], at: start)
    second.resolved(.ipv6, [ipv6(1)], at: after(49))
    #expect(second.nextAttempt(at: after(49)) == ipv6(1))
  }

  @Test func `IPv4 waits 50 ms for IPv6, and no longer`() {
    var dialer = dialer
    dialer.resolved(.ipv4, [ipv4(1)], at: start)
    #expect(dialer.deadline == after(50))
    #expect(dialer.nextAttempt(at: after(49)) == nil)
    #expect(dialer.nextAttempt(at: after(50)) == ipv4(1))
  }

  @Test func `IPv4 does not wait once IPv6 is known to have nothing`() {
    var empty = dialer
    empty.resolved(.ipv4, [ipv4(1)], at: start)
    empty.resolved(.ipv6, [], at: after(10))
    #expect(empty.nextAttempt(at: after(10)) == ipv4(1))
    var failed = dialer
    failed.resolutionFailed(.ipv6, reason: "refused", at: start)
    failed.resolved(.ipv4, [ipv4(1)], at: after(10))
    #expect(failed.nextAttempt(at: after(10)) == ipv4(1))
  }

  @Test func `late IPv6 addresses come after the attempt that goes on`() {
    var dialer = dialer
    dialer.resolved(.ipv4, [ipv4(1), ipv4(2)], at: start)
    #expect(dialer.nextAttempt(at: after(50)) == ipv4(1))
    dialer.resolved(.ipv6, [ipv6(1)], at: after(60))
    #expect(dialer.nextAttempt(at: after(60)) == nil)
    #expect(dialer.deadline == after(300))
    #expect(dialer.nextAttempt(at: after(300)) == ipv6(1))
    #expect(dialer.nextAttempt(at: after(550)) == ipv4(2))
  }

  @Test func `a failed attempt is no failure while a family is still asked for`() {
    var dialer = dialer
    dialer.resolved(.ipv4, [ipv4(1)], at: start)
    #expect(dialer.nextAttempt(at: after(50)) == ipv4(1))
    dialer.attemptFailed(ipv4(1), reason: "refused")
    #expect(dialer.failure == nil)
    #expect(dialer.deadline == nil)
    dialer.resolved(.ipv6, [ipv6(1)], at: after(400))
    #expect(dialer.nextAttempt(at: after(400)) == ipv6(1))
  }

  @Test func `a second answer of a family changes nothing`() {
    var dialer = dialer
    dialer.resolved(.ipv6, [ipv6(1)], at: start)
    dialer.resolved(.ipv6, [ipv6(2)], at: start)
    #expect(dialer.nextAttempt(at: start) == ipv6(1))
    #expect(dialer.nextAttempt(at: after(250)) == nil)
  }

  @Test(arguments: [true, false])
  func `without an address the error is IPv4's, which every network has`(ipv6First: Bool) {
    var dialer = dialer
    if ipv6First { dialer.resolutionFailed(.ipv6, reason: "six", at: start) }
    dialer.resolutionFailed(.ipv4, reason: "four", at: start)
    if !ipv6First {
      #expect(dialer.failure == nil)
      dialer.resolutionFailed(.ipv6, reason: "six", at: start)
    }
    #expect(dialer.failure == .resolve(host: "name", reason: "four"))
  }

  @Test(arguments: [
    ([SocketAddress.Family.ipv4], SocketAddress.Family.ipv4, "it has no IPv4 address"),
    ([.ipv6], .ipv6, "it has no IPv6 address"),
  ])
  func `one family only is asked for alone and named in the error`(
    families: [SocketAddress.Family], family: SocketAddress.Family, reason: String
  ) {
    var dialer = Dialer(host: "name", families: families)
    #expect(dialer.openQuestions == [family])
    dialer.resolved(family == .ipv4 ? .ipv6 : .ipv4, [ipv4(1)], at: start)
    #expect(dialer.nextAttempt(at: start) == nil)
    dialer.resolved(family, [], at: start)
    #expect(dialer.failure == .resolve(host: "name", reason: reason))
  }
}

/// RFC 8305 sections 4 and 5: order and times of the attempted addresses.
@Suite struct `Happy Eyeballs: attempts` {
  private func dialer(ipv6 six: Int, ipv4 four: Int) -> Dialer {
    var dialer = Dialer(host: "name", families: SocketAddress.Family.both)
    dialer.resolved(.ipv6, (0..<six).map { ipv6(UInt8($0)) }, at: start)
    dialer.resolved(.ipv4, (0..<four).map { ipv4(UInt8($0)) }, at: start)
    return dialer
  }

  @Test func `for every number of addresses the families take turns, each in its own order`() {
    for six in 0...4 {
      for four in 0...4 where six + four > 0 {
        var dialer = dialer(ipv6: six, ipv4: four)
        var tried: [SocketAddress] = []
        for round in 0..<(six + four) {
          let now = after(250 * round)
          #expect(dialer.deadline.map { $0 <= now } == true)
          if let address = dialer.nextAttempt(at: now) { tried.append(address) }
          #expect(dialer.nextAttempt(at: now) == nil)
        }
        var expected: [SocketAddress] = []
        for index in 0..<max(six, four) {
          if index < six { expected.append(ipv6(UInt8(index))) }
          if index < four { expected.append(ipv4(UInt8(index))) }
        }
        #expect(tried == expected)
        #expect(dialer.deadline == nil)
        #expect(dialer.failure == nil)
      }
    }
  }

  @Test func `the next attempt waits 250 ms while one goes on`() {
    var dialer = dialer(ipv6: 1, ipv4: 1)
    #expect(dialer.nextAttempt(at: start) == ipv6(0))
    #expect(dialer.deadline == after(250))
    #expect(dialer.nextAttempt(at: after(249)) == nil)
    #expect(dialer.nextAttempt(at: after(250)) == ipv4(0))
  }

  @Test func `a failure brings the next attempt at once`() {
    var dialer = dialer(ipv6: 1, ipv4: 1)
    #expect(dialer.nextAttempt(at: start) == ipv6(0))
    dialer.attemptFailed(ipv6(0), reason: "no route")
    #expect(dialer.nextAttempt(at: after(1)) == ipv4(0))
  }

  @Test func `the last failure is the error, once nothing goes on`() {
    var dialer = dialer(ipv6: 1, ipv4: 1)
    _ = dialer.nextAttempt(at: start)
    _ = dialer.nextAttempt(at: after(250))
    dialer.attemptFailed(ipv4(0), reason: "refused")
    #expect(dialer.failure == nil)
    dialer.attemptFailed(ipv6(0), reason: "no route")
    #expect(dialer.failure == .connect(address: "[2001:db8::]:80", reason: "no route"))
  }

  @Test func `every order of failures ends with every address tried once`() {
    var generator = SeededGenerator(seed: 8305)
    for _ in 0..<500 {
      let six = Int.random(in: 0...4, using: &generator)
      let four = Int.random(in: 0...4, using: &generator)
      var dialer = dialer(ipv6: six, ipv4: four)
      var running: [SocketAddress] = []
      var tried: Set<SocketAddress> = []
      var now = start
      while dialer.failure == nil {
        while let address = dialer.nextAttempt(at: now) {
          running.append(address)
          #expect(tried.insert(address).inserted)
        }
        let failsNow = Bool.random(using: &generator)
        if failsNow || dialer.deadline == nil,
          let address = running.randomElement(using: &generator)
        {
          running.removeAll { $0 == address }
          dialer.attemptFailed(address, reason: "refused")
        } else if let deadline = dialer.deadline {
          now = max(now, deadline)
        }
      }
      #expect(tried.count == six + four)
    }
  }
}
