import Foundation
import PusherCore
import Testing

struct EventLoopTests {
  private let harness: LoopHarness
  private var loop: EventLoop { harness.loop }

  init() throws { harness = try LoopHarness() }

  private func source(
    _ handle: FileHandle, _ events: PollEvents = [], onReady: @escaping (PollEvents) -> Void
  ) -> ClosureSource {
    let source = ClosureSource(LoopInterest(descriptor: handle.fileDescriptor, events: events))
    source.onReady = { events, _ in onReady(events) }
    return source
  }

  @Test func `a pipe's bytes make its source ready, and its end too`() {
    let pipe = Pipe()
    var seen: [String] = []
    let source = source(pipe.fileHandleForReading, .read) { [loop] events in
      #expect(events.contains(.read))
      let data = pipe.fileHandleForReading.availableData
      seen.append(String(decoding: data, as: UTF8.self))
      if data.isEmpty { loop.stop() }
      try? pipe.fileHandleForWriting.close()
    }
    loop.add(source)
    pipe.fileHandleForWriting.write(Data("hello".utf8))
    #expect(harness.run())
    #expect(seen == ["hello", ""])
  }

  @Test func `deadlines come in their order, and passed ones at once`() {
    var seen: [Int] = []
    for milliseconds in [20, -5, 10] {
      let deadline = loop.now.advanced(by: .milliseconds(milliseconds))
      loop.add(
        ClosureSource(deadline: deadline) { [loop] source, now in
          seen.append(milliseconds)
          #expect(now >= deadline)
          loop.remove(source)
          if seen.count == 3 { loop.stop() }
        })
    }
    #expect(harness.run())
    #expect(seen == [-5, 10, 20])
  }

  @Test func `a source removed by another one's call is not called`() {
    var seen: [Int] = []
    let third = ClosureSource(deadline: LoopInterest.immediately) { [loop] source, _ in
      seen.append(3)
      loop.remove(source)
      loop.stop()
    }
    let second = ClosureSource(deadline: LoopInterest.immediately) { _, _ in seen.append(2) }
    let first = ClosureSource(deadline: LoopInterest.immediately) { [loop] source, _ in
      seen.append(1)
      loop.remove(second)
      loop.remove(source)
      loop.add(third)
    }
    loop.add(first)
    loop.add(second)
    #expect(harness.run())
    #expect(seen == [1, 3])
  }

  @Test func `a source that asks for nothing is not told of its pipe's end`() throws {
    let pipe = Pipe()
    loop.add(source(pipe.fileHandleForReading) { _ in Issue.record("called without interest") })
    loop.schedule(after: .milliseconds(5)) { [loop] in loop.stop() }
    try pipe.fileHandleForWriting.close()
    #expect(harness.run())
  }

  @Test func `a writer learns that its reader has gone without writing`() throws {
    let pipe = Pipe()
    let source = source(pipe.fileHandleForWriting, .hangUp) { [loop] events in
      #expect(events == .hangUp)
      loop.stop()
    }
    loop.add(source)
    try pipe.fileHandleForReading.close()
    #expect(harness.run())
  }

  @Test func `work posted from another thread is done on the loop, in its order`() {
    let wakeUp = loop.wakeUp
    Thread.detachNewThread {
      for index in 0..<1000 {
        wakeUp.post { loop in
          if index == 999 { loop.stop() }
        }
      }
    }
    #expect(harness.run())
  }

  @Test func `hooks run before every wait`() {
    var rounds = 0
    loop.beforeWait { [loop] in
      rounds += 1
      if rounds == 3 { loop.stop() }
      loop.wakeUp.signal()
    }
    #expect(harness.run())
    #expect(rounds == 3)
  }

  @Test func `three thousand sources have their turn`() {
    var seen = 0
    for _ in 0..<3000 {
      loop.add(
        ClosureSource(deadline: LoopInterest.immediately) { [loop] source, _ in
          seen += 1
          loop.remove(source)
          if seen == 3000 { loop.stop() }
        })
    }
    #expect(harness.run())
    #expect(seen == 3000)
  }

  /// The loop polls a single source directly, and several sources as a set.
  @Test func `telling sources have their turn alone, among others, and alone again`() throws {
    let pipes = (0..<3).map { _ in Pipe() }
    var seen: [Int] = []
    var awaited: Set<Int> = []
    let sources = pipes.enumerated().map { [loop] number, pipe in
      TellingPipe(pipe) {
        seen.append(number)
        awaited.remove(number)
        if awaited.isEmpty { loop.stop() }
      }
    }
    for (added, removed, ready) in [
      ([0], [], [0]), ([1, 2], [], [0, 1, 2]), ([], [0], [2, 1]), ([], [2], [1]), ([0], [1], [0]),
    ] {
      for number in added { loop.add(telling: sources[number]) }
      for number in removed { loop.remove(telling: sources[number]) }
      seen = []
      awaited = Set(ready)
      for number in ready { try pipes[number].fileHandleForWriting.write(contentsOf: [1]) }
      #expect(harness.run())
      #expect(Set(seen) == Set(ready) && seen.count == ready.count)
    }
  }

  @Test func `the only telling source is not called after its removal by another one`() throws {
    let (pipe, other) = (Pipe(), Pipe())
    var isCalled = false
    let telling = TellingPipe(pipe) { isCalled = true }
    let source = source(other.fileHandleForReading, .read) { [loop] _ in
      loop.remove(telling: telling)
      loop.stop()
    }
    loop.add(telling: telling)
    loop.add(source)
    for pipe in [pipe, other] { try pipe.fileHandleForWriting.write(contentsOf: [1]) }
    #expect(harness.run())
    #expect(!isCalled)
  }
}

private final class TellingPipe: ReportingSource {
  var place: LoopPlace?
  private let pipe: Pipe
  private let onByte: () -> Void

  init(_ pipe: Pipe, _ onByte: @escaping () -> Void) {
    (self.pipe, self.onByte) = (pipe, onByte)
  }

  var interest: LoopInterest {
    LoopInterest(descriptor: pipe.fileHandleForReading.fileDescriptor, events: .read)
  }

  func ready(_ events: PollEvents, at now: Instant) {
    #expect(events == .read)
    #expect((try? pipe.fileHandleForReading.read(upToCount: 1))?.count == 1)
    onByte()
  }

  func expired(at now: Instant) {}
}
