/// A driver on a shared loop's thread, from joining to leaving.
package protocol LoopMember: AnyObject {
  func beginRound()

  /// Closes all connections properly, then leaves.
  func end()
}

/// A thread with an event loop for its members, while there are any; any thread may use it.
package final class LoopThread: Sendable {
  private struct Entry: Sendable {
    let begin: @Sendable (EventLoop) -> any LoopMember
    let failed: @Sendable (String) -> Void
  }

  private struct Membership {
    /// Members that have not left, including those that wait for the thread.
    var members = 0
    var isStarting = false
    var wakeUp: WakeUp?
    var entries: [Entry] = []
    var whenIdle: [@Sendable () -> Void] = []
  }

  let name: String
  private let membership = Locked(Membership())

  init(name: String) { self.name = name }

  var memberCount: Int { membership.withLock { $0.members } }

  /// Calls `begin` on the thread and serves its member until that leaves.
  ///
  /// `failed` gets the reason if the system lacks resources, maybe on this thread.
  package func join(
    _ begin: @escaping @Sendable (EventLoop) -> any LoopMember,
    failed: @escaping @Sendable (String) -> Void
  ) {
    let entry = Entry(begin: begin, failed: failed)
    let (wakeUp, needsThread) = membership.withLock { membership -> (WakeUp?, Bool) in
      membership.members += 1
      if let wakeUp = membership.wakeUp { return (wakeUp, false) }
      membership.entries.append(entry)
      defer { membership.isStarting = true }
      return (nil, !membership.isStarting)
    }
    if let wakeUp { wakeUp.post { [self] in admit(entry, $0) } } else if needsThread { start() }
  }

  package func leave(_ member: any LoopMember, _ loop: EventLoop) {
    loop.remove(member: member)
    let whenIdle = membership.withLock { membership -> [@Sendable () -> Void] in
      membership.members -= 1
      guard membership.members == 0 else { return [] }
      // From here on, a new member gets another thread.
      defer { membership = Membership() }
      loop.stop()
      return membership.whenIdle
    }
    for body in whenIdle { body() }
  }

  /// Ends every member, also new ones, and calls `completion` after the last one left.
  package func endAll(completion: @escaping @Sendable () -> Void) {
    let (isIdle, wakeUp) = membership.withLock { membership -> (Bool, WakeUp?) in
      guard membership.members > 0 else { return (true, nil) }
      membership.whenIdle.append(completion)
      return (false, membership.wakeUp)
    }
    if isIdle { return completion() }
    wakeUp?.post { $0.endMembers() }
  }

  private func start() {
    let hasStarted = DetachedThread.start(name: name, signals: .ofCaller) { [self] in
      do throws(TransportError) {
        run(try EventLoop())
      } catch {
        fail("\(error)")
      }
    }
    if !hasStarted { fail("cannot start a thread") }
  }

  private func run(_ loop: EventLoop) {
    let entries = membership.withLock { membership in
      membership.wakeUp = loop.wakeUp
      defer { membership.entries = [] }
      return membership.entries
    }
    for entry in entries { admit(entry, loop) }
    loop.run()
  }

  private func admit(_ entry: Entry, _ loop: EventLoop) {
    let member = entry.begin(loop)
    loop.add(member: member)
    if membership.withLock({ !$0.whenIdle.isEmpty }) { member.end() }
  }

  private func fail(_ reason: String) {
    let membership = membership.withLock { membership in
      defer { membership = Membership() }
      return membership
    }
    for entry in membership.entries { entry.failed(reason) }
    for body in membership.whenIdle { body() }
  }
}
