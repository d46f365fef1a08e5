internal import CSystemEpoll
internal import PusherPlatform

/// Waits for many descriptors and deadlines on one thread, with `poll` and a ``ReadinessSet``.
///
/// One round: posted work, the hooks of ``beforeWait(_:)``, the wait, then all ready and late
/// sources. A round allocates nothing once the number of sources is stable. Usual sources report
/// their interest before every wait, a ``ReportingSource`` only its changes: idle sockets cost
/// nothing.
@safe package final class EventLoop {
  package let wakeUp: WakeUp
  /// Ciphertext between a socket and TLS; empty between calls.
  let scratch = ByteBuffer(capacity: 262_144)
  package private(set) lazy var resolver = Resolver(wakeUp: wakeUp)
  package let tlsContexts = TLSContextCache()

  /// Maximum wait, in milliseconds: the clock of `poll` stops while the machine sleeps, ours does
  /// not, and an endless wait would hide that the process was stopped.
  private static let longestWait: Int64 = 10_000

  /// `nil` on systems without such a set; telling sources then act as usual ones.
  private let telling = ReadinessSet()
  /// A removed source is `nil` until ``compact()``.
  private var slots: [(source: (any LoopSource)?, deadline: Instant?)] = []
  private var places: [ObjectIdentifier: Int] = [:]
  private var holes = 0
  /// Entries for `poll`: the wake-up pipe, the set of telling sources or its only one, the others.
  private var entries: UnsafeMutableBufferPointer<pollfd>
  private var owners: [Int] = []
  private var only: LoopPlace?
  private var hooks: [() -> Void] = []
  private var members: [any LoopMember] = []
  private var isStopping = false
  /// True if this round is late; ready sources may then have been ready for long.
  package private(set) var hasStalled = false
  private var lastReturn: Instant?
  private static let stallTime = Duration.milliseconds(100)

  package init() throws(TransportError) {
    wakeUp = try WakeUp()
    unsafe entries = .allocate(capacity: 16)
  }

  deinit { unsafe entries.deallocate() }

  /// Current time of the clock; sources use the instant they are called with.
  package var now: Instant { SystemClock.now() }

  /// Adds and retains a source; adding it again does nothing.
  package func add(_ source: any LoopSource) {
    let key = ObjectIdentifier(source)
    guard places[key] == nil else { return }
    places[key] = slots.count
    slots.append((source, nil))
  }

  /// Adds a source that reports changes of its interest with ``tell(_:)``.
  package func add(telling source: any ReportingSource) {
    guard let telling else { return add(source) }
    telling.add(source)
  }

  /// Removes a telling source, whose descriptor must still be open.
  package func remove(telling source: any ReportingSource) {
    guard source.place != nil else { return remove(source) }
    telling?.remove(source)
  }

  /// Reports a possible change of interest; the loop reads it before the next wait.
  package func tell(_ source: any ReportingSource) { telling?.tell(source) }

  /// Removes a source, which is not called again.
  package func remove(_ source: any LoopSource) {
    guard let place = places.removeValue(forKey: ObjectIdentifier(source)) else { return }
    slots[place].source = nil
    holes += 1
  }

  /// Returns the source with this identity, for work posted by another thread; `nil` after removal.
  package func source(_ key: ObjectIdentifier) -> (any LoopSource)? {
    places[key].flatMap { slots[$0].source }
  }

  /// Calls `hook` before each wait, to flush the round's output.
  package func beforeWait(_ hook: @escaping () -> Void) { hooks.append(hook) }
  func add(member: any LoopMember) { members.append(member) }
  func remove(member: any LoopMember) { members.removeAll { $0 === member } }
  func endMembers() { for member in members { member.end() } }

  package func stop() { isStopping = true }

  package func run() {
    isStopping = false
    while !isStopping {
      for body in wakeUp.takeWork() { body(self) }
      for hook in hooks { hook() }
      for member in members { member.beginRound() }
      if isStopping { return }
      compact()
      let (count, deadline) = gather()
      let begin = now
      let limit = Self.milliseconds(from: begin, to: deadline)
      let isReady = wait(count, limit)
      let end = now
      noteStall(from: begin, to: end, limit)
      dispatch(isReady ? count : 0, at: end)
    }
  }

  /// Records a late round.
  ///
  /// A suspension shorter than the rest of the wait looks like the wait itself.
  private func noteStall(from begin: Instant, to end: Instant, _ limit: Int32) {
    let wasBusy = lastReturn.map { $0.duration(to: begin) > Self.stallTime } ?? false
    let overslept = begin.duration(to: end) > .milliseconds(Int64(limit)) + Self.stallTime
    // Sources that were ready then may have their turn only now.
    hasStalled = wasBusy || overslept || hasStalled && telling?.hasMore == true
    lastReturn = end
  }

  private static func milliseconds(from now: Instant, to deadline: Instant?) -> Int32 {
    guard let deadline else { return Int32(longestWait) }
    let left = max(now.duration(to: deadline).wholeNanoseconds, 0)
    let roundedUp = left / 1_000_000 + (left % 1_000_000 > 0 ? 1 : 0)
    return Int32(min(roundedUp, longestWait))
  }

  /// Closes gaps after removals; never during a round, which walks the slots.
  private func compact() {
    guard holes > 0 else { return }
    slots.removeAll { $0.source == nil }
    holes = 0
    for (place, slot) in slots.enumerated() {
      if let source = slot.source { places[ObjectIdentifier(source)] = place }
    }
  }

  private func gather() -> (count: Int, deadline: Instant?) {
    var earliest = telling?.update { add($0) }
    if unsafe entries.count <= slots.count + 1 {
      unsafe entries.deallocate()
      unsafe entries = .allocate(capacity: slots.count * 2 + 2)
    }
    unsafe entries[0] = pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0)
    unsafe entries[1] = readinessEntry()
    owners.removeAll(keepingCapacity: true)
    owners += [-1, -1]
    for place in slots.indices {
      guard let interest = slots[place].source?.interest else { continue }
      slots[place].deadline = interest.deadline
      earliest = Instant.earliest(earliest, interest.deadline)
      // `poll` reports an end even without requested events, and would then never wait.
      guard interest.descriptor >= 0 && !interest.events.isEmpty else { continue }
      unsafe entries[owners.count] = pollfd(
        fd: interest.descriptor, events: Int16(interest.events.bits), revents: 0)
      owners.append(place)
    }
    return (owners.count, earliest)
  }

  private func readinessEntry() -> pollfd {
    let one = telling?.only
    only = one?.place
    guard let one else {
      return pollfd(fd: telling?.descriptor ?? -1, events: Int16(POLLIN), revents: 0)
    }
    return pollfd(fd: one.descriptor, events: Int16(one.events.bits), revents: 0)
  }

  /// Returns true if a descriptor is ready, false after a timeout or a signal.
  private func wait(_ count: Int, _ milliseconds: Int32) -> Bool {
    do throws(SystemError) {
      let used = unsafe UnsafeMutableBufferPointer(rebasing: entries[..<count])
      return try unsafe SystemCalls.pollDescriptors(used, milliseconds: milliseconds) > 0
    } catch {
      // An interruption starts the next round, so that the signal handler's effects are seen.
      guard error == .invalid else { return false }
      return waitInParts(count, milliseconds)
    }
  }

  /// Polls in parts if the descriptor limit was lowered below the number of entries.
  private func waitInParts(_ count: Int, _ milliseconds: Int32) -> Bool {
    let size = max(SystemCalls.descriptorLimit, 1)
    var isReady = false
    for start in stride(from: 0, to: count, by: size) {
      let part = unsafe UnsafeMutableBufferPointer(
        rebasing: entries[start..<min(start + size, count)])
      for index in part.indices { unsafe part[index].revents = 0 }
      let found = try? unsafe SystemCalls.pollDescriptors(part, milliseconds: 0)
      isReady = isReady || found ?? 0 > 0
    }
    if !isReady { SystemCalls.pause(milliseconds: min(UInt32(bitPattern: milliseconds), 10)) }
    return isReady
  }

  private func dispatch(_ count: Int, at now: Instant) {
    if count > 0 && (unsafe entries[0].revents) != 0 { wakeUp.drain() }
    for index in 2..<max(count, 2) {
      let entry = unsafe entries[index]
      guard entry.revents != 0, let source = slots[owners[index]].source else { continue }
      source.ready(PollEvents(ready: Int32(entry.revents), asked: Int32(entry.events)), at: now)
    }
    if count > 0 { dispatchTelling(at: now) }
    // Sources added meanwhile have no deadline yet; the next round reads it.
    for late in lateSources(at: now) {
      switch late.who {
      case .slot(let place): expire(place, at: now)
      case .telling(let source): telling?.expire(source, at: now)
      }
    }
  }

  private func dispatchTelling(at now: Instant) {
    let events = unsafe entries[1].revents
    guard events != 0 else { return }
    if let only {
      telling?.dispatchOnly(only, ready: Int32(events), at: now)
    } else {
      telling?.dispatchReady(at: now)
    }
  }

  private func expire(_ place: Int, at now: Instant) {
    slots[place].deadline = nil
    guard let source = slots[place].source else { return }
    // The `ready` call may have moved the deadline.
    if let current = source.interest.deadline, current <= now { source.expired(at: now) }
  }

  private enum Late {
    case slot(Int)
    case telling(any ReportingSource)
  }

  /// Returns the late sources, earliest deadline first, so that a late loop keeps their order.
  private func lateSources(at now: Instant) -> [(deadline: Instant, order: Int, who: Late)] {
    var late: [(deadline: Instant, order: Int, who: Late)] = []
    for place in slots.indices {
      if let deadline = slots[place].deadline, deadline <= now {
        late.append((deadline, place, .slot(place)))
      }
    }
    for (deadline, source) in telling?.late(at: now) ?? [] {
      late.append((deadline, late.count + slots.count, .telling(source)))
    }
    if late.count > 1 { late.sort { ($0.deadline, $0.order) < ($1.deadline, $1.order) } }
    return late
  }
}

