import PusherCore
import PusherServer
import Testing

/// Pusher's page "Webhooks": departures are told late, and not at all when the client comes back.
@Suite struct DelayedNoticesTests {
  private static let start = Instant(nanoseconds: 0)

  private static func after(_ duration: Duration) -> Instant { start.advanced(by: duration) }

  @Test func `arrivals, client events, misses and counts are told at once`() {
    var notices = DelayedNotices(delay: .seconds(3))
    let prompt: [WebhookNotice] = [
      .channelOccupied(channel: "a"), .memberAdded(channel: "presence-a", userID: "1"),
      .cacheMiss(channel: "cache-a"), .subscriptionCount(channel: "a", count: 2),
      .clientEvent(
        channel: "private-a", name: "client-x", data: nil, socketID: "1.1", userID: nil),
    ]
    for notice in prompt { #expect(notices.take(notice, at: Self.start) == notice) }
    #expect(notices.deadline == nil)
  }

  @Test func `a departure is told after the delay and not before`() {
    var notices = DelayedNotices(delay: .seconds(3))
    let gone = WebhookNotice.memberRemoved(channel: "presence-a", userID: "1")
    let vacated = WebhookNotice.channelVacated(channel: "presence-a")
    #expect(notices.take(gone, at: Self.start) == nil)
    #expect(notices.take(vacated, at: Self.after(.seconds(1))) == nil)
    #expect(notices.deadline == Self.after(.seconds(3)))
    #expect(notices.takeDue(at: Self.after(.milliseconds(2999))) == [])
    #expect(notices.takeDue(at: Self.after(.seconds(3))) == [gone])
    #expect(notices.deadline == Self.after(.seconds(4)))
    #expect(notices.takeDue(at: Self.after(.seconds(9))) == [vacated])
    #expect(notices.deadline == nil)
  }

  @Test func `who comes back in time has neither left nor come`() {
    var notices = DelayedNotices(delay: .seconds(3))
    #expect(notices.take(.channelVacated(channel: "a"), at: Self.start) == nil)
    #expect(notices.take(.channelOccupied(channel: "a"), at: Self.after(.seconds(2))) == nil)
    // Another one of the same name leaves again: only that counts, from then on.
    let vacated = WebhookNotice.channelVacated(channel: "a")
    #expect(notices.take(vacated, at: Self.after(.seconds(2))) == nil)
    #expect(notices.takeDue(at: Self.after(.seconds(3))) == [])
    #expect(notices.takeDue(at: Self.after(.seconds(5))) == [vacated])
    // Told is told: the next arrival is one.
    let occupied = WebhookNotice.channelOccupied(channel: "a")
    #expect(notices.take(occupied, at: Self.after(.seconds(6))) == occupied)
  }

  @Test func `members and channels are told apart`() {
    var notices = DelayedNotices(delay: .seconds(3))
    let gone = WebhookNotice.memberRemoved(channel: "presence-a", userID: "1")
    #expect(notices.take(gone, at: Self.start) == nil)
    for other: WebhookNotice in [
      .memberAdded(channel: "presence-a", userID: "2"),
      .memberAdded(channel: "presence-b", userID: "1"), .channelOccupied(channel: "presence-a"),
    ] {
      #expect(notices.take(other, at: Self.start) == other)
    }
    #expect(notices.takeDue(at: Self.after(.seconds(3))) == [gone])
  }

  @Test func `without a delay, and beyond the limit, departures are told at once`() {
    let vacated = WebhookNotice.channelVacated(channel: "a")
    var prompt = DelayedNotices(delay: .zero)
    #expect(prompt.take(vacated, at: Self.start) == vacated)
    var full = DelayedNotices(delay: .seconds(3))
    for number in 0..<DelayedNotices.limit {
      #expect(full.take(.channelVacated(channel: "\(number)"), at: Self.start) == nil)
    }
    #expect(full.take(vacated, at: Self.start) == vacated)
  }

  @Test func `the body is the documented one`() {
    let body = WebhookNotice.channelOccupied(channel: "my-channel")
      .body(milliseconds: 1_327_078_148_132)
    #expect(
      String(decoding: body, as: UTF8.self)
        == #"{"time_ms":1327078148132,"events":[{"name":"channel_occupied","channel":"my-channel"}]}"#
    )
    #expect(
      WebhookSignature.sign(body, secret: "7ad3773142a6692b25b8")
        == "c19001ae3963ccb13bf618e5b16ba9848e7e74df0993aa0689168e341c6833cf")
  }
}
