import PusherCore
import Testing

struct ResolverTests {
  private func resolve(
    _ host: String, family: SocketAddress.Family? = nil
  ) throws -> Resolver.Answer? {
    let harness = try LoopHarness()
    var answer: Resolver.Answer?
    _ = harness.loop.resolver.resolve(host, port: 80, family: family) {
      answer = $0
      harness.loop.stop()
    }
    #expect(answer == nil)
    #expect(harness.run())
    return answer
  }

  @Test(
    arguments: [
      ("127.0.0.1", "127.0.0.1:443"), ("::1", "[::1]:443"),
      ("2001:db8:0:0:1:0:0:1", "[2001:db8::1:0:0:1]:443"),
      ("::", "[::]:443"), ("fe80::", "[fe80::]:443"), ("1:2:3:4:5:6:7:8", "[1:2:3:4:5:6:7:8]:443"),
      ("1:0:3:4:5:6:7:8", "[1:0:3:4:5:6:7:8]:443"), ("localhost", nil), ("", nil),
    ] as [(String, String?)])
  func `an address needs no question and is written as RFC 5952 says`(host: String, text: String?) {
    #expect(Resolver.literal(host, port: 443)?.description == text)
  }

  @Test(arguments: ["localhost", "LocalHost.", "app.localhost", "a.b.localhost"])
  func `a name of this machine needs no name server (RFC 6761)`(host: String) throws {
    let addresses = try resolve(host)?.get()
    #expect(addresses?.map(\.description) == ["[::1]:80", "127.0.0.1:80"])
  }

  @Test(arguments: ["", "no such host", "a..b", "a..localhost"])
  func `text that is no host name is an error that names it`(host: String) throws {
    guard case .failure(.resolve(let named, let reason)) = try resolve(host) else {
      return unexpected("resolved")
    }
    #expect(named == host && !reason.isEmpty)
  }

  @Test(arguments: [SocketAddress.Family.ipv4, .ipv6])
  func `a question for one family is answered by that family`(family: SocketAddress.Family) throws {
    #expect(try resolve("localhost", family: family)?.get().map(\.family) == [family])
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
