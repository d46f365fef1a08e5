import PusherCore
import PusherServer
import Testing

struct `Webhooks that the server sends` {
  /// A server with these receivers; a patient one waits a minute where others wait a few ms.
  private func server(
    _ receivers: LocalEndpoint..., isPatient: Bool = false,
    _ change: @escaping (inout ServerOptions) -> Void = { _ in }
  ) throws -> ServerHarness {
    let urls = try receivers.map { try HTTPURL(parsing: "http://127.0.0.1:\($0.port)/hook") }
    return try ServerHarness { options in
      options.applications[0].webhooks = urls
      options.webhooks.delay = isPatient ? .seconds(60) : .milliseconds(1)
      options.webhooks.firstRetry = isPatient ? .seconds(60) : .milliseconds(5)
      options.webhooks.grace = .milliseconds(50)
      change(&options)
    }
  }

  private func sent(_ test: ServerHarness) -> [String] {
    test.events.compactMap {
      if case .webhookSent(let webhook, 200) = $0 { webhook.event } else { nil }
    }
  }

  /// A server with a socket that has occupied these channels.
  private func occupied(_ test: ServerHarness, _ channels: String...) throws -> ServerHarness {
    let socket = try test.established()
    for channel in channels { socket.subscribe(channel) }
    return test
  }

  private func tells(
    _ test: ServerHarness, _ isWanted: @escaping (ServerLogEvent) -> Bool
  ) -> Bool { test.run { test.events.contains(where: isWanted) } }

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
    let test = try server(receiver) { $0.applications[0].sendsSubscriptionCounts = true }
    let socket = try test.established(2)[0]
    socket.subscribe("presence-a", channelData: #"{"user_id":"7"}"#)
    #expect(test.run { sent(test).count == 2 })
    socket.send(#"{"event":"client-x","channel":"presence-a","data":{"n":1.10}}"#)
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
    let socket = try test.established()
    socket.subscribe("presence-a", channelData: #"{"user_id":"7"}"#)
    #expect(test.run { sent(test).count == 1 })
    socket.close()
    #expect(test.run { sent(test).count == 2 })
  }

  @Test func `events of one moment share a webhook, as many as the policy says`() throws {
    let receiver = try LocalEndpoint { _ in (200, "") }
    let test = try server(receiver) { $0.webhooks.batch = 2 }
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
    let test = try server(receiver) { $0.webhooks.kinds = [.memberAdded, .channelVacated] }
    try visit(test)
    #expect(sent(test) == ["member_added", "channel_vacated"])
  }

  @Test func `a refused webhook is sent again, the same bytes, before the next one`() throws {
    let count = Gathered<Int>()
    let receiver = try LocalEndpoint { _ in
      count.add(1)
      return (count.values.count < 4 ? 500 : 204, "")
    }
    let test = try occupied(server(receiver), "private-a", "private-b")
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
    let test = try occupied(server(receiver), "private-a")
    #expect(
      tells(test) {
        if case .webhookFailed(_, "HTTP 503", .seconds(7)) = $0 { true } else { false }
      })
  }

  @Test func `after the patience a webhook is given up, and the next is tried`() throws {
    let receiver = try LocalEndpoint { $0.body.contains("private-a") ? (500, "") : (200, "") }
    let test = try occupied(
      server(receiver) { $0.webhooks.patience = .milliseconds(20) }, "private-a", "private-b")
    #expect(
      tells(test) {
        guard case .webhookDropped(let webhook, "HTTP 500") = $0 else { return false }
        return webhook.event == "channel_occupied"
      })
    #expect(test.run { receiver.requests.values.contains { $0.body.contains("private-b") } })
  }

