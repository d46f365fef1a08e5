import PusherCore
import TestSupport
import Testing

struct `A queue, first in, first out` {
  @Test func `elements leave in the order in which they came, and one can be put before all`() {
    var queue = Fifo<Int>()
    for number in 1...3 { queue.append(number) }
    #expect(queue.popFirst() == 1)
    queue.prepend(9)
    queue.append(4)
    #expect(queue.count == 4 && queue.first == 9 && queue.last == 4)
    #expect(queue.takeAll() == [9, 2, 3, 4])
    #expect(queue.isEmpty && queue.popFirst() == nil)
  }

  @Test func `a removed element is released at once`() {
    final class Held {}
    var queue = Fifo<Held>()
    weak var held: Held?
    do {
      let object = Held()
      held = object
      for element in [object, Held(), Held()] { queue.append(element) }
    }
    _ = queue.popFirst()
    #expect(held == nil && queue.count == 2)
  }

  @Test func `whatever is added, changed and removed, it is what an array would be`() {
    var random = SeededGenerator(seed: 36)
    var queue = Fifo<Int>()
    var array: [Int] = []
    for round in 0..<20_000 {
      switch random.below(7) {
      case 0, 1, 2:
        queue.append(round)
        array.append(round)
      case 3:
        queue.prepend(round)
        array.insert(round, at: 0)
      case 4, 5: #expect(queue.popFirst() == (array.isEmpty ? nil : array.removeFirst()))
      default:
        guard !array.isEmpty else { continue }
        let place = random.below(array.count)
        #expect(queue[place] == array[place])
        queue[place] = -round
        array[place] = -round
      }
      #expect(queue.count == array.count && queue.first == array.first)
    }
    #expect(Array(queue) == array)
  }
}
