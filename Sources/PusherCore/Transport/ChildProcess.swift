internal import CSystemEpoll
// `environ` is a global variable of C, which nothing here changes.
@unsafe @preconcurrency internal import PusherPlatform

/// Runs one command in the shell, with bytes for its input, its output captured, and a deadline.
///
/// It inherits our standard error. The command leads its own process group, so that a whole
/// pipeline can be ended; it cannot prompt on the terminal.
package final class ChildProcess: LoopSource {
  package struct Output: Equatable, Sendable {
    package let bytes: [UInt8]
    /// Exit status; 128 plus the signal's number if a signal ended the command, as in shells.
    package let status: Int32

    package init(bytes: [UInt8], status: Int32) { (self.bytes, self.status) = (bytes, status) }
  }

  package enum Failure: Error, Equatable, CustomStringConvertible {
    case start(reason: String)
    /// Descriptors, processes, threads or memory are short; a retry may succeed.
    case busy(reason: String)
    case timeout(Duration)
    case outputLimit(Int)

    package var description: String {
      switch self {
      case .start(let reason): "cannot start the command: \(reason)"
      case .busy(let reason): "cannot start the command now: \(reason)"
      case .timeout(let duration): "the command took longer than \(duration.inSeconds) s"
      case .outputLimit(let limit): "the command wrote more than \(limit) bytes"
      }
    }
  }

  package typealias Outcome = Result<Output, Failure>

  package enum Outlet: Sendable {
    /// To the completion, up to ``Command/outputLimit``.
    case captured
    case ourErrors
    case ourOutput
  }

  package struct Command {
    package var line: String
    package var environment: [(name: String, value: String)]
    /// Standard input; `/dev/null` when empty.
    package var input: [UInt8]
    package var outputLimit: Int
    package var outlet: Outlet
    package var timeout: Duration?

    package init(
      line: String, environment: [(name: String, value: String)] = [], input: [UInt8] = [],
      outputLimit: Int = 65_536, outlet: Outlet = .captured, timeout: Duration? = .seconds(10)
    ) {
      (self.line, self.environment, self.input) = (line, environment, input)
      (self.outputLimit, self.outlet, self.timeout) = (outputLimit, outlet, timeout)
    }
  }

  /// Time between SIGTERM and SIGKILL.
  package static let grace = Duration.seconds(2)
  private let loop: EventLoop
  private let command: Command
  private let completion: (Outcome, Instant) -> Void
  private let output = ByteBuffer(capacity: 4096)
  private var process: Int32 = -1
  private var outputEnd: Int32 = -1
  private var inputWriter: PipeWriter?
  private var deadline: Instant?
  private var failure: Failure?
  /// Result of the command itself; other processes of its group may still run.
  private var status: Int32?
  private var hasEnded = false
  private var isWatched = false
  /// Time of SIGKILL for the group, after SIGTERM.
  private var killTime: Instant?
  private static let interval = Duration.milliseconds(50)
  private var isSilent = false

  /// Starts `command`; calls `completion` on the loop's thread after the command was collected.
  ///
  /// Throws ``Failure/start(reason:)`` or ``Failure/busy(reason:)``.
  package init(
    loop: EventLoop, command: Command, at now: Instant,
    completion: @escaping (Outcome, Instant) -> Void
  ) throws(Failure) {
    (self.loop, self.command, self.completion) = (loop, command, completion)
    do throws(SystemError) {
      try start()
    } catch {
      throw error.isShortage
        ? .busy(reason: error.description) : .start(reason: error.description)
    }
    deadline = command.timeout.map(now.advanced)
    loop.add(self)
    watch()
  }

  deinit { if outputEnd >= 0 { SystemCalls.closeDescriptor(outputEnd) } }

  /// Ends and collects the command, without calling the completion.
  package func cancel(at now: Instant) {
    isSilent = true
    end(because: .timeout(.zero), at: now)
  }

  /// Sends `signal` (default SIGTERM), then SIGKILL after ``grace``; calls the completion.
  package func end(at now: Instant, by signal: Int32? = nil) {
    end(because: .timeout(.zero), by: signal ?? SIGTERM, at: now)
  }

  package var interest: LoopInterest {
    LoopInterest(descriptor: outputEnd, events: .read, deadline: deadline)
  }

  package func ready(_ events: PollEvents, at now: Instant) { readOutput(at: now) }

  package func expired(at now: Instant) {
    guard failure != nil else { return end(because: .timeout(command.timeout ?? .zero), at: now) }
    guard !hasEnded else { return waitForGroup(at: now) }
    deadline = nil
    if let killTime, killTime <= now { SystemCalls.killGroup(process, SIGKILL) }
    guard !isWatched else { return }
    if let status = SystemCalls.collect(process) {
      finish(status, at: now)
    } else {
      deadline = now.advanced(by: Self.interval)
    }
  }

  private func start() throws(SystemError) {
    let writeEnd: Int32
    switch command.outlet {
    case .ourErrors: writeEnd = try SystemCalls.copy(ofOutput: 2)
    case .ourOutput: writeEnd = try SystemCalls.copy(ofOutput: 1)
    case .captured:
      let pipe = try SystemCalls.makePipe()
      SystemCalls.makeNonBlocking(pipe.readEnd)
      outputEnd = pipe.readEnd
      writeEnd = pipe.writeEnd
    }
    defer { SystemCalls.closeDescriptor(writeEnd) }
    var feedEnd: Int32 = -1
    let childInput: Int32
    if command.input.isEmpty {
      childInput = try SystemCalls.openNothing()
    } else {
      (childInput, feedEnd) = try SystemCalls.makePipe()
      SystemCalls.makeNonBlocking(feedEnd)
      inputWriter = PipeWriter(loop: loop, descriptor: feedEnd, bytes: command.input)
    }
    defer { SystemCalls.closeDescriptor(childInput) }
    do throws(SystemError) {
      process = try SystemCalls.spawnShell(
        command.line, extra: command.environment, input: childInput, output: writeEnd)
    } catch {
      inputWriter?.close()
      throw error
    }
  }

  // A thread waits, since a process has no descriptor to poll. Only the loop collects it, so that
  // the process id stays valid for our signals.
  private func watch() {
    let number = process
    let wakeUp = loop.wakeUp
    let running = ObjectIdentifier(self)
    isWatched = DetachedThread.start(name: "pusher-child") {
      SystemCalls.waitUntilEnded(number)
      wakeUp.post { loop in (loop.source(running) as? ChildProcess)?.finish(at: loop.now) }
    }
    guard !isWatched else { return }
    end(because: .busy(reason: "cannot start a thread"), at: loop.now)
    deadline = loop.now.advanced(by: Self.interval)
  }

  /// Reads the rest of the output, also while another process keeps the pipe open.
  private func finish(_ collected: Int32? = nil, at now: Instant) {
    readOutput(at: now)
    status = collected ?? SystemCalls.collect(process)
    Children.collectOrphans()
    hasEnded = true
    deadline = nil
    closeOutput()
    inputWriter?.close()
    waitForGroup(at: now)
  }

  /// Completes once the whole group has ended: a process of a pipeline may ignore the signal.
  private func waitForGroup(at now: Instant) {
    if let killTime, SystemCalls.isGroupAlive(process) {
      guard now >= killTime else {
        deadline = min(killTime, now.advanced(by: Self.interval))
        return
      }
      SystemCalls.killGroup(process, SIGKILL)
    }
    complete(at: now)
  }

  private func complete(at now: Instant) {
    loop.remove(self)
    guard !isSilent else { return }
    if let failure {
      completion(.failure(failure), now)
      return
    }
    completion(.success(Output(bytes: output.array, status: status ?? 255)), now)
  }

  private func readOutput(at now: Instant) {
    while outputEnd >= 0 {
      var wouldBlock = false
      let count = unsafe try? output.write(minimum: 4096) {
        (free: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int in
        guard let count = try unsafe SystemCalls.readBytes(outputEnd, free) else {
          wouldBlock = true
          return 0
        }
        return count
      }
      if wouldBlock { return }
      if (count ?? 0) == 0 { closeOutput() }
      if output.count > command.outputLimit {
        closeOutput()
        end(because: .outputLimit(command.outputLimit), at: now)
      }
    }
  }

  private func end(because reason: Failure, by signal: Int32 = SIGTERM, at now: Instant) {
    guard failure == nil else { return }
    failure = reason
    killTime = now.advanced(by: Self.grace)
    deadline = killTime
    SystemCalls.killGroup(process, signal)
  }

  private func closeOutput() {
    if outputEnd >= 0 { SystemCalls.closeDescriptor(outputEnd) }
    outputEnd = -1
  }
}

/// Writes bytes to a pipe, then closes it; a reader that stops early is not an error.
private final class PipeWriter: LoopSource {
  private let loop: EventLoop
  private var descriptor: Int32
  private let waiting: ByteBuffer

  /// Takes ownership of the descriptor, which must be non-blocking.
  init(loop: EventLoop, descriptor: Int32, bytes: [UInt8]) {
    (self.loop, self.descriptor) = (loop, descriptor)
    waiting = ByteBuffer(capacity: bytes.count)
    waiting.append(bytes)
    loop.add(self)
  }

  deinit { if descriptor >= 0 { SystemCalls.closeDescriptor(descriptor) } }

  var interest: LoopInterest { LoopInterest(descriptor: descriptor, events: .write) }

  func ready(_ events: PollEvents, at now: Instant) {
    do throws(SystemError) {
      while !waiting.isEmpty {
        guard let count = try unsafe SystemCalls.writeQuietly(descriptor, waiting.view.raw) else {
          return
        }
        waiting.consume(count)
      }
    } catch { waiting.removeAll() }
    close()
  }

  func close() {
    loop.remove(self)
    if descriptor >= 0 { SystemCalls.closeDescriptor(descriptor) }
    descriptor = -1
  }
}

/// Child processes of this process: started commands and orphans.
///
/// The first process of a container and a subreaper (prctl(2)) inherit orphans and must collect
/// them. Only the program turns that on: a library must leave its caller's children alone.
package enum Children {
  private static let started = Locked<Set<Int32>>([])
  private static let collectsOrphans = Locked(false)

  private static var includeOrphans: Bool { getpid() == 1 || pusher_is_subreaper() == 1 }

  /// Makes ``collectOrphans()`` collect orphans if this process can get any; returns if it can.
  package static func adoptOrphans() -> Bool {
    let isNeeded = includeOrphans
    collectsOrphans.withLock { $0 = isNeeded }
    return isNeeded
  }

  /// Calls `start`, which returns 0 for success, and records the process as ours.
  fileprivate static func starting(_ process: inout Int32, by start: (inout Int32) -> Int32)
    -> Int32
  {
    started.withLock { started in
      let code = start(&process)
      if code == 0 { started.insert(process) }
      return code
    }
  }

  /// Calls `collect`, and forgets the command if that returns true because it had ended.
  fileprivate static func collecting(_ process: Int32, _ collect: () -> Bool) -> Bool {
    started.withLock { started in
      guard collect() else { return false }
      started.remove(process)
      return true
    }
  }

  /// Collects the orphans that have ended; owners collect their own commands.
  ///
  /// The system reports one ended child at a time: one of our commands hides the others, so its
  /// owner calls this again after collecting it.
  package static func collectOrphans() {
    guard collectsOrphans.withLock({ $0 }) else { return }
    started.withLock { started in
      while true {
        let process = SystemCalls.endedChild()
        guard process > 0, !started.contains(process) else { return }
        var status: Int32 = 0
        guard unsafe waitpid(process, &status, WNOHANG) == process else { return }
      }
    }
  }

  /// Returns whether a process of this group runs, from `/proc`; `nil` if that cannot be read.
  static func isRunning(inGroup group: Int32) -> Bool? {
    guard let folder = unsafe opendir("/proc") else { return nil }
    defer { unsafe closedir(folder) }
    var isAnyKnown = false
    while case let process = unsafe pusher_next_process(UnsafeMutableRawPointer(folder)),
      process > 0
    {
      guard let status = ProcessStatus(process: process) else { continue }
      isAnyKnown = true
      if status.group == group, !status.hasEnded { return true }
    }
    return isAnyKnown ? false : nil
  }
}

/// State and group of a process, from `/proc/N/stat`: `N (name) S parent group …`.
struct ProcessStatus: Equatable {
  let group: Int32
  let hasEnded: Bool
}

extension ProcessStatus {
  private static let length = 256

  init?(process: Int32) {
    let descriptor = unsafe open("/proc/\(process)/stat", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: Self.length)
    let count = unsafe read(descriptor, &bytes, bytes.count)
    guard count > 0 else { return nil }
    self.init(bytes[..<count])
  }

  /// Parses the text; the name may hold any byte, even spaces and parentheses.
  init?(_ text: ArraySlice<UInt8>) {
    guard let end = text.lastIndex(of: UInt8(ascii: ")")) else { return nil }
    let fields = text[(end + 1)...].split(separator: UInt8(ascii: " "))
    guard fields.count > 2, let state = fields[0].first,
      let group = Int32(String(decoding: fields[2], as: UTF8.self))
    else { return nil }
    self.group = group
    hasEnded = state == UInt8(ascii: "Z") || state == UInt8(ascii: "X")
  }
}

extension SystemCalls {
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
      unsafe withEnvironment(adding: extra) { variables in
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
  fileprivate static func killGroup(_ process: Int32, _ signal: Int32) {
    _ = kill(-process, signal)
  }

  /// Returns whether a process of the group still runs; zombies do not count.
  static func isGroupAlive(_ process: Int32) -> Bool {
    kill(-process, 0) == 0 && Children.isRunning(inGroup: process) ?? true
  }

  /// `waitid(WNOWAIT)`: blocks until the process has ended, without collecting it.
  fileprivate static func waitUntilEnded(_ process: Int32) {
    var information = unsafe siginfo_t()
    while unsafe waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT) < 0 && errno == EINTR
    {}
  }

  /// `waitid(WNOWAIT | WNOHANG)`: an ended child that was not collected; 0 without one.
  fileprivate static func endedChild() -> Int32 {
    var information = unsafe siginfo_t()
    guard unsafe waitid(P_ALL, 0, &information, WEXITED | WNOWAIT | WNOHANG) == 0 else { return 0 }
    #if !canImport(Darwin)
      return unsafe information._sifields._sigchld.si_pid
    #else
      return unsafe information.si_pid
    #endif
  }

  /// `waitpid(WNOHANG)`: collects an ended process, and returns its status as shells do; `nil` if
  /// it still runs.
  static func collect(_ process: Int32) -> Int32? {
    var status: Int32 = 0
    guard Children.collecting(process, { unsafe waitpid(process, &status, WNOHANG) == process })
    else { return nil }
    let signal = status & 0x7f
    return signal == 0 ? status >> 8 & 0xff : 128 + signal
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
  fileprivate static func writeQuietly(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer)
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

  /// Passes the variables of this process byte for byte, but for those that `extra` replaces.
  private static func withEnvironment<Result>(
    adding extra: [(name: String, value: String)],
    _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
  ) -> Result {
    // Without nullability in the headers, strict Swift imports an optional.
    #if !canImport(Darwin)
      let list: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = unsafe environ
    #else
      let list: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = unsafe _NSGetEnviron().pointee
    #endif
    return unsafe withCStrings(extra.map { "\($0.name)=\($0.value)" }) { added in
      var variables: [UnsafeMutablePointer<CChar>?] = unsafe []
      var next = unsafe list
      while let place = unsafe next, let entry = unsafe place.pointee {
        let isReplaced = unsafe zip(extra, added).contains { variable, text in
          unsafe text.map { unsafe strncmp(entry, $0, variable.name.utf8.count + 1) == 0 } ?? false
        }
        if !isReplaced { unsafe variables.append(entry) }
        unsafe next = place.successor()
      }
      return unsafe body(variables + added)
    }
  }

  private static func withCStrings<Result>(
    _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
  ) -> Result {
    let copies = unsafe strings.map { unsafe strdup($0) }
    defer { for index in 0..<strings.count { unsafe free(copies[index]) } }
    return unsafe body(copies + [nil])
  }
}
