internal import CSystemEpoll

/// A source that reports changes of its ``LoopSource/interest`` with ``EventLoop/tell(_:)``.
///
/// The loop also reads the interest after each of its calls.
package protocol ReportingSource: LoopSource {
  /// Position in the loop; only the loop sets it.
  var place: LoopPlace? { get set }
}

package struct LoopPlace: Sendable, Equatable {
  fileprivate let index: Int
  /// Differs for each source that used this position.
  fileprivate let generation: UInt32

  /// The form in which epoll returns it with ready events.
  fileprivate var word: UInt64 {
    UInt64(generation) << 32 | UInt64(UInt32(truncatingIfNeeded: index))
  }

  fileprivate init(index: Int, generation: UInt32) {
    (self.index, self.generation) = (index, generation)
  }

  fileprivate init(word: UInt64) {
    self.init(index: Int(word & 0xFFFF_FFFF), generation: UInt32(word >> 32))
  }
}

/// The telling sources of a loop, watched by epoll(7): idle sources cost a round nothing.
///
/// Changes are read once before the next wait, so that several cost one system call.
final class ReadinessSet {
  private struct Entry {
    var source: (any ReportingSource)?
    var generation: UInt32 = 0
    var order = 0
    var descriptor: Int32 = -1
    var watched = PollEvents()
    var deadline: Instant?
    var hasTold = false
  }

  /// The set's own descriptor, readable while any watched descriptor is ready.
  let descriptor: Int32
  private var entries: [Entry] = []
  private var free: [Int] = []
  private var told: [Int] = []
  /// Used only during ``update(refused:)``; both arrays keep their capacity.
  private var asked: [Int] = []
  /// True if more sources were ready than one round calls.
  private(set) var hasMore = false
  private var count = 0
  private var watchedCount = 0
  /// Sum of the watched indices: the index itself if only one is watched.
  private var watchedSum = 0
  private var timed: Set<Int> = []
  private var readyWords = [UInt64](repeating: 0, count: most)
  private var readyEvents = [UInt32](repeating: 0, count: most)

  /// Maximum number of sources called in one round; the others are first in the next.
  private static let most = 256

  /// Returns `nil` if the system has no such set or no free descriptor.
  init?() {
    descriptor = pusher_epoll_create()
    if descriptor < 0 { return nil }
  }

  deinit { Syscalls.closeDescriptor(descriptor) }

  // MARK: The sources

  func add(_ source: any ReportingSource) {
    let index = free.popLast() ?? entries.count
    if index == entries.count { entries.append(Entry()) }
    count += 1
    entries[index].source = source
    entries[index].order = count
    source.place = LoopPlace(index: index, generation: entries[index].generation)
    tell(index)
  }

  func remove(_ source: any ReportingSource) {
    guard let index = index(of: source) else { return }
    source.place = nil
    unwatch(index)
    let generation = entries[index].generation &+ 1
    // The entry may still be in `told`, now without a source.
    entries[index] = Entry(generation: generation, hasTold: entries[index].hasTold)
    timed.remove(index)
    free.append(index)
  }

  func tell(_ source: any ReportingSource) { if let index = index(of: source) { tell(index) } }

  private func tell(_ index: Int) {
    guard !entries[index].hasTold else { return }
    entries[index].hasTold = true
    told.append(index)
  }

  private func index(of source: any ReportingSource) -> Int? {
    guard let place = source.place, place.generation == entries[place.index].generation else {
      return nil
    }
    return place.index
  }

  // MARK: Before the wait

  /// Reads the reported interests; returns the earliest deadline of all sources.
  ///
  /// `refused` gets each removed source that the system cannot watch.
  func update(refused: (any ReportingSource) -> Void) -> Instant? {
    swap(&told, &asked)
    defer { asked.removeAll(keepingCapacity: true) }
    for index in asked {
      entries[index].hasTold = false
      guard let source = entries[index].source else { continue }
      let interest = source.interest
      setDeadline(interest.deadline, of: index)
      if !watch(interest, index) {
        remove(source)
        refused(source)
      }
    }
    return timed.reduce(nil) { Instant.earliest($0, entries[$1].deadline) }
  }

