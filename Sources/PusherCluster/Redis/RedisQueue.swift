/// First in, first out, in constant time.
struct RedisQueue<Element> {
  private var elements: [Element?] = []
  private var start = 0

  var count: Int { elements.count - start }
  var isEmpty: Bool { start == elements.count }
  var first: Element? { isEmpty ? nil : elements[start] }

  mutating func append(_ element: Element) {
    elements.append(element)
  }

  mutating func popFirst() -> Element? {
    guard !isEmpty else { return nil }
    let element = elements[start]
    elements[start] = nil
    start += 1
    if start == elements.count {
      elements.removeAll(keepingCapacity: start <= 1024)
      start = 0
    } else if start >= 1024, start * 2 >= elements.count {
      elements.removeFirst(start)
      start = 0
    }
    return element
  }

  /// All that waits; afterwards nothing does.
  mutating func takeAll() -> [Element] {
    defer { self = RedisQueue() }
    return elements[start...].compactMap { $0 }
  }
}
