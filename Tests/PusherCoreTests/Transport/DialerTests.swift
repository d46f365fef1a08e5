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
struct `Happy Eyeballs: answers` {
  private var dialer = Dialer(host: "name", families: SocketAddress.Family.both)

  @Test mutating func `both families are asked for, and nothing is tried before an answer`() {
    #expect(dialer.openQuestions == [.ipv6, .ipv4])
    #expect(dialer.nextAttempt(at: start) == nil && dialer.deadline == nil)
    #expect(dialer.failure == nil && !dialer.hasAttempted)
  }

  @Test(arguments: [true, false])
  mutating func `IPv6 starts at once, whether or not IPv4 has been answered`(isFirst: Bool) {
    if !isFirst { dialer.resolved(.ipv4, [ipv4(1)], at: start) }
    dialer.resolved(.ipv6, [ipv6(1)], at: after(49))
    #expect(dialer.nextAttempt(at: after(49)) == ipv6(1))
    #expect(dialer.hasAttempted)
  }

  @Test mutating func `IPv4 waits 50 ms for IPv6, and no longer`() {
    dialer.resolved(.ipv4, [ipv4(1)], at: start)
    #expect(dialer.deadline == after(50))
    #expect(dialer.nextAttempt(at: after(49)) == nil)
    #expect(dialer.nextAttempt(at: after(50)) == ipv4(1))
  }

  @Test mutating func `IPv4 does not wait once IPv6 is known to have nothing`() {
    var failed = dialer
    dialer.resolved(.ipv4, [ipv4(1)], at: start)
    dialer.resolved(.ipv6, [], at: after(10))
    #expect(dialer.nextAttempt(at: after(10)) == ipv4(1))
    failed.resolutionFailed(.ipv6, reason: "refused", at: start)
    failed.resolved(.ipv4, [ipv4(1)], at: after(10))
    #expect(failed.nextAttempt(at: after(10)) == ipv4(1))
  }

  @Test mutating func `late IPv6 addresses come after the attempt that goes on`() {
    dialer.resolved(.ipv4, [ipv4(1), ipv4(2)], at: start)
    #expect(dialer.nextAttempt(at: after(50)) == ipv4(1))
    dialer.resolved(.ipv6, [ipv6(1)], at: after(60))
    #expect(dialer.nextAttempt(at: after(60)) == nil)
    #expect(dialer.deadline == after(300))
    #expect(dialer.nextAttempt(at: after(300)) == ipv6(1))
    #expect(dialer.nextAttempt(at: after(550)) == ipv4(2))
  }

  @Test mutating func `a failed attempt is no failure while a family is still asked for`() {
    dialer.resolved(.ipv4, [ipv4(1)], at: start)
    #expect(dialer.nextAttempt(at: after(50)) == ipv4(1))
    dialer.attemptFailed(ipv4(1), reason: "refused")
    #expect(dialer.failure == nil && dialer.deadline == nil)
    dialer.resolved(.ipv6, [ipv6(1)], at: after(400))
    #expect(dialer.nextAttempt(at: after(400)) == ipv6(1))
  }

  @Test mutating func `a second answer of a family changes nothing`() {
    dialer.resolved(.ipv6, [ipv6(1)], at: start)
    dialer.resolved(.ipv6, [ipv6(2)], at: start)
    #expect(dialer.nextAttempt(at: start) == ipv6(1))
    #expect(dialer.nextAttempt(at: after(250)) == nil)
  }

  @Test(arguments: [[SocketAddress.Family.ipv6, .ipv4], [.ipv4, .ipv6]])
  mutating func `without an address the error is IPv4's`(order: [SocketAddress.Family]) {
    for family in order {
      #expect(dialer.failure == nil)
      dialer.resolutionFailed(family, reason: "\(family)", at: start)
    }
    #expect(dialer.failure == .resolve(host: "name", reason: "ipv4"))
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
struct `Happy Eyeballs: attempts` {
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
        let expected = (0..<UInt8(max(six, four))).flatMap { index in
          (index < six ? [ipv6(index)] : []) + (index < four ? [ipv4(index)] : [])
        }
        #expect(tried == expected)
        #expect(dialer.deadline == nil && dialer.failure == nil)
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
      let (six, four) = (generator.below(5), generator.below(5))
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
