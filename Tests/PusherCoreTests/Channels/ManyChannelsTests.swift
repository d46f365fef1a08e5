import Testing

@testable import PusherCore

struct `Session: ten thousand channels and members` {
  /// Returns the number of entries that a session examines while `count` channels are joined, lost,
  /// joined again and left.
  private func looks(channels count: Int) -> Int {
    let names = (0..<count).map { "channel-\($0)" }
    var harness = SessionHarness(channels: names)
    harness.connect()
    // The confirmations come in another order than the subscriptions.
    for name in names.reversed() { harness.succeed(name) }
    #expect(harness.session.isFullySubscribed)
    harness.renew()
    for name in names { harness.succeed(name) }
    #expect(harness.session.isFullySubscribed)
    for name in names { _ = harness.unsubscribe(name) }
    #expect(harness.session.channels.isEmpty)
    return harness.session.subscriptions.looks
  }

  @Test func `the work for many channels grows with their number`() {
    let few = looks(channels: 1000)
    let many = looks(channels: 10_000)
    #expect(few > 0 && many <= 11 * few)
    #expect(many <= 100_000)
  }

  @Test func `the work for authorisations that are out of reach grows little faster`() throws {
    func looks(_ count: Int) -> Int {
      let names = (0..<count).map { "private-\($0)" }
      var harness = SessionHarness(channels: names)
      var requests = harness.connect().requests
      #expect(requests.count == count)
      let failure = AuthorizationFailure.unavailable(status: 503, "down")
      for request in requests { harness.answer(request, .failure(failure)) }
      requests = harness.advance(.seconds(5)).requests
      #expect(requests.count == count)
      harness.sign(requests)
      for name in names { harness.succeed(name) }
      #expect(harness.session.isFullySubscribed)
      return harness.session.subscriptions.looks
    }
    // The cost of a heap is logarithmic.
    #expect(looks(10_000) <= 16 * looks(1000))
  }

  @Test func `unanswered requests fail in their order at their time`() {
    let names = (0..<2000).map { "channel-\($0)" }
    var harness = SessionHarness(channels: names)
    harness.connect()
    for name in names where name.hasSuffix("7") { harness.succeed(name) }
    let failed = harness.advance(.seconds(10)).failedChannels
    #expect(failed == names.filter { !$0.hasSuffix("7") })
  }

  @Test func `a refusal that names its channel finds it among thousands`() {
    let names = (0..<5000).map { "private-\($0)" }
    var harness = SessionHarness(channels: names)
    harness.sign(harness.connect().requests)
    for name in names.reversed() {
      let text = "Invalid signature: Expected HMAC SHA256 hex digest of 1.2:\(name), but got 00"
      #expect(harness.error(code: nil, text).failedChannels == [name])
    }
  }

  @Test func `a roster of ten thousand keeps its order while members come and go`() {
    var roster = PresenceRoster()
    for id in 0..<10_000 { roster.insert(String(id), .null) }
    for id in stride(from: 0, to: 10_000, by: 2) {
      #expect(roster.remove(String(id))?.userId == String(id))
    }
    #expect(roster.count == 5000)
    for id in stride(from: 0, to: 10_000, by: 4) { roster.insert(String(id), .bool(true)) }
    let expected =
      stride(from: 1, to: 10_000, by: 2).map(String.init)
      + stride(from: 0, to: 10_000, by: 4).map(String.init)
    #expect(roster.members.map(\.userId) == expected)
    #expect(roster["4"]?.userInfo == .bool(true))
    #expect(roster["2"] == nil)
  }

  @Test func `ten thousand members come at once, ten thousand one by one, and all go again`() {
    let channel = "presence-a"
    var harness = SessionHarness(channels: [channel])
    harness.sign(harness.connect().requests)
    let ids = (0..<10_000).map { "\"\($0)\"" }.joined(separator: ",")
    let joined = harness.succeed(channel, presence: #"{"count":10000,"ids":[\#(ids)],"hash":{}}"#)
    #expect(joined.roster?.count == 10_000)
    func message(_ event: String, _ id: Int) -> String {
      #"{"event":"pusher_internal:\#(event)","channel":"presence-a","data":"{\"user_id\":\"\#(id)\"}"}"#
    }
    for id in 10_000..<20_000 { harness.receive(message("member_added", id)) }
    #expect(harness.session.subscriptions[channel]?.roster?.count == 20_000)
    for id in 0..<20_000 {
      #expect(harness.receive(message("member_removed", id)).events.count == 1)
    }
    #expect(harness.session.subscriptions[channel]?.roster?.count == 0)
  }

  @Test func `a table whose values all go is empty, and can be filled again`() {
    var table = OrderedTable<Int>()
    for round in 0..<3 {
      for number in 0..<100 { table["\(number)"] = number + round }
      for number in 0..<100 { table["\(number)"] = nil }
      #expect(table.count == 0 && table.elements.map { $0 }.isEmpty)
    }
    table["a"] = 1
    table["b"] = 2
    table["a"]? += 5
    #expect(table.elements.map(\.name) == ["a", "b"])
    #expect(table["a"] == 6)
    var other = OrderedTable<Int>()
    other["b"] = 2
    #expect(other != table)
    table["a"] = nil
    #expect(other == table)
  }
}
