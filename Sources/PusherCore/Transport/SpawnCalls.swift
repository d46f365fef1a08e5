// `environ` is a global variable of C, which nothing here changes.
@unsafe @preconcurrency internal import PusherPlatform

extension Syscalls {
  enum Ending: Sendable, Equatable {
    case exited(Int32)
    case signalled(Int32)
  }

  /// `posix_spawn` of `/bin/sh -c command`, in its own process group, with these descriptors.
  ///
  /// The child starts with no signal blocked, and with the default action for each.
  static func spawnShell(
    _ command: String, extra: [(name: String, value: String)], input: Int32, output: Int32
  ) throws(SystemError) -> Int32 {
    #if !canImport(Darwin)
      var actions = unsafe posix_spawn_file_actions_t()
      var attributes = posix_spawnattr_t()
    #else
      var actions: posix_spawn_file_actions_t?
      var attributes: posix_spawnattr_t?
    #endif
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    unsafe posix_spawn_file_actions_adddup2(&actions, input, 0)
    unsafe posix_spawn_file_actions_adddup2(&actions, output, 1)
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    unsafe sigemptyset(&none)
    unsafe posix_spawnattr_setsigmask(&attributes, &none)
    var defaults = sigset_t()
    unsafe sigfillset(&defaults)
    unsafe posix_spawnattr_setsigdefault(&attributes, &defaults)
    unsafe posix_spawnattr_setpgroup(&attributes, 0)
    let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP
    unsafe posix_spawnattr_setflags(&attributes, Int16(flags))
    var process: pid_t = 0
    let code = unsafe withCStrings(["/bin/sh", "-c", command]) { arguments in
      unsafe withCStrings(environment(adding: extra)) { variables in
        Children.starting(&process) { process in
          inheritance.withLock { _ in
            unsafe posix_spawn(&process, "/bin/sh", &actions, &attributes, arguments, variables)
          }
        }
      }
    }
    guard code == 0 else { throw SystemError(code: code) }
    return process
  }

  /// `kill` for the process group led by `process`.
  static func killGroup(_ process: Int32, _ signal: Int32) { _ = kill(-process, signal) }

  /// Returns whether a process of the group still runs; zombies do not count.
  static func isGroupAlive(_ process: Int32) -> Bool {
    kill(-process, 0) == 0 && Children.isRunning(inGroup: process) ?? true
  }

  /// `waitid(WNOWAIT)`: blocks until the process has ended, without collecting it.
  static func waitUntilEnded(_ process: Int32) {
    var information = unsafe siginfo_t()
    while unsafe waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT) < 0 && errno == EINTR
    {}
  }

  /// `waitid(WNOWAIT | WNOHANG)`: an ended child that was not collected; 0 without one.
  static func endedChild() -> Int32 {
    var information = unsafe siginfo_t()
    guard unsafe waitid(P_ALL, 0, &information, WEXITED | WNOWAIT | WNOHANG) == 0 else { return 0 }
    #if !canImport(Darwin)
      return unsafe information._sifields._sigchld.si_pid
    #else
      return unsafe information.si_pid
    #endif
  }

  /// `waitpid(WNOHANG)`: collects an ended process; `nil` if it still runs.
  static func collect(_ process: Int32) -> Ending? {
    var status: Int32 = 0
    guard Children.collecting(process, { unsafe waitpid(process, &status, WNOHANG) == process })
    else { return nil }
    let signal = status & 0x7f
    return signal == 0 ? .exited(status >> 8 & 0xff) : .signalled(signal)
  }

  static func openNothing() throws(SystemError) -> Int32 {
    let descriptor = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .last }
    return descriptor
  }

  /// Duplicates standard output or standard error, or opens `/dev/null` if that is closed.
  static func copy(ofOutput number: Int32) throws(SystemError) -> Int32 {
    let copy = fcntl(number, F_DUPFD_CLOEXEC, 3)
    let descriptor = unsafe copy >= 0 ? copy : open("/dev/null", O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .last }
    return descriptor
  }

  /// `write` to a pipe; if the pipe is closed, throws `SystemError.brokenPipe` without SIGPIPE.
  ///
  /// SIGPIPE is blocked in this thread during the call, and consumed if it came.
  static func writeQuietly(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer)
    throws(SystemError) -> Int?
  {
    var pipeSignal = sigset_t()
    var before = sigset_t()
    var pending = sigset_t()
    unsafe sigemptyset(&pipeSignal)
    unsafe sigaddset(&pipeSignal, SIGPIPE)
    unsafe sigpending(&pending)
    let wasPending = unsafe sigismember(&pending, SIGPIPE) == 1
    unsafe pthread_sigmask(SIG_BLOCK, &pipeSignal, &before)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
    do throws(SystemError) {
      return try unsafe writeBytes(descriptor, bytes)
    } catch {
      unsafe sigpending(&pending)
      let cameNow = unsafe sigismember(&pending, SIGPIPE) == 1
      if cameNow && !wasPending {
        var taken: Int32 = 0
        unsafe sigwait(&pipeSignal, &taken)
      }
      throw error
    }
  }

  private static func environment(adding extra: [(name: String, value: String)]) -> [String] {
    var variables: [String] = []
    // Without nullability in the headers, strict Swift imports an optional.
    #if !canImport(Darwin)
      let list: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = unsafe environ
    #else
      let list: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = unsafe _NSGetEnviron().pointee
    #endif
    guard var next = unsafe list else { return extra.map { "\($0.name)=\($0.value)" } }
    while let entry = unsafe next.pointee {
      let variable = unsafe String(cString: entry)
      let name = variable.prefix { $0 != "=" }
      if !extra.contains(where: { $0.name == name }) { variables.append(variable) }
      unsafe next = next.successor()
    }
    return variables + extra.map { "\($0.name)=\($0.value)" }
  }

  private static func withCStrings<Result>(
    _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
  ) -> Result {
    let copies = unsafe strings.map { unsafe strdup($0) }
    defer { for index in 0..<strings.count { unsafe free(copies[index]) } }
    return unsafe body(copies + [nil])
  }
}
