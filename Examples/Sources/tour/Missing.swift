import PusherCore
import PusherTesting

/// "Gaps, losses and slow readers" and "Reconnecting".
extension Samples {
  /// Sends events until the task is cancelled, because a reader may start at any time.
  private static func keepSending(_ server: PusherTestServer) -> Task<Void, any Error> {
    Task {
      while !Task.isCancelled {
        try await server.trigger("price", channels: ["prices"], data: "1")
        try await Task.sleep(for: .milliseconds(10))
      }
    }
  }

  static func missingEvents(_ server: PusherTestServer) async throws {
    let pusher = server.client()
    let channel = pusher.subscribe("prices")
    pusher.connect()
    try await channel.subscribed(within: .seconds(10))
    let warnings = Heard<String>()
    @Sendable func warn(_ text: String) { warnings.add(text) }
    let watcher = Task {
      for await state in pusher.states where state == .reconnecting {
        warn("no connection; prices are old from now on")
      }
    }

    let told = Heard<String>()
    @Sendable func show(_ event: PusherEvent) { told.add("event \(event.data ?? "")") }
    @Sendable func reload(since time: WallTime) async { told.add("gap") }
    let reader = Task {
      for await element in channel.feed(buffering: .newest(1000)) {
        switch element {
        case .event(let event): show(event)
        case .lost(let count): warn("\(count) events were dropped: the reader is too slow")
        case .gap(let gap): await reload(since: gap.from)
        case .recovered: break
        }
      }
    }

    let sender = keepSending(server)
    while await told.next() != "event 1" {}
    sender.cancel()
    _ = try? await sender.value
    await server.stop()
    print("missing:", await warnings.next() ?? "")
    try await server.start()
    while await told.next() != "gap" {}
    print("missing: a gap was told")
    for task in [watcher, reader] { task.cancel() }
    try await plainReader(server, channel)
    withExtendedLifetime(pusher) {}
  }

  private static func plainReader(
    _ server: PusherTestServer, _ channel: PusherChannel
  ) async throws {
    let told = Heard<String>()
    @Sendable func show(_ event: PusherEvent) { told.add(event.data ?? "") }
    let reader = Task {
      for await event in channel.events() { show(event) }
    }
    let sender = keepSending(server)
    while await told.next() != "1" {}
    print("missing: a plain reader sees events alone")
    sender.cancel()
    reader.cancel()
  }

  static func slowReaders(_ server: PusherTestServer) async throws {
    struct Job: Decodable { var number: Int }
    let pusher = server.client()
    let done = Heard<Int>()
    @Sendable func work(on job: Job) async throws {
      try await Task.sleep(for: .milliseconds(1))
      done.add(job.number)
    }

    let jobs = pusher.subscribe("jobs").events(named: "job", buffering: .suspending(100))
    let worker = Task {
      for await event in jobs {
        try await work(on: event.decode(Job.self))
      }
    }

    let unread = pusher.channel(named: "jobs")?.feed(buffering: .newest(2))
    pusher.connect()
    try await server.subscribers(of: "jobs", reach: 1)
    for first in stride(from: 0, to: 300, by: 10) {
      try await server.api.triggerBatch(
        (first..<(first + 10)).map {
          .init("job", channel: "jobs", data: #"{"number":\#($0)}"#)
        })
    }
    var sum = 0
    for _ in 0..<300 { sum += await done.next() ?? 0 }
    print("slow reader: 300 jobs, sum \(sum)")
    if let unread {
      for await case .lost(let count) in unread {
        print("unread: lost \(count > 290 ? "nearly all" : "\(count)")")
        break
      }
    }
    worker.cancel()
  }

  static func retries(_ server: PusherTestServer) async throws {
    var options = PusherClientOptions(host: .cluster("eu"))
    options.retries = .pusherSwift
    options.retries.reconnectDelay = .seconds(2)

    let pusher = Pusher(key: "APP_KEY", options: options)
    try expect(pusher.connection.reconnectAttemptsMax == 6, "not six attempts")
    pusher.connect()
    try await pusher.connected(within: .seconds(10))
  }
}
