#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// Runs one blocking call that has no other form, and ends with it.
enum DetachedThread {
  fileprivate final class Body: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) {
      self.run = run
    }
  }

  /// `pthread_create`, detached, all signals blocked, so that handlers run on the loop's thread; false when refused.
  static func start(_ run: @escaping @Sendable () -> Void) -> Bool {
    var all = sigset_t()
    var before = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_SETMASK, &all, &before)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
    let argument = unsafe Unmanaged.passRetained(Body(run))
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
  body.run()
  return nil
}
