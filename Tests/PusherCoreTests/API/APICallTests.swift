import TestSupport
import Testing

@testable import PusherCore

@Suite(.ownThread, .timeLimit(.minutes(10))) struct `Calls of the HTTP API` {
  @Test func `a cancelled call ends at once and closes its connection`() async throws {
    let server = try RawServer { $0.waitForEnd() }
    let api = PusherAPI.local(server.port)
    let call = Task { try await api.channels() }
    _ = try await server.opened.wait()
    call.cancel()
    let error = await #expect(throws: PusherAPIError.cancelled) { try await call.value }
    #expect(error.map { "\($0)" } == "the call was cancelled")
    _ = try await server.closed.wait()
  }

  @Test func `a call of a cancelled task is not made`() async throws {
    let server = try RawServer { $0.waitForEnd() }
    let api = PusherAPI.local(server.port)
    let call = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await api.channels()
    }
    await #expect(throws: PusherAPIError.cancelled) { try await call.value }
    #expect(server.opened.values.isEmpty)
  }

  @Test func `many calls share the connections, and waiting ones end in time`() async throws {
    let limit = 64
    let gate = RawServer.Gate()
    let server = try RawServer { peer in
      guard !peer.head().isEmpty, peer.wait(for: gate) else { return }
      peer.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}".utf8))
      peer.waitForEnd()
    }
    // The process-wide `HTTPCalls` is used by other tests.
    let calls = HTTPCalls(on: LoopThread(name: "calls"))
    func call(_ ends: Gathered<String>, _ timeout: Duration = .seconds(600)) throws -> Task<
      Void, Never
    > {
      let url = try HTTPURL(parsing: "http://127.0.0.1:\(server.port)/")
      return Task {
        let call = HTTPCall(.init(method: "GET", url: url), timeout: timeout)
        switch await calls.outcome(of: call) {
        case .success: ends.add("answered")
        case .failure(let error): ends.add("\(error)")
        }
      }
    }
    let ends = Gathered<String>()
    let first = try call(ends)
    for _ in 1..<limit { _ = try call(ends) }
    _ = try await server.opened.wait(for: limit)
    // All connections are busy: one waiting call times out, another one is cancelled.
    let late = Gathered<String>()
    _ = try call(late, .milliseconds(50))
    #expect(try await late.wait() == [#"unreachable("no answer within 0.05 s")"#])
    let cancelled = Gathered<String>()
    try call(cancelled).cancel()
    #expect(try await cancelled.wait() == ["cancelled"])
    // A waiting call takes the connection that a cancelled call returns.
    for _ in 0..<8 { _ = try call(ends) }
    first.cancel()
    _ = try await server.opened.wait(for: limit + 1)
    // One call has ended, one connection was added, and seven calls wait.
    #expect(server.opened.values.count == limit + 1)
    gate.open()
    let all = try await ends.wait(for: limit + 8)
    #expect(all.count { $0 == "answered" } == limit + 7)
    #expect(all.count { $0 == "cancelled" } == 1)
    #expect(server.opened.values.count == limit + 8)
  }
}
