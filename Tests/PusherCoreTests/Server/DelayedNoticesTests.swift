import PusherCore
import PusherServer
import Testing

/// Pusher's page "Webhooks": departures are reported late, and not at all if the client returns.
struct DelayedNoticesTests {
  private static let start = Instant(nanoseconds: 0)

  private static func after(_ duration: Duration) -> Instant { start.advanced(by: duration) }

  @Test func `arrivals, client events, misses and counts are told at once`() {
    var notices = DelayedNotices(delay: .seconds(3))
    let prompt: [WebhookNotice] = [
      .init(.channelOccupied, "a"), .init(.memberAdded, "presence-a", userID: "1"),
      .init(.cacheMiss, "cache-a"), .init(.subscriptionCount, "a"),
      .init(.clientEvent, "private-a"),
    ]
    for notice in prompt { #expect(notices.take(notice, at: Self.start) == notice) }
    #expect(notices.deadline == nil)
  }

  @Test func `a departure is told after the delay and not before`() {
    var notices = DelayedNotices(delay: .seconds(3))
    let gone = WebhookNotice(.memberRemoved, "presence-a", userID: "1")
    let vacated = WebhookNotice(.channelVacated, "presence-a")
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
    #expect(notices.take(.init(.channelVacated, "a"), at: Self.start) == nil)
    #expect(notices.take(.init(.channelOccupied, "a"), at: Self.after(.seconds(2))) == nil)
    // Another client of the same name leaves. Only its departure counts from then on.
    let vacated = WebhookNotice(.channelVacated, "a")
    #expect(notices.take(vacated, at: Self.after(.seconds(2))) == nil)
    #expect(notices.takeDue(at: Self.after(.seconds(3))) == [])
    #expect(notices.takeDue(at: Self.after(.seconds(5))) == [vacated])
    // The departure was reported, so the next arrival is reported too.
    let occupied = WebhookNotice(.channelOccupied, "a")
    #expect(notices.take(occupied, at: Self.after(.seconds(6))) == occupied)
  }

  @Test func `members and channels are told apart`() {
    var notices = DelayedNotices(delay: .seconds(3))
    let gone = WebhookNotice(.memberRemoved, "presence-a", userID: "1")
    #expect(notices.take(gone, at: Self.start) == nil)
    for other: WebhookNotice in [
      .init(.memberAdded, "presence-a", userID: "2"),
      .init(.memberAdded, "presence-b", userID: "1"), .init(.channelOccupied, "presence-a"),
    ] { #expect(notices.take(other, at: Self.start) == other) }
    #expect(notices.takeDue(at: Self.after(.seconds(3))) == [gone])
  }

  @Test func `without a delay, and beyond the limit, departures are told at once`() {
    let vacated = WebhookNotice(.channelVacated, "a")
    var prompt = DelayedNotices(delay: .zero)
    #expect(prompt.take(vacated, at: Self.start) == vacated)
    var full = DelayedNotices(delay: .seconds(3))
    for number in 0..<DelayedNotices.limit {
      #expect(full.take(.init(.channelVacated, "\(number)"), at: Self.start) == nil)
    }
    #expect(full.take(vacated, at: Self.start) == vacated)
  }

  @Test func `the body of a webhook is the documented one`() {
    let user = WebhookNotice(.memberAdded, "presence-a", userID: "42", id: .number("42"))
    #expect(
      String(decoding: WebhookNotice.body([user], milliseconds: 1), as: UTF8.self)
        == #"{"time_ms":1,"events":[{"name":"member_added","channel":"presence-a","user_id":42}]}"#)
    let occupied = WebhookNotice(.channelOccupied, "my-channel")
    let body = WebhookNotice.body([occupied], milliseconds: 1_327_078_148_132)
    #expect(
      String(decoding: body, as: UTF8.self)
        == #"{"time_ms":1327078148132,"events":[{"name":"channel_occupied","channel":"my-channel"}]}"#
    )
    #expect(
      WebhookSignature.sign(body, secret: "7ad3773142a6692b25b8")
        == "c19001ae3963ccb13bf618e5b16ba9848e7e74df0993aa0689168e341c6833cf")
  }
}
