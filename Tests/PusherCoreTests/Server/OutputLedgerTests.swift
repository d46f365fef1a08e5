import PusherCore
import PusherServer
import Testing

struct `The queues of all clients together` {
  private static let limit = 1_000_000

  /// Sends events of this size until so many clients are left, and checks after each ten.
  private func flood(
    _ test: ServerHarness, _ reader: LoopSocket, size: Int, untilLeft count: Int,
    _ check: (_ queued: Int) -> Void
  ) throws {
    let publisher = test.raw()
    let data = String(repeating: "x", count: size)
    var sent = 0
    // The system's buffers come on top of the server's queues.
    while test.server.connectionCount > count && sent < 20_000 {
      for _ in 0..<10 { publisher.send(try test.call("e", ["news"], data: data)) }
      sent += 10
      let wanted = sent + 1
      #expect(test.run { reader.texts.count == wanted })
      check(test.server.queuedBytes)
    }
    #expect(test.server.connectionCount == count)
  }

  private func readers(_ test: ServerHarness, _ count: Int) throws -> [LoopSocket] {
    let sockets = try test.established(count)
    for socket in sockets { socket.subscribe("news") }
    #expect(test.run { sockets.allSatisfy { $0.texts.count == 1 } })
    return sockets
  }

  @Test func `those who do not read are dropped, the others get everything`() throws {
    let test = try ServerHarness { $0.limits.sizes.allOutput = Self.limit }
    let sockets = try readers(test, 7)
    for socket in sockets.dropFirst() { socket.reads = false }
    try flood(test, sockets[0], size: 10_000, untilLeft: 1) { queued in
      // One extra event may be in transit when the limit takes effect.
      #expect(queued <= Self.limit + 20_000)
      #expect(queued == test.server.recountedBytes)
    }
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
    var sizes: Set<Int> = []
    // A queue over 1 MiB ends its connection.
    try flood(test, sockets[0], size: 2000, untilLeft: 1) { sizes.insert($0) }
    #expect(sizes.count { $0 > 0 } < 20, "\(sizes.sorted())")
  }

  @Test func `an event larger than the limit for all drops nobody who reads`() throws {
    let test = try ServerHarness { $0.limits.sizes.allOutput = 100_000 }
    let sockets = try readers(test, 50)
    let publisher = test.raw()
    for _ in 0..<20 {
      publisher.send(try test.call("e", ["news"], data: String(repeating: "x", count: 10_000)))
    }
    #expect(test.run { sockets.allSatisfy { $0.texts.count == 21 } })
    #expect(test.server.connectionCount == 50)
    #expect(test.server.queuedBytes == 0)
  }
}
