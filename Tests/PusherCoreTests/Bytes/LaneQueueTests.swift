import PusherCore
import TestSupport
import Testing

struct `Which item may start now` {
  private func queue(jobs: Int, _ events: String...) -> LaneQueue<String> {
    var queue = LaneQueue<String>(jobs: jobs)
    for event in events { queue.add(event, lane: String(event.prefix(1)), cost: 10) }
    return queue
  }

  private func startAll(_ queue: inout LaneQueue<String>) -> [LaneQueue<String>.Entry] {
    var started: [LaneQueue<String>.Entry] = []
    while let entry = queue.start() { started.append(entry) }
    return started
  }

  @Test func `with one job each waits for the one before, whatever its lane`() {
    var queue = queue(jobs: 1, "a1", "b2", "a3")
    var order: [String] = []
    while let entry = queue.start() {
      order.append(entry.item)
      #expect(queue.first == nil && queue.start() == nil)
      queue.end(entry)
    }
    #expect(order == ["a1", "b2", "a3"])
    #expect(queue.isEmpty && queue.cost == 0)
  }

  @Test func `an event that is not handled counts as one that came`() {
    var queue = queue(jobs: 1, "a1")
    queue.pass()
    #expect(queue.count == 2 && queue.waiting == 1)
  }

  @Test func `with several jobs lanes run beside each other, and a lane never beside itself`() {
    var queue = queue(jobs: 3, "a1", "a2", "b3", "c4", "d5")
    let started = startAll(&queue)
    #expect(started.map(\.item) == ["a1", "b3", "c4"])
    queue.end(started[1])
    #expect(startAll(&queue).map(\.item) == ["d5"])
    #expect(queue.first == nil)
    queue.end(started[0])
    #expect(startAll(&queue).map(\.item) == ["a2"])
  }

  @Test func `names that Unicode calls equal are lanes of their own`() {
    var queue = LaneQueue<Int>(jobs: 2)
    queue.add(1, lane: "\u{E9}", cost: 1)
    queue.add(2, lane: "e\u{301}", cost: 1)
    #expect(queue.start()?.item == 1 && queue.start()?.item == 2)
  }

  @Test func `an item that could not start is the first again`() {
    var queue = queue(jobs: 2, "a1", "a2", "b3")
    let entry = queue.start()
    entry.map { queue.putBack($0) }
    #expect(queue.waiting == 3 && queue.running == 0 && queue.cost == 30)
    #expect(startAll(&queue).map(\.item) == ["a1", "b3"])
  }

  @Test func `what waits is counted in events and bytes, and can be dropped`() {
    var queue = queue(jobs: 1, "a1", "a2", "a3")
    let entry = queue.start()
    #expect(queue.waiting == 2 && queue.cost == 20 && queue.running == 1)
    #expect(queue.drop() == 2)
    #expect(!queue.isEmpty && queue.cost == 0)
    entry.map { queue.end($0) }
    #expect(queue.isEmpty && queue.first == nil)
  }

  @Test func `items that wait can be taken out, in the order in which they came`() {
    var queue = queue(jobs: 2, "a1", "b2", "c3", "a4", "b5", "a6")
    let running = startAll(&queue)
    #expect(queue.takeWaiting().map(\.item) == ["c3", "a4", "b5", "a6"])
    #expect(queue.running == 2 && queue.waiting == 0 && queue.cost == 0 && queue.first == nil)
    for entry in running { queue.end(entry) }
    #expect(queue.isEmpty)
  }

  @Test(arguments: [1, 2, 5, 64])
  func `whatever ends when, all events start once and each lane in its order`(jobs: Int) {
    var random = SeededGenerator(seed: UInt64(jobs))
    var queue = LaneQueue<Int>(jobs: jobs)
    var running: [LaneQueue<Int>.Entry] = []
    var started: [String: [Int]] = [:]
    var added: [String: [Int]] = [:]
    for number in 0..<2000 {
      let lane = random.pick(["a", "b", "c", "d"])
      added[lane, default: []].append(number)
      queue.add(number, lane: lane, cost: number)
      while Bool.random(using: &random) || number == 1999 {
        if Bool.random(using: &random), !running.isEmpty {
          queue.end(running.remove(at: random.below(running.count)))
        } else if let entry = queue.start() {
          let name = added.first { $0.value.contains(entry.item) }?.key ?? ""
          started[name, default: []].append(entry.item)
          running.append(entry)
          #expect(running.count <= jobs)
        }
        if queue.isEmpty { break }
      }
    }
    #expect(queue.isEmpty && queue.cost == 0)
    #expect(started == added)
  }
}
