import PusherServer
import TestSupport
import Testing

@testable import PusherCore

/// The library on a server with Reverb's rate limit.
@Suite(.ownThread, .timeLimit(.minutes(10))) struct `A rate limit on a client's messages` {
  @Test func `more channels than the limit are all subscribed, and none refused`() async throws {
    let service = try LocalService {
      $0.dialect = .reverb
      $0.limits = Dialect.reverb.limits
      var limit = MessageRateLimit()
      limit.messages = 20
      limit.window = .seconds(1)
      $0.limits.messageRate = limit
    }
    let names = (1...70).map { "c\($0)" }
    let pusher = service.pusher()
    let delegate = RecordingDelegate(of: pusher)
    for name in names { pusher.subscribe(name) }
    pusher.connect()
    _ = try await delegate.subscribed.wait(for: names.count)
    #expect(Set(delegate.subscribed.values) == Set(names))
    #expect(pusher.subscribedChannels.count == names.count)
    #expect(delegate.failed.values.isEmpty)
    #expect(delegate.connected.values.count == 1)
    #expect(delegate.logged.values.contains { $0.contains("50 requests wait; retrying in 1 s") })
    #expect(delegate.logged.values.contains { $0.contains("sending 17 in 1 s") })
  }
}
