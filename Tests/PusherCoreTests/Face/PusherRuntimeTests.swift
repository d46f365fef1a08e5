import Foundation
import PusherServer
import TestSupport
import Testing

@testable import PusherCore

@Suite(.ownThread, .timeLimit(.minutes(10))) struct `A runtime` {
  let service: LocalService
  init() throws { service = try LocalService() }

  private func client(_ runtime: PusherRuntime?) -> Pusher {
    service.pusher { $0.runtime = runtime }
  }

  private static func stream(
    _ answer: String, _ runtime: PusherRuntime
  ) throws -> (RawServer, EventSource) {
    let server = try RawServer { peer in
      _ = peer.head()
      peer.send(Array(answer.utf8))
      peer.waitForEnd()
    }
    var settings = EventSourceSettings()
    settings.runtime = runtime
    return (server, EventSource(url: "http://127.0.0.1:\(server.port)/", settings: settings))
  }

  // MARK: One thread

  @Test func `a wait for a subscription names the rate limit that outlasts it`() async throws {
    let pusher = Pusher(key: "key")
    let channel = pusher.subscribe("a")
    let limit = SubscriptionFailure(
      type: "RateLimit", message: RateLimit.cause("Rate limit exceeded"), fault: .peer)
    channel.noteDelayed(limit)
    await #expect(throws: limit) { try await channel.subscribed(within: .milliseconds(1)) }
    #expect(channel.failure == nil)
  }

  @Test func `clients, event sources and calls of the API share a named thread`() async throws {
    let runtime = PusherRuntime(name: "rt-shared")
    let clients = (0..<20).map { _ in client(runtime) }
    for client in clients { try await client.connected() }
    let (stream, source) = try Self.stream(
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", runtime)
    let opened = Gathered<Bool>()
    source.onOpen { opened.add(true) }
    source.connect()
    _ = try await opened.wait()
    _ = try await service.api(runtime: runtime).channels()
    #expect(OwnThread.count(named: "rt-shared") == 1)
    #expect(runtime.memberCount == 22)
    withExtendedLifetime((clients, source, stream)) {}
  }

  @Test func `every client gets its own events on the shared thread`() async throws {
    let runtime = PusherRuntime(name: "rt-events")
    let seen = Gathered<String>()
    var clients: [Pusher] = []
    for number in 0..<5 {
      let client = client(runtime)
      client.subscribe("room-\(number)").bind(eventName: "ping") { event in
        seen.add("\(number) \(event.data ?? "")")
      }
      clients.append(client)
      try await client.joined()
    }
    for number in 0..<5 {
      try await service.api.trigger("ping", channels: ["room-\(number)"], data: "\(number)")
    }
    #expect(try await seen.wait(for: 5).sorted() == ["0 0", "1 1", "2 2", "3 3", "4 4"])
    withExtendedLifetime(clients) {}
  }

  @Test func `the thread ends with its last client, and the next one gets another`() async throws {
    let runtime = PusherRuntime(name: "rt-ends")
    for _ in 0..<3 {
      var clients = [client(runtime), client(runtime)]
      for client in clients { try await client.connected() }
      clients.removeFirst()
      try await condition("one client is left") { runtime.memberCount == 1 }
      #expect(OwnThread.count(named: "rt-ends") == 1)
      try await #require(clients.first).connected()
      clients.removeFirst()
      try await condition("the thread is gone") { OwnThread.count(named: "rt-ends") == 0 }
    }
  }

  @Test func `a client without a runtime has a thread, which ends with it`() async throws {
    var pusher: Pusher? = client(nil)
    try await pusher?.connected()
    let thread = try #require(pusher?.connection.thread)
    #expect(thread.isWorking)
    pusher = nil
    try await condition("the thread is gone") { !thread.isWorking }
  }

  @Test func `a client that disconnects leaves the others connected`() async throws {
    let runtime = PusherRuntime(name: "rt-one")
    let (first, second) = (client(runtime), client(runtime))
    try await first.connected()
    try await second.connected()
    first.disconnect()
    for await state in first.states where state == .disconnected { break }
    #expect(second.connection.connectionState == .connected)
    try await first.connected()
  }

  // MARK: The end

  @Test func `run returns after cancellation, when every connection is closed`() async throws {
    let runtime = PusherRuntime(name: "rt-run")
    let (first, second) = (client(runtime), client(runtime))
    try await first.connected()
    try await second.connected()
    let run = Task { await runtime.run() }
    run.cancel()
    await run.value
    #expect(first.connection.connectionState == .disconnected)
    #expect(second.connection.connectionState == .disconnected)
    #expect(runtime.memberCount == 0)
    // The clients work as before.
    try await first.connected()
  }

  @Test func `a client that connects while the others are closed is closed too`() async throws {
    let runtime = PusherRuntime(name: "rt-late")
    // The server reads the goodbye and does not answer, so that another client has time to start.
    let silent = try RawServer.greeting()
    let first = Pusher.local(silent.port) { $0.runtime = runtime }
    try await first.connected()
    let states = first.states
    let close = Task { await runtime.close() }
    for await state in states where state == .disconnecting { break }
    let second = client(runtime)
    second.connect()
    await close.value
    #expect(second.connection.connectionState == .disconnected)
    #expect(runtime.memberCount == 0)
  }

  @Test func `close cancels calls, and returns at once without clients or calls`() async throws {
    let runtime = PusherRuntime(name: "rt-close")
    await runtime.close()
    let silent = try RawServer { $0.waitForEnd() }
    let api = PusherAPI.local(silent.port, runtime: runtime)
    let call = Task { try await api.channels() }
    _ = try await silent.opened.wait()
    await runtime.close()
    await #expect(throws: PusherAPIError.cancelled) { try await call.value }
    _ = try await silent.closed.wait()
    #expect(runtime.memberCount == 0)
  }

  @Test func `close does not wait for an event source that has ended`() async throws {
    let runtime = PusherRuntime(name: "rt-ended")
    let (stream, source) = try Self.stream("HTTP/1.1 204 No Content\r\n\r\n", runtime)
    let ended = Gathered<Int>()
    source.onComplete { status, _, _ in ended.add(status ?? 0) }
    source.connect()
    #expect(try await ended.wait() == [204])
    await runtime.close()
    #expect(runtime.memberCount == 0)
    #expect(source.readyState == .closed)
    withExtendedLifetime(stream) {}
  }

  @Test func `the run of a client connects it, and disconnects on cancellation`() async throws {
    let pusher = client(nil)
    let run = Task { try await pusher.run() }
    for await state in pusher.states where state == .connected { break }
    run.cancel()
    try await run.value
    #expect(pusher.connection.connectionState == .disconnected)
  }
}