package struct PollEvents: OptionSet, Sendable, Hashable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let read = PollEvents(rawValue: 1)
  package static let write = PollEvents(rawValue: 2)
  /// The other end is gone; for sources that neither read nor write.
  package static let hangUp = PollEvents(rawValue: 4)
}

package struct LoopInterest: Sendable, Equatable {
  package var descriptor: Int32
  /// If empty, the descriptor is ignored, its end included.
  package var events: PollEvents
  /// Latest time of the next call; `nil` for never, ``immediately`` for at once.
  package var deadline: Instant?

  package init(descriptor: Int32 = -1, events: PollEvents = [], deadline: Instant? = nil) {
    (self.descriptor, self.events, self.deadline) = (descriptor, events, deadline)
  }

  package static let immediately = Instant(nanoseconds: .min)
}

/// A source of events for an ``EventLoop``: a descriptor, a deadline, or both.
///
/// All calls come on the loop's thread and may add and remove sources.
package protocol LoopSource: AnyObject {
  var interest: LoopInterest { get }

  /// The descriptor is ready; a hang-up or an error counts as all requested events.
  func ready(_ events: PollEvents, at now: Instant)

  func expired(at now: Instant)
}

extension LoopSource {
  package func ready(_ events: PollEvents, at now: Instant) {}
  package func expired(at now: Instant) {}
}

