internal import PusherPlatform

/// Waits for many descriptors and deadlines on one thread, by `poll` and, where there is one, a ``ReadinessSet``.
///
/// Once around: posted work, the hooks of ``beforeWait(_:)``, the wait, then every source that is ready or late. Nothing
/// is allocated once the number of sources has settled. A usual source is asked for its interest before every wait; a
/// ``TellingSource`` only after it has told, so that thousands of idle sockets cost nothing.
@safe package final class EventLoop {
  /// For other threads and signal handlers.
  package let wakeUp: WakeUp
  /// Ciphertext on its way from a socket into TLS; empty between two calls.
  let scratch = ByteBuffer(capacity: 262_144)
  /// Names to addresses, answers on this loop.
  package private(set) lazy var resolver = Resolver(wakeUp: wakeUp)
  /// The TLS contexts of everything on this loop.
  package let tlsContexts = TLSContextCache()

  private struct Slot {
    /// `nil` after removal, until the slots are compacted.
    var source: (any LoopSource)?
    var deadline: Instant?
  }

  /// A sleeping machine stops the clock of `poll` but not ours, and a wait without a limit hides that the process was
  /// stopped: so a long wait is split.
  private static let longestWait: Int64 = 10_000

  /// The telling sources; `nil` where the system has no such set, and they are asked like all others.
  private let telling = ReadinessSet()
  private var slots: [Slot] = []
  private var places: [ObjectIdentifier: Int] = [:]
  private var holes = 0
  /// What `poll` looks at; the first entry is the wake-up pipe, the second the set of the telling sources, or the only one
  /// of them that waits.
  private var entries: UnsafeMutableBufferPointer<pollfd>
  /// The slot of each entry of `entries`.
  private var owners: [Int] = []
  /// The telling source that the second entry is.
  private var only: LoopPlace?
  private var hooks: [() -> Void] = []
  private var members: [any LoopMember] = []
  private var isStopping = false
  /// Whether this round comes late, because the thread was busy, or the process or the machine asleep.
  ///
  /// Anything that is ready may have been so for long.
  package private(set) var hasStalled = false
  /// When the last wait was over.
  private var lastReturn: Instant?

  /// What is late by less is not.
  private static let stallTime = Duration.milliseconds(100)

  package init() throws(TransportError) {
    wakeUp = try WakeUp()
    unsafe entries = .allocate(capacity: 16)
  }

  deinit {
    unsafe entries.deallocate()
  }

  /// The clock's time; sources use the instant they are called with.
  package var now: Instant { SystemClock.now() }

  /// Takes a source in and keeps it alive; one that is in already stays as it is.
  package func add(_ source: any LoopSource) {
    let key = ObjectIdentifier(source)
    guard places[key] == nil else { return }
    places[key] = slots.count
    slots.append(Slot(source: source))
  }

  /// Takes a source in that tells when its interest may have changed.
  package func add(telling source: any TellingSource) {
    guard let telling else { return add(source) }
    telling.add(source)
  }

  /// Lets go of a telling source, whose descriptor must still be open.
  package func remove(telling source: any TellingSource) {
    guard source.place != nil else { return remove(source) }
    telling?.remove(source)
  }

  /// A telling source's interest may have changed: it is asked before the next wait.
  package func tell(_ source: any TellingSource) {
    telling?.tell(source)
  }

  /// Lets go of a source, which is not called again.
  package func remove(_ source: any LoopSource) {
    guard let place = places.removeValue(forKey: ObjectIdentifier(source)) else { return }
    slots[place].source = nil
    holes += 1
  }

  /// The source with this identity, for work that another thread posts; `nil` when the loop has let go of it.
  package func source(_ key: ObjectIdentifier) -> (any LoopSource)? {
    places[key].flatMap { slots[$0].source }
  }

  /// Calls `hook` before each wait, to flush the output of the last round.
  package func beforeWait(_ hook: @escaping () -> Void) {
    hooks.append(hook)
  }

  /// Serves a member of the loop's thread, and keeps it alive.
  func add(member: any LoopMember) {
    members.append(member)
  }

  func remove(member: any LoopMember) {
    members.removeAll { $0 === member }
  }

  /// Asks all members to end.
  func endMembers() {
    for member in members { member.end() }
  }

  /// How many loops this machine can run at the same time; at least one.
  package static var processorCount: Int { Syscalls.processorCount }

  /// Lets a millisecond pass within a round, while another thread does something that this one needs.
  package func pause() {
    Syscalls.pause(milliseconds: 1)
  }

  /// Makes ``run()`` return after the current round.
  package func stop() {
    isStopping = true
  }

  /// Goes round until ``stop()``.
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

  /// Notes whether the thread came late to its wait, or back from it.
  ///
  /// A stop that is shorter than the rest of the wait, ``longestWait`` at most, cannot be told from the wait.
  private func noteStall(from begin: Instant, to end: Instant, _ limit: Int32) {
    let wasBusy = lastReturn.map { $0.duration(to: begin) > Self.stallTime } ?? false
    let overslept = begin.duration(to: end) > .milliseconds(Int64(limit)) + Self.stallTime
    // Some of those that were ready then may have their turn only now.
    hasStalled = wasBusy || overslept || hasStalled && telling?.hasMore == true
    lastReturn = end
  }

  /// How long to wait, ``longestWait`` at most.
  private static func milliseconds(from now: Instant, to deadline: Instant?) -> Int32 {
    guard let deadline else { return Int32(longestWait) }
    let left = max(now.duration(to: deadline).wholeNanoseconds, 0)
    let roundedUp = left / 1_000_000 + (left % 1_000_000 > 0 ? 1 : 0)
    return Int32(min(roundedUp, longestWait))
  }

  /// Closes the gaps that removals left; not during a round, when slots are being walked.
  private func compact() {
    guard holes > 0 else { return }
    slots.removeAll { $0.source == nil }
    holes = 0
    for (place, slot) in slots.enumerated() {
      if let source = slot.source { places[ObjectIdentifier(source)] = place }
    }
  }

  /// Asks every source; answers how many entries there are for `poll`, and the earliest deadline.
  private func gather() -> (count: Int, deadline: Instant?) {
    var earliest = telling?.update { add($0) }
    if unsafe entries.count <= slots.count + 1 {
      unsafe entries.deallocate()
      unsafe entries = .allocate(capacity: slots.count * 2 + 2)
    }
    unsafe entries[0] = pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0)
    unsafe entries[1] = tellingEntry()
    owners.removeAll(keepingCapacity: true)
    owners += [-1, -1]
    for place in slots.indices {
      guard let interest = slots[place].source?.interest else { continue }
      slots[place].deadline = interest.deadline
      earliest = Instant.earliest(earliest, interest.deadline)
      // `poll` reports an end even if nothing is asked for, and would then never wait.
      guard interest.descriptor >= 0 && !interest.events.isEmpty else { continue }
      unsafe entries[owners.count] = pollfd(
        fd: interest.descriptor, events: Int16(interest.events.bits), revents: 0)
      owners.append(place)
    }
    return (owners.count, earliest)
  }

  /// What stands for the telling sources, and notes whether it is one of them.
  private func tellingEntry() -> pollfd {
    let one = telling?.only
    only = one?.place
    guard let one else {
      // A negative descriptor is passed over.
      return pollfd(fd: telling?.descriptor ?? -1, events: Int16(POLLIN), revents: 0)
    }
    return pollfd(fd: one.descriptor, events: Int16(one.events.bits), revents: 0)
  }

  /// True when a descriptor is ready, false when only time has passed or a signal has come.
  private func wait(_ count: Int, _ milliseconds: Int32) -> Bool {
    do throws(SystemError) {
      let used = unsafe UnsafeMutableBufferPointer(rebasing: entries[..<count])
      return try unsafe Syscalls.pollDescriptors(used, milliseconds: milliseconds) > 0
    } catch {
      // An interruption goes round once more, so that what a signal handler did is seen; so does a lack of memory.
      guard error == .invalid else { return false }
      return waitInParts(count, milliseconds)
    }
  }

  /// Waits although there are more descriptors than `poll` takes, since the limit on them was lowered meanwhile.
  private func waitInParts(_ count: Int, _ milliseconds: Int32) -> Bool {
    let size = max(DescriptorLimit.current, 1)
    var isReady = false
    for start in stride(from: 0, to: count, by: size) {
      let part = unsafe UnsafeMutableBufferPointer(
        rebasing: entries[start..<min(start + size, count)])
      for index in part.indices { unsafe part[index].revents = 0 }
      let found = try? unsafe Syscalls.pollDescriptors(part, milliseconds: 0)
      isReady = isReady || found ?? 0 > 0
    }
    if !isReady { Syscalls.pause(milliseconds: min(UInt32(bitPattern: milliseconds), 10)) }
    return isReady
  }

  /// Calls the sources that were there before the wait and are there still.
  private func dispatch(_ count: Int, at now: Instant) {
    if count > 0 && (unsafe entries[0].revents) != 0 { wakeUp.drain() }
    for index in 2..<max(count, 2) {
      let entry = unsafe entries[index]
      guard entry.revents != 0, let source = slots[owners[index]].source else { continue }
      source.ready(
        PollEvents(ready: Int32(entry.revents), asked: Int32(entry.events)), at: now)
    }
    if count > 0 { dispatchTelling(at: now) }
    // Those added meanwhile have no deadline yet, and are asked before the next wait.
    for late in lateOnes(at: now) {
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
    // Being ready may have moved the deadline.
    if let current = source.interest.deadline, current <= now { source.expired(at: now) }
  }

  /// A source whose deadline has passed.
  private enum Late {
    case slot(Int)
    case telling(any TellingSource)
  }

  /// The sources whose deadline has passed, the earliest first: a late loop keeps their order.
  private func lateOnes(at now: Instant) -> [(deadline: Instant, order: Int, who: Late)] {
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
