import PusherCore
import TestSupport
import Testing

@Suite("Messages alone as a sequence", .ownThread, .timeLimit(.minutes(10)))
struct EventSourceSequenceTests {
  @Test func `a loss does not end the messages; onDropped counts the dropped ones`() async throws {
    let text = (0..<40).map { "data: \($0)\n\n" }.joined()
    let server = try ScriptedServer.streaming(text)
    let source = EventSource(url: server.url)
    let dropped = Record<Int>()
    let all = Gate()
    source.onDropped { count in
      dropped.add(count)
      if dropped.values.reduce(0, +) == 35 { all.open() }
    }
    let messages = source.messages(buffering: .newest(5))
    source.connect()
    try all.wait()
    #expect(messages.droppedCount == 35)
    let iterator = messages.makeAsyncIterator()
    for number in 35..<40 { #expect(await iterator.next()?.data == "\(number)") }
    source.disconnect()
    #expect(await iterator.next()?.data == nil)
  }

  @Test func `a gap does not end the messages, and onGap tells its bounds`() async throws {
    let server = try ScriptedServer { connection in
      try connection.beginStream()
      try connection.send(stream: "data: once\n\n")
    }
    let source = EventSourceTests.source(server) { $0.reconnectionTime = .milliseconds(10) }
    let gaps = Record<PusherGap>()
    source.onGap { gaps.add($0) }
    let iterator = source.messages().makeAsyncIterator()
    source.connect()
    for _ in 0..<3 { #expect(await iterator.next()?.data == "once") }
    #expect(gaps.values.count >= 2)
    #expect(gaps.values.allSatisfy { $0.duration >= .zero })
    source.disconnect()
  }

  @Test func `messages of an unreachable server end, and the source knows why`() async throws {
    let source = EventSource(url: "http://127.0.0.1:1/")
    let messages = source.messages()
    let feed = source.feed()
    #expect(source.failure == nil)
    source.connect()
    for await message in messages { Issue.record("\(message)") }
    for await element in feed { Issue.record("\(element)") }
    let failure = try #require(source.failure)
    #expect("\(failure)".contains("connection refused"))
    #expect(source.readyState == .closed)
  }

  @Test func `the failure is the last attempt's, none after a stream or disconnect`() async throws {
    let server = try ScriptedServer { connection in
      guard connection.number > 1 else { return }
      try connection.beginStream()
      try connection.send(stream: "data: once\n\n")
      try connection.remain()
    }
    let source = EventSourceTests.source(server) {
      $0.reconnect = ReconnectPolicy(mode: .always)
      $0.reconnectionTime = .milliseconds(10)
    }
    let iterator = source.messages().makeAsyncIterator()
    source.connect()
    #expect(await iterator.next()?.data == "once")
    #expect(server.connectionCount == 2 && source.failure == nil)
    source.disconnect()
    #expect(source.failure == nil)
    #expect(await iterator.next() == nil)
  }

  @Test(arguments: [false, true])
  func `a cancelled reader closes the source unless something else reads it`(
    hasListener: Bool
  ) async throws {
    let server = try ScriptedServer.streaming("data: 1\n\n")
    let source = EventSource(url: server.url)
    let heard = Gate()
    if hasListener { source.onMessage { _, _, _ in heard.open() } }
    let (first, second) = (source.messages(), source.feed())
    let came = Gate()
    // Other tests may keep the shared threads busy for longer than this test waits.
    let thread = OwnThread()
    defer { thread.end() }
    let readers = [
      Task(executorPreference: thread) { for await _ in first { came.open() } },
      Task(executorPreference: thread) { for await _ in second {} },
    ]
    source.connect()
    try came.wait()
    for (number, reader) in readers.enumerated() {
      #expect(source.readyState == .open)
      reader.cancel()
      await reader.value
      #expect(source.readyState == (number == 1 && !hasListener ? .closed : .open))
    }
    #expect(source.failure == nil)
  }

  @Test func `a reader that leaves its loop can read the source again`() async throws {
    let again = Gate()
    let server = try ScriptedServer.streaming { connection in
      try connection.send(stream: "data: 1\n\n")
      try connection.wait(for: again)
      try connection.send(stream: "data: 2\n\n")
    }
    let source = EventSource(url: server.url)
    func read(_ messages: EventSourceMessages) async -> String? {
      for await message in messages { return message.data }
      return nil
    }
    let messages = source.messages()
    source.connect()
    #expect(await read(messages) == "1")
    let rest = source.messages()
    again.open()
    #expect(await read(rest) == "2")
    source.disconnect()
  }
}
