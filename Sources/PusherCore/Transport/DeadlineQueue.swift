/// Calls many sources at their deadlines, as one source of the loop.
///
/// A usual source costs each round of the loop a look at its deadline. Here a round costs the same
/// for one source as for 20,000. A source reports its deadline when it may have become earlier; a
/// later deadline needs no report, because the queue asks before each call.
package final class DeadlineQueue: LoopSource {
  private struct Entry {
    let deadline: Instant
    let source: any LoopSource
  }

  /// A heap with the earliest deadline on top; entries that ``planned`` does not know are stale.
  private var heap: [Entry] = []
  /// The deadline in the heap that counts, by source.
  private var planned: [ObjectIdentifier: Instant] = [:]

  package init() {}

  package var interest: LoopInterest { LoopInterest(deadline: heap.first?.deadline) }

  package func ready(_ events: PollEvents, at now: Instant) {}

  /// Reads the deadline of a source, which may have become earlier.
  package func note(_ source: any LoopSource) {
    guard let deadline = source.interest.deadline else { return }
    let key = ObjectIdentifier(source)
    if let known = planned[key], known <= deadline { return }
    planned[key] = deadline
    push(Entry(deadline: deadline, source: source))
  }

  /// Forgets a source, which is not called again.
  package func remove(_ source: any LoopSource) { planned[ObjectIdentifier(source)] = nil }

  package func expired(at now: Instant) {
    // Taken out first: a source that keeps a passed deadline has its next turn in the next round.
    var due: [any LoopSource] = []
    while let first = heap.first, first.deadline <= now {
      pop()
      let key = ObjectIdentifier(first.source)
      guard planned[key] == first.deadline else { continue }
      planned[key] = nil
      due.append(first.source)
    }
    for source in due {
      // A call for another source may have moved the deadline, or planned it anew.
      if let deadline = source.interest.deadline, deadline <= now { source.expired(at: now) }
      note(source)
    }
  }

  // MARK: The heap

  private func push(_ entry: Entry) {
    heap.append(entry)
    var place = heap.count - 1
    while place > 0, heap[place].deadline < heap[(place - 1) / 2].deadline {
      heap.swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  private func pop() {
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    var place = 0
    while true {
      var least = place
      for child in [2 * place + 1, 2 * place + 2]
      where child < heap.count && heap[child].deadline < heap[least].deadline {
        least = child
      }
      if least == place { return }
      heap.swapAt(place, least)
      place = least
    }
  }
}
