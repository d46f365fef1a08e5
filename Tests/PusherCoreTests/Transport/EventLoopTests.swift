import Foundation
import PusherCore
import Testing

@Suite struct EventLoopTests {
  @Test func `a pipe's bytes make its source ready, and its end too`() throws {
    let harness = try LoopHarness()
    let pipe = Pipe()
    let descriptor = pipe.fileHandleForReading.fileDescriptor
    let source = ClosureSource(LoopInterest(descriptor: descriptor, events: .read))
    var seen: [String] = []
    source.onReady = { events, _ in
      #expect(events.contains(.read))
      let data = pipe.fileHandleForReading.availableData
      seen.append(String(decoding: data, as: UTF8.self))
      if data.isEmpty { harness.loop.stop() }
      try? pipe.fileHandleForWriting.close()
    }
    harness.loop.add(source)
    pipe.fileHandleForWriting.write(Data("hello".utf8))
    #expect(harness.run())
    #expect(seen == ["hello", ""])
  }

  @Test func `deadlines come in their order, and passed ones at once`() throws {
    let harness = try LoopHarness()
    let start = harness.loop.now
    var seen: [Int] = []
    for (index, milliseconds) in [20, -5, 10].enumerated() {
      let source = ClosureSource(
        LoopInterest(deadline: start.advanced(by: .milliseconds(milliseconds))))
      source.onExpired = { now in
        seen.append(index)
        #expect(now >= start.advanced(by: .milliseconds(milliseconds)))
        harness.loop.remove(source)
        if seen.count == 3 { harness.loop.stop() }
      }
      harness.loop.add(source)
    }
    #expect(harness.run())
    #expect(seen == [1, 2, 0])
  }

  @Test func `a source removed by another one's call is not called`() throws {
    let harness = try LoopHarness()
    let first = ClosureSource(LoopInterest(deadline: LoopInterest.immediately))
    let second = ClosureSource(LoopInterest(deadline: LoopInterest.immediately))
    let third = ClosureSource(LoopInterest(deadline: LoopInterest.immediately))
    var seen: [Int] = []
    first.onExpired = { _ in
      seen.append(1)
      harness.loop.remove(second)
      harness.loop.remove(first)
      harness.loop.add(third)
    }
    second.onExpired = { _ in seen.append(2) }
    third.onExpired = { _ in
      seen.append(3)
      harness.loop.remove(third)
      harness.loop.stop()
    }
    harness.loop.add(first)
    harness.loop.add(second)
    #expect(harness.run())
    #expect(seen == [1, 3])
  }

  @Test func `a source that asks for nothing is not told of its pipe's end`() throws {
    let harness = try LoopHarness()
    let pipe = Pipe()
    let descriptor = pipe.fileHandleForReading.fileDescriptor
    let deaf = ClosureSource(LoopInterest(descriptor: descriptor))
    deaf.onReady = { _, _ in Issue.record("called without interest") }
    let timer = ClosureSource(
      LoopInterest(deadline: harness.loop.now.advanced(by: .milliseconds(5))))
    timer.onExpired = { _ in harness.loop.stop() }
    harness.loop.add(deaf)
    harness.loop.add(timer)
    try pipe.fileHandleForWriting.close()
    #expect(harness.run())
  }

  @Test func `a writer learns that its reader has gone without writing`() throws {
    let harness = try LoopHarness()
    let pipe = Pipe()
    let descriptor = pipe.fileHandleForWriting.fileDescriptor
    let source = ClosureSource(LoopInterest(descriptor: descriptor, events: .hangUp))
    source.onReady = { events, _ in
      #expect(events == .hangUp)
      harness.loop.stop()
    }
    harness.loop.add(source)
    try pipe.fileHandleForReading.close()
    #expect(harness.run())
  }

  @Test func `work posted from another thread is done on the loop, in its order`() throws {
    let harness = try LoopHarness()
    let wakeUp = harness.loop.wakeUp
    let thread = Thread {
      for index in 0..<1000 {
        wakeUp.post { loop in
          if index == 999 { loop.stop() }
        }
      }
    }
    thread.start()
    #expect(harness.run())
  }

  @Test func `hooks run before every wait`() throws {
    let harness = try LoopHarness()
    var rounds = 0
    harness.loop.beforeWait {
      rounds += 1
      if rounds == 3 { harness.loop.stop() }
      harness.loop.wakeUp.signal()
    }
    #expect(harness.run())
    #expect(rounds == 3)
  }

  @Test func `three thousand sources have their turn`() throws {
    let harness = try LoopHarness()
    var seen = 0
    for _ in 0..<3000 {
      let source = ClosureSource(LoopInterest(deadline: LoopInterest.immediately))
      source.onExpired = { [unowned source] _ in
        seen += 1
        harness.loop.remove(source)
        if seen == 3000 { harness.loop.stop() }
      }
      harness.loop.add(source)
    }
    #expect(harness.run())
    #expect(seen == 3000)
  }

  /// The loop polls a single source directly, and several sources as a set.
  @Test func `telling sources have their turn alone, among others, and alone again`() throws {
    let harness = try LoopHarness()
    let pipes = (0..<3).map { _ in Pipe() }
    var seen: [Int] = []
    var awaited: Set<Int> = []
    let sources = pipes.enumerated().map { number, pipe in
      TellingPipe(pipe) {
        seen.append(number)
        awaited.remove(number)
        if awaited.isEmpty { harness.loop.stop() }
      }
    }
    for (added, removed, ready) in [
      ([0], [], [0]), ([1, 2], [], [0, 1, 2]), ([], [0], [2, 1]), ([], [2], [1]), ([0], [1], [0]),
    ] {
      for number in added { harness.loop.add(telling: sources[number]) }
      for number in removed { harness.loop.remove(telling: sources[number]) }
      seen = []
      awaited = Set(ready)
      for number in ready { try pipes[number].fileHandleForWriting.write(contentsOf: [1]) }
      #expect(harness.run())
      #expect(Set(seen) == Set(ready) && seen.count == ready.count)
    }
  }

  @Test func `the only telling source is not called once another one's call has removed it`() throws
  {
    let harness = try LoopHarness()
    let (pipe, other) = (Pipe(), Pipe())
    var isCalled = false
    let telling = TellingPipe(pipe) { isCalled = true }
    let source = ClosureSource(
      LoopInterest(descriptor: other.fileHandleForReading.fileDescriptor, events: .read))
    source.onReady = { _, _ in
      harness.loop.remove(telling: telling)
      harness.loop.remove(source)
      harness.loop.stop()
    }
    harness.loop.add(telling: telling)
    harness.loop.add(source)
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
