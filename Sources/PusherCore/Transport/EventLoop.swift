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

  private struct Slot {
    /// `nil` after removal, until ``compact()``.
    var source: (any LoopSource)?
    var deadline: Instant?
  }

  /// Maximum wait, in milliseconds: the clock of `poll` stops while the machine sleeps, ours does
  /// not, and an endless wait would hide that the process was stopped.
  private static let longestWait: Int64 = 10_000

  /// `nil` on systems without such a set; telling sources then act as usual ones.
  private let telling = ReadinessSet()
  private var slots: [Slot] = []
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
    slots.append(Slot(source: source))
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

  package static var processorCount: Int { Syscalls.processorCount }

  /// Sleeps 1 ms within a round, while another thread does something that this one needs.
  package func pause() { Syscalls.pause(milliseconds: 1) }
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
      return try unsafe Syscalls.pollDescriptors(used, milliseconds: milliseconds) > 0
    } catch {
      // An interruption starts the next round, so that the signal handler's effects are seen.
      guard error == .invalid else { return false }
      return waitInParts(count, milliseconds)
    }
  }

  /// Polls in parts if the descriptor limit was lowered below the number of entries.
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
