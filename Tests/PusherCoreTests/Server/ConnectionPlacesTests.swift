import PusherCore
import PusherServer
import Testing

struct `The places of connections` {
  private static let request = ServerHarness.request("GET /nothing")
  private static let halfRequest =
    "POST /apps/3/events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf"

  private func server(_ dialect: Dialect = .pusher) throws -> ServerHarness {
    try ServerHarness {
      ($0.dialect, $0.limits.connections, $0.limits.callers) = (dialect, 2, 4)
    }
  }

  private func idle(_ test: ServerHarness) throws -> RawClient {
    let client = test.raw(Self.request)
    try #require(test.run { client.text.holds("404") })
    return client
  }

  private func client(_ test: ServerHarness, _ text: String = "") throws -> RawClient {
    let client = test.raw(text)
    try #require(test.run { client.isOpen })
    test.goRound()
    return client
  }

  @Test func `one caller more closes the one that has been idle longest`() throws {
    let test = try server()
    let clients = try (0..<4).map { _ in try idle(test) }
    // The server drops the connection whose request came first, not the one that connected first.
    clients[0].send(Array(Self.request.utf8))
    let hasAnswers = test.run { clients[0].text.pieces(separatedBy: "404").count == 3 }
    #expect(hasAnswers)
    _ = try idle(test)
    #expect(test.run { clients[1].hasEnded })
    #expect(clients.map(\.hasEnded) == [false, true, false, false])
  }

  @Test func `sockets and callers do not take each other's places`() throws {
    let test = try server()
    let callers = try (0..<3).map { _ in try idle(test) }
    let sockets = try test.established(2)
    let third = try test.socket()
    #expect(test.run { third.hasEnded })
    #expect(third.received.last == .closed(4004, "the server has at most 2 connections"))
    _ = try idle(test)
    #expect(callers.allSatisfy { !$0.hasEnded } && sockets.allSatisfy { !$0.hasEnded })
  }

  @Test func `a client that has its answers leaves first, then the oldest new one`() throws {
    let test = try server()
    let early = try client(test)
    let served = try idle(test)
    let late = try (0..<4).map { _ in try client(test, "GET / HT") }
    _ = try client(test)
    #expect(test.run { served.hasEnded })
    #expect(!early.hasEnded && late.allSatisfy { !$0.hasEnded })
    _ = try test.established()
    #expect(early.hasEnded && late.allSatisfy { !$0.hasEnded })
    let said = test.events.compactMap { if case .dropped(let reason) = $0 { reason } else { nil } }
    #expect(said == ["too many connections; this one waited longest"])
  }

  @Test func `unfinished bodies have the places of callers only, not those of sockets`() throws {
    let test = try ServerHarness { ($0.limits.connections, $0.limits.callers) = (100, 4) }
    let clients = try (0..<10).map { _ in try client(test, Self.halfRequest) }
    #expect(test.run { clients.prefix(6).allSatisfy(\.hasEnded) })
    #expect(clients.suffix(4).allSatisfy { !$0.hasEnded })
  }

  @Test func `sockets that were refused and stay keep nobody out`() throws {
    let test = try server(.reverb)
    let sockets = try test.established(2)
    let refused = try (0..<10).map { _ in
      let socket = try test.socket()
      #expect(test.run { !socket.received.isEmpty })
      return socket
    }
    _ = try idle(test)
    #expect(sockets.allSatisfy { !$0.hasEnded })
    // The most recently refused connections had taken all places.
    #expect(test.run { refused.count { !$0.hasEnded } == 3 })
  }

  @Test func `connections that wait for their answers are not closed for others`() throws {
    let test = try ServerHarness()
    let numbers = Gathered<Int>()
    let receiver = try WebhookReceiver(
      loop: test.harness.loop, host: "127.0.0.1", port: 0,
      inbox: WebhookInbox(key: "k", secret: "s"), obstacle: { nil },
      take: { _, number in
        numbers.add(number)
        return nil
      }, noteRefusal: { _, _ in })
    let body = #"{"events":[{"name":"e"}]}"#
    let signature = WebhookSignature.sign(Array(body.utf8), secret: "s")
    let request = ServerHarness.request(
      "POST /", ["Host: h", "X-Pusher-Key: k", "X-Pusher-Signature: \(signature)"], body: body)
    func client() -> RawClient { RawClient(test.harness.loop, port: receiver.port, request) }
    let clients = (0..<WebhookReceiver.connectionLimit).map { _ in client() }
    try #require(test.run { numbers.values.count == clients.count })
    // There is no room for another connection, and no other connection is dropped.
    let late = client()
    #expect(test.run { late.hasEnded })
    #expect(clients.allSatisfy { !$0.hasEnded })
    for number in numbers.values { receiver.answer(number, .kept) }
    #expect(test.run { clients.allSatisfy { $0.text.holds("200 OK") } })
  }
}