  @Test func `a missing receiver is tried again; events beyond the queue are dropped`() throws {
    let url = try HTTPURL(parsing: "http://u:p@127.0.0.1:1/hook?token=t")
    let test = try ServerHarness { options in
      options.applications[0].webhooks = [url]
      options.webhooks.queue = 2
    }
    let socket = try test.established()
    for number in 0..<5 { socket.subscribe("private-\(number)") }
    #expect(
      tells(test) {
        guard case .webhookFailed(let webhook, _, .seconds(1)) = $0 else { return false }
        return webhook.url == "http://127.0.0.1:1"
      })
    let dropped = test.events.filter { if case .webhookDropped = $0 { true } else { false } }
    #expect(
      dropped.map(\.description) == [
        "webhook channel_occupied to http://127.0.0.1:1 dropped (queue full: 2 waiting)"
      ])
    #expect(dropped[0].isProblem)
  }

  // MARK: Failures and the end

  /// A socket that has asked for so many private channels.
  private func subscriber(_ test: ServerHarness, _ count: Int = 1) throws -> LoopSocket {
    let socket = try test.established()
    for number in 0..<count { socket.subscribe("private-\(number)") }
    return socket
  }

  private func discarded(_ test: ServerHarness) -> [String] {
    test.events.compactMap {
      guard case .webhooksDiscarded(let url, let count, _) = $0 else { return nil }
      #expect($0.isProblem)
      return "\(count) to \(url)"
    }
  }

  @Test func `a receiver that fails holds up no other one`() throws {
    let failing = try LocalEndpoint { _ in (500, "") }
    let working = try LocalEndpoint { _ in (200, "") }
    let test = try server(failing, working, isPatient: true)
    _ = try subscriber(test, 10)
    #expect(test.run { working.requests.values.count == 10 && !failing.requests.values.isEmpty })
    #expect(failing.requests.values.count == 1)
  }

  @Test func `departures that are held back are told when the server ends`() throws {
    let receiver = try LocalEndpoint { _ in (200, "") }
    let test = try server(receiver, isPatient: true) { $0.webhooks.grace = .seconds(5) }
    _ = try subscriber(test)
    #expect(test.run { receiver.requests.values.count == 1 })
    #expect(test.stop())
    #expect(receiver.requests.values.count == 2)
    #expect(receiver.requests.values.last?.body.contains("channel_vacated") == true)
    #expect(discarded(test) == [])
  }

  @Test func `events that a failing receiver left are discarded at the end, and counted`() throws {
    let receiver = try LocalEndpoint { _ in (500, "") }
    let test = try server(receiver, isPatient: true)
    _ = try subscriber(test)
    #expect(test.run { receiver.requests.values.count == 1 })
    #expect(test.stop())
    #expect(discarded(test) == ["2 to http://127.0.0.1:\(receiver.port)"])
  }

  @Test func `a receiver that does not answer holds the end up for the grace period only`() throws {
    // Nobody runs this loop: the system makes the connection, and nothing answers.
    let silent = try Listener(loop: LoopHarness().loop, host: "127.0.0.1", port: 0) { _, _, _ in }
    let place = "http://127.0.0.1:\(silent.address.port)"
    let url = try HTTPURL(parsing: place + "/hook")
    let test = try server(isPatient: true) { $0.applications[0].webhooks = [url] }
    let socket = try subscriber(test)
    #expect(test.run { socket.texts.count == 1 })
    test.goRound()
    #expect(test.stop())
    #expect(
      test.events.last == .webhooksDiscarded(url: place, count: 2, reason: "no answer in time"))
  }

  @Test func `webhooks that wait take so many bytes at most`() throws {
    let receiver = try LocalEndpoint { _ in (500, "") }
    let test = try server(receiver, isPatient: true) { $0.webhooks.queuedBytes = 200 }
    let socket = try subscriber(test, 3)
    #expect(test.run { socket.texts.count == 3 && receiver.requests.values.count == 1 })
    let body = try #require(receiver.requests.values.first?.body)
    #expect(body.utf8.count * 2 < 200 && body.utf8.count * 3 > 200)
    #expect(
      test.events.contains {
        if case .webhookDropped(_, "queue full: 2 waiting") = $0 { true } else { false }
      })
  }

  @Test func `what was dropped for want of room is counted at the end too`() throws {
    let receiver = try LocalEndpoint { _ in (500, "") }
    let test = try server(receiver, isPatient: true) { $0.webhooks.queue = 1 }
    let socket = try subscriber(test, 4)
    #expect(test.run { receiver.requests.values.count == 1 && socket.texts.count == 4 })
    #expect(test.stop())
    let dropped = test.events.compactMap {
      if case .webhookDropped(let webhook, _) = $0 { webhook.event } else { nil }
    }
    #expect(dropped == ["channel_occupied", "7 webhooks in all"])
    #expect(discarded(test) == ["1 to http://127.0.0.1:\(receiver.port)"])
  }
}
