#if os(Linux)
  import Foundation
  import PusherCore
  import Testing

  /// All waits end at once on cancellation and leave no thread behind.
  ///
  /// The test counts threads in a separate process because other tests have threads too. Nothing
  /// here ends without cancellation: the server never answers.
  struct `Waits that are cancelled` {
    @Test func `cancelled waits for a state, a channel or an event keep no thread`() async {
      await #expect(processExitsWith: .success) {
        let server = try RawServer { $0.waitForEnd() }
        try await Self.check("waits") {
          let pusher = Pusher.local(server.port)
          let channel = pusher.subscribe("a")
          let connecting = Task { try await pusher.connected() }
          let subscribing = Task { try await channel.subscribed(within: .seconds(86_400)) }
          let readers = [
            Task { for await _ in channel.events(buffering: .suspending) {} },
            Task { for await _ in pusher.events(buffering: .unbounded) {} },
            Task { for await _ in channel.failures {} },
            Task { for await state in pusher.states { _ = state } },
          ]
          for await state in pusher.states where state == .connecting { break }
          connecting.cancel()
          subscribing.cancel()
          for reader in readers { reader.cancel() }
          guard case .failure(is CancellationError) = await connecting.result,
            case .failure(is CancellationError) = await subscribing.result
          else { throw LocalService.Failure.late("a wait did not end by cancelling it") }
          for reader in readers { await reader.value }
        }
      }
    }

    @Test func `a cancelled wait for an event source's messages keeps no thread`() async {
      await #expect(processExitsWith: .success) {
        let server = try RawServer { $0.waitForEnd() }
        try await Self.check("sources") {
          let source = EventSource(url: "http://127.0.0.1:\(server.port)/")
          let messages = source.messages(buffering: .suspending)
          source.connect()
          let reader = Task { for await _ in messages {} }
          reader.cancel()
          await reader.value
        }
      }
    }

    @Test func `a cancelled wait of an authoriser's task keeps no thread`() async {
      await #expect(processExitsWith: .success) {
        let service = try LocalService()
        let endless = EndlessAuthorizer()
        try await Self.check("authorisers") {
          var pusher: Pusher? = service.pusher(.authorizer(authorizer: endless))
          pusher?.subscribe("private-a")
          pusher?.connect()
          let count = endless.cancelled.values.count
          _ = try await endless.asked.wait(for: count + 1)
          pusher = nil
          _ = try await endless.cancelled.wait(for: count + 1)
        }
      }
    }

    /// Runs `body` 100 times, then waits until the thread count is back to the earlier number plus
    /// the tasks' pool.
    private static func check(_ what: String, _ body: () async throws -> Void) async throws {
      let limit = threadCount() + ProcessInfo.processInfo.activeProcessorCount + 2
      for _ in 0..<100 { try await body() }
      try await condition("\(what): \(threadCount()) threads, at most \(limit)") {
        threadCount() <= limit
      }
    }

    private static func threadCount() -> Int {
      (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task"))?.count ?? .max
    }
  }
#endif