/// Calls its action once at its deadline, which may be moved until then.
package final class LoopTimer: LoopSource {
  /// `nil` for never, and after the call.
  package var deadline: Instant?
  private let action: () -> Void

  package init(deadline: Instant?, action: @escaping () -> Void) {
    (self.deadline, self.action) = (deadline, action)
  }

  package var interest: LoopInterest { LoopInterest(deadline: deadline) }

  package func expired(at now: Instant) {
    deadline = nil
    action()
  }
}

extension EventLoop {
  /// Calls `action` once after `time`; the timer stays in the loop until it is removed.
  @discardableResult
  package func schedule(after time: Duration, _ action: @escaping () -> Void) -> LoopTimer {
    let timer = LoopTimer(deadline: now.advanced(by: time), action: action)
    add(timer)
    return timer
  }

  /// Removes a timer, which is not called again.
  package func cancel(_ timer: inout LoopTimer?) {
    if let timer { remove(timer) }
    timer = nil
  }

  /// Runs until the condition holds, or `time` has passed; returns whether it holds.
  package func run(atMost time: Duration, until isSo: () -> Bool) -> Bool {
    var isLate = false
    let timer = schedule(after: time) { [unowned self] in
      isLate = true
      stop()
    }
    defer { remove(timer) }
    while !isSo(), !isLate { run() }
    return isSo()
  }
}

extension PollEvents {
  /// Bits for reading and writing; an end is always reported.
  var bits: Int32 {
    (contains(.read) ? Int32(POLLIN) : 0) | (contains(.write) ? Int32(POLLOUT) : 0)
  }

  /// Events of a descriptor; its end counts as all requested events.
  init(ready bits: Int32, asked: Int32) {
    let isOver = bits & Int32(POLLHUP | POLLERR | POLLNVAL) != 0
    self = isOver ? [.hangUp] : []
    let ready = isOver ? bits | asked : bits
    if ready & Int32(POLLIN) != 0 { insert(.read) }
    if ready & Int32(POLLOUT) != 0 { insert(.write) }
  }
}

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
private final class ReadinessSet {
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

