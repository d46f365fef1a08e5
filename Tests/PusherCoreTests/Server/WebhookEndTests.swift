import PusherCore
import PusherServer
import TestSupport
import Testing

@Suite("Webhooks whose receivers fail, and those that wait when the server ends")
struct WebhookEndTests {
  private func server(
    _ ports: Int..., change: @escaping (inout WebhookPolicy) -> Void = { _ in }
  ) throws -> ServerHarness {
    let urls = try ports.map { try HTTPURL(parsing: "http://127.0.0.1:\($0)/hook") }
    return try ServerHarness { options in
      options.applications[0].webhooks = urls
      options.webhooks.delay = .seconds(60)
      options.webhooks.firstRetry = .seconds(60)
      options.webhooks.grace = .milliseconds(50)
      change(&options.webhooks)
    }
  }

  private func stop(_ test: ServerHarness) -> Bool {
    var isStopped = false
    test.server.stop { isStopped = true }
    return test.run { isStopped }
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
    let test = try server(failing.port, working.port)
    let socket = try test.socket()
    #expect(test.run { socket.isEstablished })
    for number in 0..<10 { socket.subscribe("private-\(number)") }
    #expect(
      test.run {
        working.requests.values.count == 10 && !failing.requests.values.isEmpty
      })
    #expect(failing.requests.values.count == 1)
  }

  @Test func `departures that are held back are told when the server ends`() throws {
    let receiver = try LocalEndpoint { _ in (200, "") }
    let test = try server(receiver.port) { $0.grace = .seconds(5) }
    let socket = try test.socket()
    #expect(test.run { socket.isEstablished })
    socket.subscribe("private-a")
    #expect(test.run { receiver.requests.values.count == 1 })
    #expect(stop(test))
    #expect(receiver.requests.values.count == 2)
    #expect(receiver.requests.values.last?.body.contains("channel_vacated") == true)
    #expect(discarded(test) == [])
  }

  @Test func `what a receiver that fails has not taken is given up at the end, and counted`() throws
  {
    let receiver = try LocalEndpoint { _ in (500, "") }
    let test = try server(receiver.port)
    let socket = try test.socket()
    #expect(test.run { socket.isEstablished })
    socket.subscribe("private-a")
    #expect(test.run { receiver.requests.values.count == 1 })
    #expect(stop(test))
    #expect(discarded(test) == ["2 to http://127.0.0.1:\(receiver.port)"])
  }

  @Test func `a receiver that does not answer holds the end up for the grace period only`() throws {
    let test = try ServerHarness()
    var taken: [Int32] = []
    let silent = try Listener(loop: test.harness.loop, host: "127.0.0.1", port: 0) {
      descriptor, _, _ in taken.append(descriptor)
    }
    let url = try HTTPURL(parsing: "http://127.0.0.1:\(silent.address.port)/hook")
    var options = test.server.options
    options.applications[0].webhooks = [url]
    options.webhooks.grace = .milliseconds(50)
    var log: [ServerLogEvent] = []
    let server = try Server(
      options: options, random: SeededGenerator(seed: 5), loop: test.harness.loop
    ) { log.append($0) }
    let place = try HTTPURL(
      parsing: "ws://127.0.0.1:\(server.port)/app/278d425bdf160c739803?protocol=7")
    let socket = try LoopSocket(test.harness.loop, url: place, tls: nil)
    #expect(test.run { socket.isEstablished })
    socket.subscribe("private-a")
    #expect(test.run { !taken.isEmpty })
    var isStopped = false
    server.stop { isStopped = true }
    #expect(test.run { isStopped })
    let receiver = "http://127.0.0.1:\(silent.address.port)"
    #expect(
      log.last == .webhooksDiscarded(url: receiver, count: 2, reason: "no answer in time"))
  }

  @Test func `webhooks that wait take so many bytes at most`() throws {
    let receiver = try LocalEndpoint { _ in (500, "") }
    let test = try server(receiver.port) { $0.queuedBytes = 200 }
    let socket = try test.socket()
    #expect(test.run { socket.isEstablished })
    for number in 0..<3 { socket.subscribe("private-\(number)") }
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
    let test = try server(receiver.port) { $0.queue = 1 }
    let socket = try test.socket()
    #expect(test.run { socket.isEstablished })
    for number in 0..<4 { socket.subscribe("private-\(number)") }
    #expect(test.run { receiver.requests.values.count == 1 && socket.texts.count == 4 })
    #expect(stop(test))
    let dropped = test.events.compactMap {
      if case .webhookDropped(let webhook, _) = $0 { webhook.event } else { nil }
    }
    #expect(dropped == ["channel_occupied", "7 webhooks in all"])
    #expect(discarded(test) == ["1 to http://127.0.0.1:\(receiver.port)"])
  }
}
