/// A driver that works on a shared loop, from joining until it leaves.
///
/// It belongs to the loop's thread.
package protocol LoopMember: AnyObject {
  /// Called before each wait: time to carry out orders.
  func beginRound()

  /// Asks the member to close what it has open, with a proper goodbye, and then to leave.
  func end()
}

/// A thread with an event loop for any number of members; it starts with the first one and ends with the last.
///
/// Any thread may use it.
package final class LoopThread: Sendable {
  /// What joins: its beginning, on the loop's thread, and who is told when there is no thread.
  private struct Entry: Sendable {
    let begin: @Sendable (EventLoop) -> any LoopMember
    let failed: @Sendable (String) -> Void
  }

  private struct Membership {
    /// Those who have joined and not left, those that wait for the thread included.
    var members = 0
    var isStarting = false
    /// Set while the loop runs.
    var wakeUp: WakeUp?
    /// Those who joined before the loop ran.
    var entries: [Entry] = []
    /// Called when the last member has left.
    var whenIdle: [@Sendable () -> Void] = []
  }

  /// The thread's name, as `ps -T` and debuggers show it; at most 15 bytes count.
  let name: String
  private let membership = Locked(Membership())

  init(name: String) {
    self.name = name
  }

  /// How many have joined and not left.
  var memberCount: Int { membership.withLock { $0.members } }

  /// Has `begin` called on the thread, and its member served until that leaves.
  ///
  /// `failed` gets the reason when the system has no thread, or nothing for a loop, left; it may be called on this thread.
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
    if let wakeUp {
      wakeUp.post { [self] in admit(entry, $0) }
    } else if needsThread {
      start()
    }
  }

  /// The member is called no more; the last one takes the thread with it.
  package func leave(_ member: any LoopMember, _ loop: EventLoop) {
    loop.remove(member: member)
    let whenIdle = membership.withLock { membership -> [@Sendable () -> Void] in
      membership.members -= 1
      guard membership.members == 0 else { return [] }
      // From here on a newcomer gets another thread.
      defer { membership = Membership() }
      loop.stop()
      return membership.whenIdle
    }
    for body in whenIdle { body() }
  }

  /// Ends every member, and calls `completion` when the last one has left; at once where there is none.
  ///
  /// Those that join meanwhile are ended too, if that is before the others have left.
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
    let hasStarted = DetachedThread.start(name: name) { [self] in
      do throws(TransportError) {
        run(try EventLoop())
      } catch {
        fail("\(error)")
      }
    }
    if !hasStarted { fail("the system gave no thread") }
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
