internal import PusherPlatform

/// A driver on a shared loop's thread, from joining to leaving.
package protocol LoopMember: AnyObject, SendableMetatype {
  func beginRound()

  /// Closes all connections properly, then leaves.
  func end()
}

/// A thread with an event loop for its members, while there are any; any thread may use it.
package final class LoopThread: Sendable {
  private typealias Entry = (
    begin: @Sendable (EventLoop) -> any LoopMember, failed: @Sendable (String) -> Void
  )

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
  func join(
    _ begin: @escaping @Sendable (EventLoop) -> any LoopMember,
    failed: @escaping @Sendable (String) -> Void
  ) {
    let entry: Entry = (begin, failed)
    let (wakeUp, needsThread) = membership.withLock { membership -> (WakeUp?, Bool) in
      membership.members += 1
      if let wakeUp = membership.wakeUp { return (wakeUp, false) }
      membership.entries.append(entry)
      defer { membership.isStarting = true }
      return (nil, !membership.isStarting)
    }
    if let wakeUp { wakeUp.post { [self] in admit(entry, $0) } } else if needsThread { start() }
  }

  func leave(_ member: any LoopMember, _ loop: EventLoop) {
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
    let hasStarted = DetachedThread.start(name: name, takesSignals: true) { [self] in
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

/// Orders from any thread to a member of a ``LoopThread`` that exists only while it has work.
package final class OnDemandThread<Member: LoopMember>: Sendable {
  package typealias Order = @Sendable (Member) -> Void
  private typealias Orders = (
    waiting: [(order: Order, failed: @Sendable (String) -> Void)], hasThread: Bool, wakeUp: WakeUp?
  )

  private let thread: LoopThread
  private let orders = Locked<Orders>(([], false, nil))

  package init(_ thread: LoopThread) { self.thread = thread }

  var isWorking: Bool { orders.withLock { $0.hasThread } }

  /// Posts an order; `begin` makes the member if there is none.
  ///
  /// `failed` gets the reason if the order is lost: there is no member and no `begin`, or no thread
  /// of the system is left.
  package func post(
    _ order: @escaping Order, begin: (@Sendable (EventLoop) -> Member)? = nil,
    failed: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    let (hadThread, wakeUp) = orders.withLock { orders -> (Bool, WakeUp?) in
      let hadThread = orders.hasThread
      guard hadThread || begin != nil else { return (false, nil) }
      orders.hasThread = true
      orders.waiting.append((order, failed))
      return (hadThread, orders.waiting.count == 1 ? orders.wakeUp : nil)
    }
    wakeUp?.signal()
    guard !hadThread else { return }
    guard let begin else { return failed("it has no thread") }
    thread.join { [self] loop in
      orders.withLock { $0.wakeUp = loop.wakeUp }
      return begin(loop)
    } failed: { [self] reason in
      let lost = orders.withLock { orders in
        defer { orders = ([], false, nil) }
        return orders.waiting
      }
      for order in lost { order.failed(reason) }
    }
  }

  /// Carries out all orders, then removes the member if it is idle.
  package func serve(_ member: Member, on loop: EventLoop, isIdle: () -> Bool) {
    while true {
      let taken = orders.withLock { $0.waiting.takeAll() }
      for (order, _) in taken { order(member) }
      if !taken.isEmpty { continue }
      guard isIdle() else { return }
      let hasLeft = orders.withLock { orders in
        guard orders.waiting.isEmpty else { return false }
        orders = ([], false, nil)
        return true
      }
      if hasLeft { return thread.leave(member, loop) }
    }
  }
}

package enum DetachedThread {
  /// Signals of a crash: a thread that blocks them ends without the report of a crash handler.
  private static let crashes = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS]

  /// Starts a thread; returns false if the system refuses.
  ///
  /// Linux cuts `name` to 15 bytes.
  ///
  /// - Parameter takesSignals: False to take only signals of a crash, so that all handlers run on
  ///   other threads. A thread that calls the user's code takes the signals of its caller: tasks
  ///   and child processes of that code start with its mask.
  package static func start(
    name: String, takesSignals: Bool = false, _ run: @escaping @Sendable () -> Void
  ) -> Bool {
    // A thread begins with the mask of the thread that starts it.
    var blocked = sigset_t()
    var before = sigset_t()
    if !takesSignals {
      unsafe sigfillset(&blocked)
      for number in crashes { unsafe sigdelset(&blocked, number) }
    }
    unsafe pthread_sigmask(SIG_BLOCK, &blocked, &before)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
    let body = UnsafeMutablePointer<@Sendable () -> Void>.allocate(capacity: 1)
    unsafe body.initialize {
      setName(name)
      run()
    }
    #if canImport(Glibc)
      var thread = pthread_t()
    #else
      var thread: pthread_t?
    #endif
    guard unsafe pthread_create(&thread, nil, enterThread, body) == 0 else {
      unsafe body.deinitialize(count: 1).deallocate()
      return false
    }
    #if canImport(Glibc)
      pthread_detach(thread)
    #else
      if let thread = unsafe thread { unsafe pthread_detach(thread) }
    #endif
    return true
  }
}

private func enterThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let argument = unsafe argument else { return nil }
  let body = unsafe argument.assumingMemoryBound(to: (@Sendable () -> Void).self)
  let run = unsafe body.move()
  unsafe body.deallocate()
  run()
  return nil
}

private func setName(_ name: String) {
  let fitting = String(decoding: name.utf8.prefix(15), as: UTF8.self)
  #if canImport(Darwin)
    unsafe pthread_setname_np(fitting)
  #else
    // Swift cannot see `pthread_setname_np`, which writes to this file too.
    let file = unsafe open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
    guard file >= 0 else { return }
    _ = unsafe write(file, fitting, fitting.utf8.count)
    close(file)
  #endif
}

/// A value behind a lock.
///
/// The system's lock, because ThreadSanitizer reports false races for the standard library's
/// `Mutex` on Linux.
@safe package final class Locked<Value>: @unchecked Sendable {
  // Sendable because the value is only reached under the lock.
  private let lock: UnsafeMutablePointer<pthread_mutex_t>
  private var value: Value

  package init(_ value: sending Value) {
    self.value = value
    unsafe lock = .allocate(capacity: 1)
    unsafe lock.initialize(to: pthread_mutex_t())
    let code = unsafe pthread_mutex_init(lock, nil)
    precondition(code == 0, "cannot make a lock: error \(code)")
  }

  deinit {
    unsafe pthread_mutex_destroy(lock)
    unsafe lock.deinitialize(count: 1)
    unsafe lock.deallocate()
  }

  /// Runs `body` with the value; `body` must not take the same lock.
  package func withLock<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    unsafe pthread_mutex_lock(lock)
    defer { unsafe pthread_mutex_unlock(lock) }
    return try body(&value)
  }
}