  deinit { SystemCalls.closeDescriptor(descriptor) }

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

/// Wakes an ``EventLoop`` from threads and signal handlers, and posts work to it; late work is
/// dropped.
package final class WakeUp: Sendable {
  private let readEnd: Int32
  private let writeEnd: Int32
  private let work = Locked<[@Sendable (EventLoop) -> Void]>([])

  init() throws(TransportError) {
    do throws(SystemError) {
      (readEnd, writeEnd) = try SystemCalls.makePipe()
    } catch {
      throw .system(operation: "make a pipe", reason: error.description)
    }
    SystemCalls.makeNonBlocking(readEnd)
    SystemCalls.makeNonBlocking(writeEnd)
  }

  deinit {
    SystemCalls.closeDescriptor(readEnd)
    SystemCalls.closeDescriptor(writeEnd)
  }

  fileprivate var descriptor: Int32 { readEnd }

  /// Starts another round of the loop; several calls before that count as one.
  package func signal() {
    // A full pipe wakes the loop just as well, and other errors cannot happen.
    let byte: [UInt8] = [1]
    _ = unsafe byte.withUnsafeBytes { bytes in unsafe try? SystemCalls.writeBytes(writeEnd, bytes) }
  }

  /// Calls `body` on the loop's thread, in the order of posting.
  package func post(_ body: @escaping @Sendable (EventLoop) -> Void) {
    work.withLock { $0.append(body) }
    signal()
  }

  fileprivate func drain() {
    unsafe withUnsafeTemporaryAllocation(byteCount: 512, alignment: 1) { buffer in
      while let count = unsafe try? SystemCalls.readBytes(readEnd, buffer), count == buffer.count {}
    }
  }

  fileprivate func takeWork() -> [@Sendable (EventLoop) -> Void] {
    work.withLock { waiting in
      defer { waiting.removeAll() }
      return waiting
    }
  }
}

/// Calls many sources at their deadlines, as one source of the loop.
///
/// A usual source costs each round of the loop a look at its deadline. Here a round costs the same
/// for one source as for 20,000. A source reports its deadline when it may have become earlier; a
/// later deadline needs no report, because the queue asks before each call.
package final class DeadlineQueue: LoopSource {
  /// Sources by deadline; entries that ``planned`` does not know are stale.
  private var heap = TimeHeap<any LoopSource>()
  /// The deadline in the heap that counts, by source.
  private var planned: [ObjectIdentifier: Instant] = [:]

  package init() {}

  package var interest: LoopInterest { LoopInterest(deadline: heap.first?.time) }

  /// Reads the deadline of a source, which may have become earlier.
  package func note(_ source: any LoopSource) {
    guard let deadline = source.interest.deadline else { return }
    let key = ObjectIdentifier(source)
    if let known = planned[key], known <= deadline { return }
    planned[key] = deadline
    heap.add(source, at: deadline)
  }

  /// Forgets a source, which is not called again.
  package func remove(_ source: any LoopSource) { planned[ObjectIdentifier(source)] = nil }

  package func expired(at now: Instant) {
    // Taken out first: a source that keeps a passed deadline has its next turn in the next round.
    var due: [any LoopSource] = []
    while let (time, source) = heap.first, time <= now {
      heap.removeFirst()
      let key = ObjectIdentifier(source)
      guard planned[key] == time else { continue }
      planned[key] = nil
      due.append(source)
    }
    for source in due {
      // A call for another source may have moved the deadline, or planned it anew.
      if let deadline = source.interest.deadline, deadline <= now { source.expired(at: now) }
      note(source)
    }
  }
}

/// Calls its action at a time, to within microseconds where the system has such timers.
///
/// The loop rounds other deadlines up to whole milliseconds. Source: timerfd_create(2).
package final class PreciseTimer: LoopSource {
  /// -1 on systems without such timers, and without a free descriptor; the loop then calls.
  private let descriptor: Int32
  private let action: (Instant) -> Void

  /// - Parameter action: Gets the current time; it may set the next deadline.
  package init(action: @escaping (Instant) -> Void) {
    self.action = action
    descriptor = pusher_timer_create()
  }

  deinit { if descriptor >= 0 { SystemCalls.closeDescriptor(descriptor) } }

  /// `nil` for never, and after the call.
  package var deadline: Instant? {
    didSet {
      guard descriptor >= 0, deadline != oldValue else { return }
      // The system takes 0 for "off".
      _ = pusher_timer_set(descriptor, deadline.map { max($0.nanoseconds, 1) } ?? 0)
    }
  }

  package var interest: LoopInterest {
    guard descriptor >= 0 else { return LoopInterest(deadline: deadline) }
    return LoopInterest(descriptor: descriptor, events: deadline == nil ? [] : .read)
  }

  package func ready(_ events: PollEvents, at now: Instant) { call(at: now) }

  package func expired(at now: Instant) { call(at: now) }

  private func call(at now: Instant) {
    guard let time = deadline, time <= now else { return }
    deadline = nil
    action(now)
  }
}
