import PusherCore

/// Measures many connected clients, and checks for leaks after their release.
enum ManyClients {
  /// Prints the threads, descriptors and KiB that the connected and subscribed clients add, and the
  /// seconds.
  static func hold(_ count: Int, _ server: Server) async throws {
    // The first connection's permanent costs, such as OpenSSL's tables, do not count.
    try await connect(1, server.options(), from: 0)
    let before = await settled()
    let start = ContinuousClock().now
    let clients = try await connect(count, server.options(), from: 0)
    let time = ContinuousClock().now - start
    print("clients", ProcessUse.now().since(before).words, time.inSeconds)
    withExtendedLifetime(clients) {}
  }

  /// Creates, connects and releases clients one after the other.
  ///
  /// Prints the process's resources after 300 clients, and ten times until the last.
  static func cycle(_ count: Int, _ server: Server) async throws {
    let step = max(count / 10, 1)
    for number in 1...count {
      try await connect(1, server.options(), from: number)
      guard number == min(300, count) || number.isMultiple(of: step) else { continue }
      print("cycles", number, await settled().words)
    }
  }

  @discardableResult
  private static func connect(
    _ count: Int, _ options: PusherClientOptions, from first: Int
  ) async throws -> [Pusher] {
    let clients = (0..<count).map { _ in Pusher(key: "bench", options: options) }
    for (number, client) in clients.enumerated() {
      client.subscribe("channel-\(first + number)")
      client.connect()
    }
    for (number, client) in clients.enumerated() {
      try await client.connected(within: .seconds(30))
      try await client.channel(named: "channel-\(first + number)")?.subscribed(within: .seconds(30))
    }
    return clients
  }

  /// Returns the process's resources after the threads of released clients have ended, 5 s later at
  /// most.
  private static func settled() async -> ProcessUse {
    var last = ProcessUse.now()
    for _ in 0..<50 {
      try? await Task.sleep(for: .milliseconds(100))
      let now = ProcessUse.now()
      if now.threads == last.threads, now.descriptors == last.descriptors { return now }
      last = now
    }
    return last
  }
}

extension Duration {
  var inSeconds: Double {
    Double(components.seconds) + Double(components.attoseconds) / 1e18
  }
}
