import PusherCore
import PusherServer
import Testing

@Suite("Webhooks that the server sends")
struct WebhookSendingTests {
  private func server(
    _ receiver: LocalEndpoint, _ change: @escaping (inout WebhookPolicy) -> Void = { _ in }
  ) throws -> ServerHarness {
    let url = try HTTPURL(parsing: "http://127.0.0.1:\(receiver.port)/hook")
    return try ServerHarness { options in
      options.applications[0].webhooks = [url]
      options.applications[0].sendsSubscriptionCounts = true
      options.webhooks.delay = .milliseconds(1)
      options.webhooks.firstRetry = .milliseconds(5)
      change(&options.webhooks)
    }
  }

  private func sent(_ test: ServerHarness) -> [String] {
    test.events.compactMap {
      if case .webhookSent(let webhook, 200) = $0 { webhook.event } else { nil }
    }
  }

  private func events(_ receiver: LocalEndpoint) throws -> [JSONValue] {
    try receiver.requests.values.map { request in
      let body = try JSONParser.parse(request.body)
      #expect(body["time_ms"] != nil)
      #expect(request.head.contains("X-Pusher-Key: 278d425bdf160c739803"))
      let signature = WebhookSignature.sign(
        Array(request.body.utf8), secret: "7ad3773142a6692b25b8")
      #expect(request.head.contains("X-Pusher-Signature: \(signature)"))
      #expect(request.head.contains("Content-Type: application/json"))
      return try #require(body["events"]?.elements?.first)
    }
  }

  @Test func `each kind is told with what belongs to it, signed`() throws {
    let receiver = try LocalEndpoint { _ in (200, "") }
    let test = try server(receiver)
    let socket = try test.socket()
    let other = try test.socket()
    #expect(test.run { socket.isEstablished && other.isEstablished })
    socket.subscribe("presence-a", channelData: #"{"user_id":"7"}"#)
    #expect(test.run { sent(test).count == 2 })
    socket.send(
      #"{"event":"client-x","channel":"presence-a","data":{"n":1.10}}"#)
    #expect(test.run { sent(test).count == 3 })
    socket.subscribe("cache-b")
    #expect(test.run { sent(test).count == 6 })
    socket.close()
    #expect(test.run { sent(test).count == 9 })
    let told = try events(receiver).map(JSONWriter.text)
    let channel = #""channel":"presence-a""#
    #expect(
      Array(told.prefix(3)) == [
        #"{"name":"channel_occupied",\#(channel)}"#,
        #"{"name":"member_added",\#(channel),"user_id":"7"}"#,
        #"{"name":"client_event",\#(channel),"event":"client-x","data":"{\"n\":1.10}","#
          + #""socket_id":"\#(socket.socketID)","user_id":"7"}"#,
      ])
    #expect(
      Set(told[3..<6]) == [
        #"{"name":"channel_occupied","channel":"cache-b"}"#,
        #"{"name":"cache_miss","channel":"cache-b"}"#,
        #"{"name":"subscription_count","channel":"cache-b","subscription_count":1}"#,
      ])
    #expect(
      Set(told[6...]) == [
        #"{"name":"channel_vacated","channel":"cache-b"}"#,
        #"{"name":"channel_vacated",\#(channel)}"#,
        #"{"name":"member_removed",\#(channel),"user_id":"7"}"#,
      ])
  }

  /// Lets a member come and go, each with one webhook.
  private func visit(_ test: ServerHarness) throws {
    let socket = try test.socket()
    #expect(test.run { socket.isEstablished })
    socket.subscribe("presence-a", channelData: #"{"user_id":"7"}"#)
    #expect(test.run { sent(test).count == 1 })
    socket.close()
    #expect(test.run { sent(test).count == 2 })
  }

  @Test func `events of one moment share a webhook, as many as the policy says`() throws {
    let receiver = try LocalEndpoint { _ in (200, "") }
    let test = try server(receiver) { $0.batch = 2 }
    try visit(test)
    #expect(sent(test) == ["2 events", "2 events"])
    let names = try receiver.requests.values.map { request in
      try JSONParser.parse(request.body)["events"]?.elements?.compactMap { $0["name"]?.text }
    }
    #expect(
      names == [["channel_occupied", "member_added"], ["member_removed", "channel_vacated"]])
  }

  @Test func `only the kinds of the policy are sent`() throws {
    let receiver = try LocalEndpoint { _ in (200, "") }
    let test = try server(receiver) { $0.kinds = [.memberAdded, .channelVacated] }
    try visit(test)
    #expect(sent(test) == ["member_added", "channel_vacated"])
  }

  @Test func `a webhook that is refused is sent again, the same bytes, before the next one`() throws
  {
    let count = Gathered<Int>()
    let receiver = try LocalEndpoint { _ in
      count.add(1)
      return (count.values.count < 4 ? 500 : 204, "")
    }
    let test = try server(receiver)
    let socket = try test.socket()
    #expect(test.run { socket.isEstablished })
    socket.subscribe("private-a")
    socket.subscribe("private-b")
    #expect(test.run { receiver.requests.values.count >= 5 })
    let bodies = receiver.requests.values.map(\.body)
    #expect(Set(bodies.prefix(4)).count == 1 && bodies[4] != bodies[0])
    let delays = test.events.compactMap {
      if case .webhookFailed(_, "HTTP 500", let delay) = $0 { delay } else { nil }
    }
    #expect(delays == [.milliseconds(5), .milliseconds(10), .milliseconds(20)])
  }

  @Test func `a receiver that asks for a longer wait gets it`() throws {
    let receiver = try LocalEndpoint(field: "Retry-After: 7") { _ in (503, "") }
    let test = try server(receiver)
    let socket = try test.socket()
    #expect(test.run { socket.isEstablished })
    socket.subscribe("private-a")
    #expect(
      test.run {
        test.events.contains {
          if case .webhookFailed(_, "HTTP 503", .seconds(7)) = $0 { true } else { false }
        }
      })
  }

  @Test func `after the patience a webhook is given up, and the next is tried`() throws {
    let receiver = try LocalEndpoint { $0.body.contains("private-a") ? (500, "") : (200, "") }
    let test = try server(receiver) { $0.patience = .milliseconds(20) }
    let socket = try test.socket()
    #expect(test.run { socket.isEstablished })
    socket.subscribe("private-a")
    socket.subscribe("private-b")
    #expect(
      test.run {
        test.events.contains {
          if case .webhookDropped(let webhook, "HTTP 500") = $0 {
            webhook.event == "channel_occupied"
          } else {
            false
          }
        } && receiver.requests.values.contains { $0.body.contains("private-b") }
      })
  }

  @Test
  func `a receiver that is not there is tried again; too many that wait are dropped and told`()
    throws
  {
    let url = try HTTPURL(parsing: "http://u:p@127.0.0.1:1/hook?token=t")
    let test = try ServerHarness { options in
      options.applications[0].webhooks = [url]
      options.webhooks.queue = 2
    }
    let socket = try test.socket()
    #expect(test.run { socket.isEstablished })
    for number in 0..<5 { socket.subscribe("private-\(number)") }
    #expect(
      test.run {
        test.events.contains {
          if case .webhookFailed(let webhook, _, .seconds(1)) = $0 {
            webhook.url == "http://127.0.0.1:1"
          } else {
            false
          }
        }
      })
    let dropped = test.events.filter { if case .webhookDropped = $0 { true } else { false } }
    #expect(
      dropped.map(\.description) == [
        "webhook channel_occupied to http://127.0.0.1:1 dropped (queue full: 2 waiting)"
      ])
    #expect(dropped[0].isProblem)
  }
}
