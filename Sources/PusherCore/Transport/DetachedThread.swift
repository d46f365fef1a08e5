internal import PusherPlatform

package enum DetachedThread {
  fileprivate final class Body: Sendable {
    let name: String
    let run: @Sendable () -> Void

    init(_ name: String, _ run: @escaping @Sendable () -> Void) {
      (self.name, self.run) = (name, run)
    }
  }

  package enum Signals: Sendable {
    /// Only signals of a crash, so that all handlers run on other threads.
    case ofCrashes
    /// Those of the thread that starts this one.
    ///
    /// A thread that calls the user's code has them: tasks and child processes of that code start
    /// with its mask.
    case ofCaller
  }

  /// Signals of a crash: a thread that blocks them ends without the report of a crash handler.
  private static let crashes = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS]

  /// Starts a thread that takes these signals.
  ///
  /// Returns false if the system refuses. Linux cuts `name` to 15 bytes.
  package static func start(
    name: String, signals: Signals = .ofCrashes, _ run: @escaping @Sendable () -> Void
  ) -> Bool {
    // A thread begins with the mask of the thread that starts it.
    var blocked = sigset_t()
    var before = sigset_t()
    if signals == .ofCrashes {
      unsafe sigfillset(&blocked)
      for number in crashes { unsafe sigdelset(&blocked, number) }
    }
    unsafe pthread_sigmask(SIG_BLOCK, &blocked, &before)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
    let argument = unsafe Unmanaged.passRetained(Body(name, run))
    guard unsafe create(argument.toOpaque()) else {
      unsafe argument.release()
      return false
    }
    return true
  }

  #if canImport(Glibc)
    private static func create(_ argument: UnsafeMutableRawPointer) -> Bool {
      var thread = pthread_t()
      let code = unsafe pthread_create(&thread, nil, enterThread, argument)
      if code == 0 { pthread_detach(thread) }
      return code == 0
    }
  #else
    private static func create(_ argument: UnsafeMutableRawPointer) -> Bool {
      var thread: pthread_t?
      let code = unsafe pthread_create(&thread, nil, enterThread, argument)
      if code == 0, let thread = unsafe thread { unsafe pthread_detach(thread) }
      return code == 0
    }
  #endif
}

private func enterThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let argument = unsafe argument else { return nil }
  let body = unsafe Unmanaged<DetachedThread.Body>.fromOpaque(argument).takeRetainedValue()
  setName(body.name)
  body.run()
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