  private func setDeadline(_ deadline: Instant?, of index: Int) {
    guard deadline != entries[index].deadline else { return }
    entries[index].deadline = deadline
    if deadline == nil { timed.remove(index) } else { timed.insert(index) }
  }

  private func watch(_ interest: LoopInterest, _ index: Int) -> Bool {
    let isWatched = entries[index].descriptor >= 0
    // The system reports an end even without requested events.
    guard interest.descriptor >= 0, !interest.events.isEmpty else {
      unwatch(index)
      return true
    }
    if isWatched, entries[index].descriptor == interest.descriptor {
      guard entries[index].watched != interest.events else { return true }
      guard control(pusher_epoll_change, interest, index) else { return false }
    } else {
      unwatch(index)
      guard control(pusher_epoll_add, interest, index) else { return false }
    }
    if entries[index].descriptor < 0 {
      watchedCount += 1
      watchedSum += index
    }
    entries[index].descriptor = interest.descriptor
    entries[index].watched = interest.events
    return true
  }

  private func unwatch(_ index: Int) {
    let former = entries[index].descriptor
    guard former >= 0 else { return }
    _ = control(pusher_epoll_remove, LoopInterest(descriptor: former), index)
    entries[index].descriptor = -1
    entries[index].watched = []
    watchedCount -= 1
    watchedSum -= index
  }

  /// The only watched source, if there is just one: waiting for it directly saves a system call.
  var only: (place: LoopPlace, descriptor: Int32, events: PollEvents)? {
    guard watchedCount == 1 else { return nil }
    let entry = entries[watchedSum]
    let place = LoopPlace(index: watchedSum, generation: entry.generation)
    return (place, entry.descriptor, entry.watched)
  }

  private func control(_ operation: Int, _ interest: LoopInterest, _ index: Int) -> Bool {
    let place = LoopPlace(index: index, generation: entries[index].generation)
    return pusher_epoll_control(
      descriptor, Int32(operation), interest.descriptor, UInt32(bitPattern: interest.events.bits),
      place.word) == 0
  }

  // MARK: After the wait

  func dispatchReady(at now: Instant) {
    let count = unsafe Int(
      pusher_epoll_collect(descriptor, &readyWords, &readyEvents, Int32(Self.most)))
    hasMore = count == Self.most
    for number in 0..<count {
      let place = LoopPlace(word: readyWords[number])
      dispatch(place, Int32(bitPattern: readyEvents[number]), at: now)
    }
  }

  /// Calls the ``only`` source, which the loop itself has waited for.
  func dispatchOnly(_ place: LoopPlace, ready bits: Int32, at now: Instant) {
    hasMore = false
    dispatch(place, bits, at: now)
  }

  private func dispatch(_ place: LoopPlace, _ bits: Int32, at now: Instant) {
    // Another source's call may have removed it.
    guard place.index < entries.count, entries[place.index].generation == place.generation,
      let source = entries[place.index].source
    else { return }
    tell(place.index)
    source.ready(PollEvents(ready: bits, asked: entries[place.index].watched.bits), at: now)
  }

  /// Returns the sources with a passed deadline, in the order of their addition.
  func late(at now: Instant) -> [(deadline: Instant, source: any ReportingSource)] {
    var late = timed.map { entries[$0] }.filter { $0.deadline.map { $0 <= now } ?? false }
    late.sort { $0.order < $1.order }
    return late.compactMap { entry in
      guard let deadline = entry.deadline, let source = entry.source else { return nil }
      return (deadline, source)
    }
  }

  /// Calls a late source unless it is gone or has moved its deadline.
  func expire(_ source: any ReportingSource, at now: Instant) {
    guard let index = index(of: source) else { return }
    tell(index)
    setDeadline(nil, of: index)
    if let current = source.interest.deadline, current <= now { source.expired(at: now) }
  }
}
