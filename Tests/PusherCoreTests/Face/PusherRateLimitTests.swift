import PusherServer
import TestSupport
import Testing

@testable import PusherCore

/// The library on a server with Reverb's rate limit.
@Suite(.ownThread, .timeLimit(.minutes(10))) struct `A rate limit on a client's messages` {
  private static func service(_ messages: Int, ends: Bool = false) throws -> LocalService {
    try LocalService {
      $0.dialect = .reverb
      $0.limits = Dialect.reverb.limits
      var limit = MessageRateLimit()
      limit.messages = messages
      limit.window = .seconds(1)
      limit.endsConnection = ends
      $0.limits.messageRate = limit
    }
  }

  private static func client(
    _ service: LocalService, _ names: [String]
  ) -> (Pusher, RecordingDelegate) {
    let pusher = service.pusher()
    let delegate = RecordingDelegate(of: pusher)
    for name in names { pusher.subscribe(name) }
    pusher.connect()
    return (pusher, delegate)
  }

  @Test func `more channels than it takes at once are all subscribed, and none is refused`()
    async throws
  {
    let service = try Self.service(20)
    let names = (1...70).map { "c\($0)" }
    let (pusher, delegate) = Self.client(service, names)
    _ = try await delegate.subscribed.wait(for: names.count)
    #expect(Set(delegate.subscribed.values) == Set(names))
    #expect(delegate.failed.values.isEmpty)
    #expect(delegate.connected.values.count == 1)
    #expect(delegate.logged.values.contains { $0.contains("50 requests wait; retrying in 1 s") })
    #expect(delegate.logged.values.contains { $0.contains("sending 17 in 1 s") })
    withExtendedLifetime(pusher) {}
  }

  @Test func `one that ends the connection gets them in bursts, over few connections`()
    async throws
  {
    let service = try Self.service(20, ends: true)
    let names = (1...30).map { "c\($0)" }
    let (pusher, delegate) = Self.client(service, names)
    // Each connection starts over, so the last has all channels.
    _ = try await delegate.subscribed.wait { Set($0.suffix(names.count)) == Set(names) }
    #expect(delegate.failed.values.isEmpty)
    #expect(delegate.connected.values.count <= 3)
    #expect(delegate.logged.values.contains { $0.contains("sending 15 in 10 s") })
    withExtendedLifetime(pusher) {}
  }
}
