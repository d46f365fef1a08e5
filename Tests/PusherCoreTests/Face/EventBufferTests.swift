import TestSupport
import Testing

@testable import PusherCore

struct `The buffer of a sequence` {
  private func gap(_ from: Int64, _ to: Int64) -> PusherGap {
    PusherGap(from: WallTime(millisecondsSince1970: from), to: WallTime(millisecondsSince1970: to))
  }

  private func all(_ buffer: inout EventBuffer<Int>) -> [PusherFeedElement<Int>] {
    var elements: [PusherFeedElement<Int>] = []
    while let element = buffer.take() { elements.append(element) }
    return elements
  }

  @Test func `newest tells a loss before the events that are left`() {
    var buffer = EventBuffer<Int>(.newest(3))
    #expect((0..<5).map { buffer.add($0) } == [false, false, false, true, true])
    #expect(all(&buffer) == [.lost(2), .event(2), .event(3), .event(4)])
    let isNextDropped = buffer.add(9)
    #expect(!isNextDropped)
    #expect(all(&buffer) == [.event(9)])
    #expect(buffer.droppedCount == 2)
  }

  @Test func `oldest tells a loss where the next event would stand`() {
    var buffer = EventBuffer<Int>(.oldest(2))
    #expect((0..<5).map { buffer.add($0) } == [false, false, true, true, true])
    #expect(buffer.take() == .event(0))
    buffer.add(5)
    buffer.add(6)
    #expect(all(&buffer) == [.event(1), .lost(3), .event(5), .lost(1)])
  }

  @Test func `a gap stays in its place when the events around it are dropped`() {
    var buffer = EventBuffer<Int>(.newest(2))
    for number in 0..<2 { buffer.add(number) }
    buffer.add(gap(10, 20))
    for number in 2..<5 { buffer.add(number) }
    #expect(all(&buffer) == [.lost(2), .gap(gap(10, 20)), .lost(1), .event(3), .event(4)])
  }

  @Test(arguments: [PusherBuffering.unbounded, .suspending(1), .newest(1), .oldest(1)])
  func `a server that hangs up again and again cannot fill it`(_ buffering: PusherBuffering) {
    var buffer = EventBuffer<Int>(buffering)
    for number in 0..<1000 {
      buffer.add(gap(Int64(number), Int64(number) + 1))
      if number < 20 { buffer.add(number) }
    }
    let elements = all(&buffer)
    let gaps = elements.compactMap { element -> PusherGap? in
      if case .gap(let gap) = element { gap } else { nil }
    }
    #expect(gaps.count == 16)
    #expect(gaps.first?.from.millisecondsSince1970 == 0)
    #expect(gaps.last?.to.millisecondsSince1970 == 1000)
    #expect(elements.count <= 16 + 20)
  }

  @Test func `suspending and unbounded drop nothing, and only the first is ever full`() {
    for (buffering, isFull) in [(PusherBuffering.suspending(4), true), (.unbounded, false)] {
      var buffer = EventBuffer<Int>(buffering)
      for number in 0..<3 { buffer.add(number) }
      #expect(!buffer.isFull)
      for number in 3..<10 { buffer.add(number) }
      #expect(buffer.isFull == isFull)
      #expect(buffer.hasRoom != isFull)
      for number in 0..<8 { #expect(buffer.take() == .event(number)) }
      #expect(buffer.hasRoom)
      #expect(all(&buffer) == [.event(8), .event(9)])
      #expect(buffer.droppedCount == 0)
    }
  }

  @Test(arguments: [PusherBuffering.newest(5), .oldest(5), .suspending(5), .unbounded])
  func `each event is given or counted once, in order, always`(_ buffering: PusherBuffering) {
    var random = SeededGenerator(seed: 14)
    var buffer = EventBuffer<Int>(buffering)
    var (next, expected) = (0, 0)
    func check(_ element: PusherFeedElement<Int>?) {
      switch element {
      case .event(let number):
        #expect(number == expected)
        expected += 1
      case .lost(let count): expected += count
      case .gap, .recovered, nil: break
      }
    }
    for _ in 0..<5000 {
      switch random.next() % 8 {
      case 0..<4:
        buffer.add(next)
        next += 1
      case 4: buffer.add(gap(1, 2))
      default: check(buffer.take())
      }
    }
    while let element = buffer.take() { check(element) }
    #expect(expected == next)
  }

  @Test func `recovered counts keep their places, and above the limit they join the last one`() {
    var buffer = EventBuffer<Int>(.unbounded)
    for number in 1...20 {
      buffer.add(number)
      buffer.add(recovered: number)
    }
    var counts: [Int] = []
    var events = 0
    while let element = buffer.take() {
      if case .recovered(let count) = element { counts.append(count) } else { events += 1 }
    }
    #expect(counts == Array(1...15) + [(16...20).reduce(0, +)])
    #expect(events == 20)
  }
}
