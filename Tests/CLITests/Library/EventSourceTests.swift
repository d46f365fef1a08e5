import Foundation
import PusherCore
import TestSupport
import Testing

@Suite("EventSource, against a scripted server", .ownThread, .timeLimit(.minutes(10)))
struct EventSourceTests {
  private static let events =
    "id: event-id\nevent: event-name\ndata: event-data\n\nid: event-id\ndata: event-data-1\n"
    + "data: event-data-2\ndata: event-data-3\n\n:heartbeat\n\n"

  /// A source of a scripted server, with other settings.
  static func source(
    _ server: ScriptedServer, _ change: (inout EventSourceSettings) -> Void
  ) -> EventSource {
    var settings = EventSourceSettings()
    change(&settings)
    return EventSource(url: server.url, settings: settings)
  }

  /// Makes its own waits long, so that only a wait that the stream names lets it ask again soon.
  private static func waitLong(_ settings: inout EventSourceSettings) {
    settings.reconnectionTime = .seconds(3600)
    settings.reconnect.backoff.ceiling = .seconds(7200)
  }

  @Test func `listeners get the events of their type, onMessage those without one`() throws {
    let server = try ScriptedServer.streaming(Self.events)
    let calls = Record<[String?]>()
    let gate = Gate()
    let source = EventSource(url: server.url, headers: ["X-Test": "1"])
    #expect(source.readyState == .closed && source.retryTime == 3000)
    source.onOpen { calls.add(["open"]) }
    source.addEventListener("event-name") { id, event, data in calls.add([id, event, data]) }
    source.addEventListener("other") { _, _, _ in calls.add(["never"]) }
    source.onMessage { id, event, data in
      calls.add([id, event, data])
    }
    source.onComment { comment in
      calls.add([comment])
      gate.open()
    }
    #expect(source.events() == ["event-name", "other"])
    source.removeEventListener("other")
    #expect(source.events() == ["event-name"])
    source.connect()
    try gate.wait()
    #expect(
      calls.values == [
        ["open"], ["event-id", "event-name", "event-data"],
        ["event-id", "message", "event-data-1\nevent-data-2\nevent-data-3"],
        ["heartbeat"],
      ])
    #expect(source.readyState == .open && source.lastEventId == "event-id")
    source.disconnect()
    #expect(source.readyState == .closed)
  }

  @Test func `the wait that a stream asks for is known as soon as it comes`() throws {
    let asked = Gate()
    let server = try ScriptedServer.streaming { connection in
      try connection.send(stream: "retry: 20\n\n")
      try connection.wait(for: asked)
      try connection.send(stream: "retry: 30\ndata: 1\n\nretry: 40\n")
    }
    let source = EventSource(url: server.url)
    let times = Record<Int>()
    source.onMessage { [weak source] _, _, _ in times.add(source?.retryTime ?? 0) }
    source.connect()
    try waitUntil("the first wait is known") { source.retryTime == 20 }
    asked.open()
    try waitUntil("the last wait is known") { source.retryTime == 40 }
    #expect(times.values == [30])
  }

  /// Returns true if the source obeys `retry: 20` although its own delay is one hour.
  private func heedsRetry(
    silence: Duration? = nil, _ stream: @escaping @Sendable (ScriptedConnection) throws -> Void
  ) throws -> Int {
    let again = Gate()
    let server = try ScriptedServer { connection in
      if connection.number == 1 { return try stream(connection) }
      try connection.beginStream()
      again.open()
      try connection.remain()
    }
    let source = Self.source(server) {
      Self.waitLong(&$0)
      $0.silenceTimeout = silence
    }
    source.connect()
    try again.wait()
    return source.retryTime
  }

  @Test func `a wait that comes together with the end of the stream counts`() throws {
    let time = try heedsRetry { connection in
      try connection.answer(body: "retry: 20\ndata: 1\n\n", type: "text/event-stream")
      try connection.remain()
    }
    #expect(time == 20)
  }

  @Test func `silence and other losses leave the wait that the stream has named`() throws {
    // Long enough for a slow machine to connect and read the wait before the silence ends.
    let time = try heedsRetry(silence: .seconds(2)) { connection in
      try connection.beginStream()
      try connection.send(stream: "retry: 20\n\n")
      try connection.remain()
    }
    #expect(time == 20)
    let cut = try heedsRetry { connection in
      try connection.beginStream([("Content-Length", "900")])
      try connection.send(stream: "retry: 20\n\ndata: cut")
    }
    #expect(cut == 20)
  }

  @Test func `a wait that is known from an earlier connect is the one that is waited`() throws {
    let third = Gate()
    let server = try ScriptedServer { connection in
      try connection.beginStream()
      switch connection.number {
      case 1:
        try connection.send(stream: "retry: 20\ndata: 1\n\n")
        try connection.remain()
      case 2: try connection.send(stream: "data: 2\n\n")
      default:
        third.open()
        try connection.remain()
      }
    }
    let source = Self.source(server, Self.waitLong)
    source.connect()
    try waitUntil("the wait is known") { source.retryTime == 20 }
    source.disconnect()
    source.connect()
    try third.wait()
    #expect(source.retryTime == 20)
  }

  @Test func `a Last-Event-ID among the headers counts at the start alone`() throws {
    let ids = Record<[String]>()
    let gate = Gate()
    let server = try ScriptedServer { connection in
      ids.add(try connection.beginStream().head.headers.all("Last-Event-ID"))
      try connection.send(stream: "retry: 10\nid: \(connection.number)\ndata: x\n\n")
      if connection.number == 3 {
        gate.open()
        try connection.remain()
      }
    }
    let source = EventSource(url: server.url, headers: ["last-event-id": "77"])
    source.connect()
    try gate.wait()
    #expect(ids.values == [["77"], ["1"], ["2"]])
  }

  @Test func `each attempt asks for fresh headers; an error there is a failed attempt`() throws {
    struct Expired: Error {}
    let tokens = Record<String?>()
    let gate = Gate()
    let server = try ScriptedServer { connection in
      let head = try connection.beginStream().head
      tokens.add(head.headers.all("Authorization").joined(separator: ","))
      try connection.send(stream: "data: x\n\n")
      if connection.number == 2 {
        gate.open()
        try connection.remain()
      }
    }
    let asked = Record<Int>()
    var settings = EventSourceSettings()
    settings.reconnectionTime = .milliseconds(10)
    settings.headersForEachConnection = {
      asked.add(asked.values.count + 1)
      if asked.values.count == 2 { throw Expired() }
      return ["authorization": "Bearer \(asked.values.count)"]
    }
    let source = EventSource(
      url: server.url, headers: ["Authorization": "Bearer old"], settings: settings)
    source.connect()
    try gate.wait()
    #expect(tokens.values == ["Bearer 1", "Bearer 3"])
    source.disconnect()
    settings.reconnect = ReconnectPolicy(mode: .never)
    settings.headersForEachConnection = { throw Expired() }
    let end = try ending(of: EventSource(url: server.url, settings: settings))
    #expect(end.error == .dropped("headersForEachConnection: Expired()"))
    #expect(end.status == nil && end.shouldReconnect == true && server.connectionCount == 2)
  }

  @Test func `the time to connect includes the question for headers, which it cancels`() throws {
    let cancelled = Gate()
    var settings = EventSourceSettings()
    settings.reconnect = ReconnectPolicy(mode: .never)
    settings.connectTimeout = .milliseconds(10)
    settings.headersForEachConnection = {
      defer { cancelled.open() }
      try await Task.sleep(for: .seconds(3600))
      return [:]
    }
    let end = try ending(of: EventSource(url: "http://127.0.0.1:1/", settings: settings))
    #expect(end.error == .handshakeTimeout(.milliseconds(10), nil))
    try cancelled.wait()
  }

  @Test func `an event source reconnects after the last event, and 204 completes it`() throws {
    let ids = Record<String?>()
    let server = try ScriptedServer { connection in
      guard connection.number < 3 else {
        _ = try connection.question()
        return try connection.answer(204)
      }
      ids.add(try connection.beginStream().head.headers["Last-Event-ID"])
      try connection.send(stream: "retry: 20\nid: \(connection.number)\ndata: x\n\n")
    }
    let gate = Gate()
    let endings = Record<String>()
    let source = EventSource(url: server.url)
    source.onComplete { status, shouldReconnect, error in
      endings.add("\(status ?? 0) \(shouldReconnect ?? true) \(error.map { "\($0)" } ?? "-")")
      gate.open()
    }
    source.connect(lastEventId: "first")
    try gate.wait()
    #expect(ids.values == ["first", "1"])
    #expect(endings.values == ["204 false -"])
    #expect(source.retryTime == 20 && source.readyState == .closed)
  }

  @Test func `without reconnecting the owner is told whether to, and may connect again`() throws {
    let server = try ScriptedServer { connection in
      try connection.beginStream()
      try connection.send(stream: Self.events)
    }
    let source = Self.source(server) { $0.reconnect = ReconnectPolicy(mode: .never) }
    let gate = Gate()
    let endings = Record<Bool?>()
    source.onComplete { [weak source] status, shouldReconnect, error in
      endings.add(shouldReconnect)
      if endings.values.count == 1 {
        source?.connect(lastEventId: source?.lastEventId)
      } else {
        gate.open()
      }
    }
    source.connect()
    try gate.wait()
    #expect(endings.values == [true, true])
    #expect(server.connectionCount == 2)
  }

  private typealias Ending = (status: Int?, shouldReconnect: Bool?, error: EventSourceError?)

  /// Returns the completion of a source that connects and is left alone.
  private func ending(of source: EventSource) throws -> Ending {
    let gate = Gate()
    let endings = Record<Ending>()
    source.onComplete {
      endings.add(($0, $1, $2))
      gate.open()
    }
    source.connect()
    try gate.wait()
    return try #require(endings.values.first)
  }

  @Test func `an answer of another type or coding is told with its status`() throws {
    for field in [("Content-Type", "text/html"), ("Content-Encoding", "br")] {
      let server = try ScriptedServer { connection in
        try connection.beginStream(
          [field], type: field.0 == "Content-Type" ? "" : "text/event-stream")
        try connection.remain()
      }
      let ending = try ending(of: EventSource(url: server.url))
      #expect(ending.status == 200 && ending.shouldReconnect == false && ending.error != nil)
    }
  }

  @Test func `a close that nothing announces is told from an end`() throws {
    for isMarked in [true, false] {
      let server = try ScriptedServer { connection in
        try connection.beginStream(isMarked ? [("Content-Length", "9")] : [])
        try connection.send(stream: "data: 1\n\n")
      }
      let source = Self.source(server) { $0.reconnect = ReconnectPolicy(mode: .never) }
      let ending = try ending(of: source)
      #expect(ending.status == 200 && ending.shouldReconnect == true)
      #expect((ending.error == nil) == isMarked)
    }
  }

  @Test func `what is no stream, and what is no URL, completes it with the error`() throws {
    let server = try ScriptedServer.answering(404, "Not Found")
    let cases: [(url: String, status: Int?, error: EventSourceError?)] = [
      (server.url, 404, .refused(status: 404, reason: "Not Found")), ("nonsense", nil, nil),
      ("ws://127.0.0.1/", nil, nil),
    ]
    for (url, status, error) in cases {
      let ending = try ending(of: EventSource(url: url))
      #expect(ending.status == status && ending.shouldReconnect == false)
      #expect(ending.error != nil && (error == nil || ending.error == error))
    }
  }

  @Test func `a slow reader holds the stream back, or is told what it has lost`() async throws {
    let text = (0..<40).map { "data: \($0)\n\n" }.joined()
    let isRead = Gate()
    let server = try ScriptedServer { connection in
      try connection.beginStream()
      try connection.send(stream: text)
      try connection.wait(for: isRead)
    }
    let source = Self.source(server) { $0.reconnectionTime = .milliseconds(10) }
    let came = Record<String?>()
    let ten = Gate()
    source.onMessage { _, _, data in
      came.add(data)
      if data == "9" { ten.open() }
    }
    let slow = source.feed(buffering: .suspending(10))
    let lossy = source.feed(buffering: .newest(5))
    source.connect()
    try ten.wait()
    let iterator = slow.makeAsyncIterator()
    #expect(await iterator.next()?.event?.data == "0")
    #expect(came.values.count == 10)
    for number in 1..<40 { #expect(await iterator.next()?.event?.data == "\(number)") }
    #expect(slow.droppedCount == 0)
    // The server ends this stream, so the next stream follows a gap.
    isRead.open()
    let gap = try #require(await iterator.next()?.gap)
    #expect(gap.duration >= .zero)
    source.disconnect()
    var rest: [PusherFeedElement<EventSourceMessage>] = []
    for await element in lossy { rest.append(element) }
    guard case .lost(35...)? = rest.first else {
      Issue.record("no loss of 35 events")
      return
    }
    isRead.open()
  }

  @Test func `a stream that begins after another event begins with a gap`() async throws {
    let hub = try MercureHub(.init(kept: ["urn:b"], live: ["urn:c"]))
    let source = EventSource(url: hub.url())
    let messages = source.feed()
    source.connect(lastEventId: "urn:a")
    let iterator = messages.makeAsyncIterator()
    let gap = try #require(await iterator.next()?.gap)
    #expect(gap.duration == .zero)
    #expect(await iterator.next()?.event?.id == "urn:c")
    source.disconnect()
  }

  @Test func `a source let go closes its connection; disconnect ends all calls`() throws {
    let gone = Gate()
    let server = try ScriptedServer { connection in
      try connection.beginStream()
      try connection.send(stream: "data: 1\n\ndata: 2\n\n")
      do { try connection.remain() } catch is PeerLeft { gone.open() }
    }
    let count = Record<Int>()
    do {
      let source = EventSource(url: server.url)
      source.onMessage { [weak source] _, _, _ in
        count.add(1)
        source?.disconnect()
      }
      source.connect()
      try gone.wait()
      #expect(count.values == [1])
    }
    var source: EventSource? = EventSource(url: server.url)
    let came = Gate()
    source?.onMessage { _, _, _ in came.open() }
    source?.connect()
    try came.wait()
    source = nil
    try gone.wait()
  }

  @Test func `connecting and disconnecting from many threads leaves it closed and alive`() throws {
    let server = try ScriptedServer.streaming(Self.events)
    let source = EventSource(url: server.url)
    DispatchQueue.concurrentPerform(iterations: 200) { number in
      if number % 3 == 0 { source.connect() } else { source.disconnect() }
      _ = (source.readyState, source.lastEventId, source.events())
    }
    source.disconnect()
    #expect(source.readyState == .closed)
    let gate = Gate()
    source.onMessage { _, _, _ in gate.open() }
    source.connect()
    try gate.wait()
  }
}

extension PusherFeedElement {
  fileprivate var gap: PusherGap? {
    if case .gap(let gap) = self { gap } else { nil }
  }
}
