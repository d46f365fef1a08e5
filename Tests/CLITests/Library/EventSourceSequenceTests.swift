import PusherCore
import TestSupport
import Testing

@Suite("Messages alone as a sequence", .ownThread, .timeLimit(.minutes(10)))
struct EventSourceSequenceTests {
  @Test func `a loss does not end the messages, and onDropped counts the dropped ones`()
    async throws
  {
    let text = (0..<40).map { "data: \($0)\n\n" }.joined()
    let server = try ScriptedServer { connection in
      try connection.beginStream()
      try connection.send(stream: text)
      try connection.remain()
    }
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

  @Test func `a feed tells its reader of a loss, and onDropped is not called`() async throws {
    let text = (0..<40).map { "data: \($0)\n\n" }.joined()
    let isCounted = Gate()
    let server = try ScriptedServer { connection in
      try connection.beginStream()
      try connection.send(stream: text)
      try connection.wait(for: isCounted)
      try connection.send(stream: "data: end\n\n")
      try connection.remain()
    }
    let source = EventSource(url: server.url)
    let dropped = Record<Int>()
    let (end, completion) = (Gate(), Gate())
    source.onDropped { dropped.add($0) }
    source.onComplete { _, _, _ in completion.open() }
    source.onMessage { _, _, data in
      if data == "39" { isCounted.open() }
      if data == "end" { end.open() }
    }
    let feed = source.feed(buffering: .oldest(5))
    source.connect()
    // A report would come before the next read.
    try end.wait()
    #expect(dropped.values.isEmpty)
    source.disconnect()
    // Until then the last message may still be on its way, and reading would make room for it.
    try completion.wait()
    var elements: [PusherFeedElement<EventSourceMessage>] = []
    for await element in feed { elements.append(element) }
    #expect(elements.compactMap(\.event).map(\.data) == ["0", "1", "2", "3", "4"])
    #expect(elements.last == .lost(35) || elements.last == .lost(36))
  }

  @Test func `a gap does not end the messages, and onGap tells its bounds`() async throws {
    let server = try ScriptedServer { connection in
      try connection.beginStream()
      try connection.send(stream: "data: once\n\n")
    }
    var settings = EventSourceSettings()
    settings.reconnectionTime = .milliseconds(10)
    let source = EventSource(url: server.url, settings: settings)
    let gaps = Record<PusherGap>()
    source.onGap { gaps.add($0) }
    let iterator = source.messages().makeAsyncIterator()
    source.connect()
    for _ in 0..<3 { #expect(await iterator.next()?.data == "once") }
    #expect(gaps.values.count >= 2)
    #expect(gaps.values.allSatisfy { $0.duration >= .zero })
    source.disconnect()
  }
}
