/// A queue: first in, first out.
///
/// Adding and removing take constant time on average, and a removed element is released at once.
/// Everything is inlinable: in other modules, unspecialised code costs several times as much.
@usableFromInline
package struct Fifo<Element> {
  /// The oldest elements, in reverse order.
  @usableFromInline internal var front: [Element] = []
  @usableFromInline internal var back: [Element] = []

  /// Empty arrays above this capacity are released, so that a burst does not hold memory for good.
  @inlinable internal static var keptCapacity: Int { 1024 }

  @inlinable package init() {}

  @inlinable package mutating func append(_ element: Element) { back.append(element) }
  @inlinable package mutating func prepend(_ element: Element) { front.append(element) }

  @inlinable package mutating func popFirst() -> Element? {
    if front.isEmpty {
      guard back.count > 1 else { return back.popLast() }
      // Both move the elements; a copy of each would cost more than the rest of the queue.
      swap(&front, &back)
      front.reverse()
    }
    defer { if front.isEmpty, front.capacity > Self.keptCapacity { front = [] } }
    return front.popLast()
  }

  @inlinable package mutating func takeAll() -> [Element] {
    defer { self = Fifo() }
    return Array(self)
  }
}

extension Fifo: RandomAccessCollection, MutableCollection {
  @inlinable package var startIndex: Int { 0 }
  @inlinable package var endIndex: Int { front.count + back.count }

  @inlinable package subscript(place: Int) -> Element {
    get { place < front.count ? front[front.count - 1 - place] : back[place - front.count] }
    set {
      if place < front.count {
        front[front.count - 1 - place] = newValue
      } else {
        back[place - front.count] = newValue
      }
    }
  }
}

extension Fifo: Sendable where Element: Sendable {}

extension Array {
  /// Removes and returns all elements.
  @inlinable package mutating func takeAll() -> [Element] {
    guard !isEmpty else { return [] }
    defer { removeAll(keepingCapacity: true) }
    return self
  }
}
