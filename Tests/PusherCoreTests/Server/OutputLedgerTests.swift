import PusherCore
import PusherServer
import Testing

@Suite("The queues of all clients together")
struct OutputLedgerTests {
  private static let limit = 1_000_000

  /// Sends events until `condition` holds; returns their number.
  private func flood(
    _ test: ServerHarness, _ reader: LoopSocket, until condition: () -> Bool
  ) throws -> Int {
    let publisher = test.raw()
    let data = String(repeating: "x", count: 10_000)
    var sent = 0
    // The system's buffers come on top of the server's queues.
    while !condition() && sent < 10_000 {
      for _ in 0..<10 { publisher.send(try test.call("e", ["news"], data: data)) }
      sent += 10
      let wanted = sent + 1
      #expect(test.run { reader.texts.count == wanted })
      // One extra event may be in transit when the limit takes effect.
      #expect(test.server.queuedBytes <= Self.limit + 20_000)
      #expect(test.server.queuedBytes == test.server.recountedBytes)
    }
    return sent
  }

  private func readers(_ test: ServerHarness, _ count: Int) throws -> [LoopSocket] {
    let sockets = try (0..<count).map { _ in try test.socket() }
    #expect(test.run { sockets.allSatisfy(\.isEstablished) })
    for socket in sockets { socket.subscribe("news") }
    #expect(test.run { sockets.allSatisfy { $0.texts.count == 1 } })
    return sockets
  }

  @Test
  func
    `those who do not read are dropped before each has its own limit, the others get everything`()
    throws
  {
    let test = try ServerHarness { $0.limits.sizes.allOutput = Self.limit }
    let sockets = try readers(test, 7)
    for socket in sockets.dropFirst() { socket.reads = false }
    let sent = try flood(test, sockets[0]) { test.server.connectionCount == 1 }
    #expect(sent < 10_000)
    let told = test.events.filter {
      if case .queuesFull(Self.limit, let dropped) = $0 { dropped > 0 } else { false }
    }
    #expect(told.count == 1)
    let ends = test.events.compactMap { event -> String? in
      if case .disconnected(_, let code, let reason) = event, code == nil { reason } else { nil }
    }
    #expect(ends.contains("all clients together left more than 1000000 bytes unread"))
    #expect(test.run { test.server.queuedBytes == 0 })
  }

  @Test func `a queue counts with the memory that it holds, which grows in steps`() throws {
    let test = try ServerHarness()
    let sockets = try readers(test, 2)
    sockets[1].reads = false
    let publisher = test.raw()
    let data = String(repeating: "x", count: 2000)
    var sizes: Set<Int> = []
    var sent = 0
    // A queue over 1 MiB ends its connection.
    while test.server.connectionCount == 2 && sent < 20_000 {
      for _ in 0..<10 { publisher.send(try test.call("e", ["news"], data: data)) }
      sent += 10
      let wanted = sent + 1
      #expect(test.run { sockets[0].texts.count == wanted })
      sizes.insert(test.server.queuedBytes)
    }
    #expect(test.server.connectionCount == 1)
    #expect(sizes.count { $0 > 0 } < 20, "\(sizes.sorted())")
  }

  @Test
  func `an event for many who read drops nobody, be it larger than the limit for all of them`()
    throws
  {
    let test = try ServerHarness { $0.limits.sizes.allOutput = 100_000 }
    let sockets = try readers(test, 50)
    let publisher = test.raw()
    for _ in 0..<20 {
      publisher.send(
        try test.call("e", ["news"], data: String(repeating: "x", count: 10_000)))
    }
    #expect(test.run { sockets.allSatisfy { $0.texts.count == 21 } })
    #expect(test.server.connectionCount == 50)
    #expect(test.server.queuedBytes == 0)
  }
}
