internal import CSystemEpoll

/// A source that tells when its ``LoopSource/interest`` may have changed, so that the loop asks it only then.
///
/// It tells by ``EventLoop/tell(_:)``. A call of ``LoopSource/ready(_:at:)`` or ``LoopSource/expired(at:)`` tells by
/// itself.
package protocol TellingSource: LoopSource {
  /// Where the loop keeps it; only the loop sets it.
  var place: LoopPlace? { get set }
}

/// Where a loop keeps a ``TellingSource``.
package struct LoopPlace: Sendable, Equatable {
  fileprivate let index: Int
  /// Another one for each source that was kept there.
  fileprivate let generation: UInt32

  /// As the system hands it back with what is ready.
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

/// The telling sources of a loop, by epoll(7): those that are idle cost a round nothing.
///
/// The set's own descriptor is one of those that the loop waits for. Each source is asked for its interest once it has
/// told, before the next wait, so that what has changed twice meanwhile costs no call of the system.
final class ReadinessSet {
  private struct Entry {
    var source: (any TellingSource)?
    var generation: UInt32 = 0
    /// Its number among all that were ever in the set.
    var order = 0
    /// What the system watches; -1 for nothing.
    var descriptor: Int32 = -1
    var watched = PollEvents()
    var deadline: Instant?
    var hasTold = false
  }

  /// The set's own; readable while any of its descriptors is ready.
  let descriptor: Int32
  private var entries: [Entry] = []
  private var free: [Int] = []
  /// Those to be asked.
  private var told: [Int] = []
  /// Empty but while they are asked; both keep their room.
  private var asked: [Int] = []
  /// Whether more were ready than one round calls.
  private(set) var hasMore = false
  /// Counts the sources, for their order.
  private var count = 0
  /// How many the system watches.
  private var watchedCount = 0
  /// The sum of their places: with one it is its place.
  private var watchedSum = 0
  /// Those with a deadline.
  private var timed: Set<Int> = []
  private var readyWords = [UInt64](repeating: 0, count: most)
  private var readyEvents = [UInt32](repeating: 0, count: most)

  /// As many are called in one round; the others are the first of the next.
  private static let most = 256

  /// `nil` where the system has no such set, or no descriptor left for one.
  init?() {
    descriptor = pusher_epoll_create()
    if descriptor < 0 { return nil }
  }

  deinit {
    Syscalls.closeDescriptor(descriptor)
  }

  // MARK: The sources

  func add(_ source: any TellingSource) {
    let index = free.popLast() ?? entries.count
    if index == entries.count { entries.append(Entry()) }
    count += 1
    entries[index].source = source
    entries[index].order = count
    source.place = LoopPlace(index: index, generation: entries[index].generation)
    tell(index)
  }

  /// Lets go of a source, whose descriptor must still be open.
  func remove(_ source: any TellingSource) {
    guard let index = index(of: source) else { return }
    source.place = nil
    unwatch(index)
    let generation = entries[index].generation &+ 1
    // Its turn to be asked may still come, and then finds nobody.
    entries[index] = Entry(generation: generation, hasTold: entries[index].hasTold)
    timed.remove(index)
    free.append(index)
  }

  func tell(_ source: any TellingSource) {
    if let index = index(of: source) { tell(index) }
  }

  private func tell(_ index: Int) {
    guard !entries[index].hasTold else { return }
    entries[index].hasTold = true
    told.append(index)
  }

  private func index(of source: any TellingSource) -> Int? {
    guard let place = source.place, place.generation == entries[place.index].generation else {
      return nil
    }
    return place.index
  }

  // MARK: Before the wait

  /// Asks those that have told; answers the earliest deadline of all.
  ///
  /// - Parameter refused: Gets each source that the system does not watch, and which is no longer in the set.
  func update(refused: (any TellingSource) -> Void) -> Instant? {
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

  /// Has the system watch what is wanted; false where it refuses.
  private func watch(_ interest: LoopInterest, _ index: Int) -> Bool {
    let isWatched = entries[index].descriptor >= 0
    // The system reports an end even if nothing is asked for.
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

  /// What to wait for in place of the set's own descriptor, which costs one call more: the only source that is watched,
  /// where there is one.
  var only: (place: LoopPlace, descriptor: Int32, events: PollEvents)? {
    guard watchedCount == 1 else { return nil }
    let entry = entries[watchedSum]
    let place = LoopPlace(index: watchedSum, generation: entry.generation)
    return (place, entry.descriptor, entry.watched)
  }

  private func control(
    _ operation: Int, _ interest: LoopInterest, _ index: Int
  ) -> Bool {
    let place = LoopPlace(index: index, generation: entries[index].generation)
    return pusher_epoll_control(
      descriptor, Int32(operation), interest.descriptor, UInt32(bitPattern: interest.events.bits),
      place.word) == 0
  }

  // MARK: After the wait

  /// Calls the sources that are ready, 256 at most; others wait for the next round.
  func dispatchReady(at now: Instant) {
    let count = unsafe Int(
      pusher_epoll_collect(descriptor, &readyWords, &readyEvents, Int32(Self.most)))
    hasMore = count == Self.most
    for number in 0..<count {
      let place = LoopPlace(word: readyWords[number])
      dispatch(place, Int32(bitPattern: readyEvents[number]), at: now)
    }
  }

  /// Calls the source that was the ``only`` one, and for which the loop itself has waited.
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

  /// The sources whose deadline has passed, in the order in which they were added.
  func late(at now: Instant) -> [(deadline: Instant, source: any TellingSource)] {
    var late = timed.map { entries[$0] }.filter { $0.deadline.map { $0 <= now } ?? false }
    late.sort { $0.order < $1.order }
    return late.compactMap { entry in
      guard let deadline = entry.deadline, let source = entry.source else { return nil }
      return (deadline, source)
    }
  }

  /// Calls a source that is late, unless it is gone, or has moved its deadline.
  func expire(_ source: any TellingSource, at now: Instant) {
    guard let index = index(of: source) else { return }
    tell(index)
    setDeadline(nil, of: index)
    if let current = source.interest.deadline, current <= now { source.expired(at: now) }
  }
}
