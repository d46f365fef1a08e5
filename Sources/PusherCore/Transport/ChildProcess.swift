internal import PusherPlatform

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
  private var ending: Syscalls.Ending?
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

  deinit { if outputEnd >= 0 { Syscalls.closeDescriptor(outputEnd) } }

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
    if let killTime, killTime <= now { Syscalls.killGroup(process, SIGKILL) }
    guard !isWatched else { return }
    if let ending = Syscalls.collect(process) {
      finish(ending, at: now)
    } else {
      deadline = now.advanced(by: Self.interval)
    }
  }

  private func start() throws(SystemError) {
    let writeEnd: Int32
    switch command.outlet {
    case .ourErrors: writeEnd = try Syscalls.copy(ofOutput: 2)
    case .ourOutput: writeEnd = try Syscalls.copy(ofOutput: 1)
    case .captured:
      let pipe = try Syscalls.makePipe()
      Syscalls.makeNonBlocking(pipe.readEnd)
      outputEnd = pipe.readEnd
      writeEnd = pipe.writeEnd
    }
    defer { Syscalls.closeDescriptor(writeEnd) }
    var feedEnd: Int32 = -1
    let childInput: Int32
    if command.input.isEmpty {
      childInput = try Syscalls.openNothing()
    } else {
      (childInput, feedEnd) = try Syscalls.makePipe()
      Syscalls.makeNonBlocking(feedEnd)
      inputWriter = PipeWriter(loop: loop, descriptor: feedEnd, bytes: command.input)
    }
    defer { Syscalls.closeDescriptor(childInput) }
    do throws(SystemError) {
      process = try Syscalls.spawnShell(
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
      Syscalls.waitUntilEnded(number)
      wakeUp.post { loop in (loop.source(running) as? ChildProcess)?.finish(at: loop.now) }
    }
    guard !isWatched else { return }
    end(because: .busy(reason: "cannot start a thread"), at: loop.now)
    deadline = loop.now.advanced(by: Self.interval)
  }

  /// Reads the rest of the output, also while another process keeps the pipe open.
  private func finish(_ collected: Syscalls.Ending? = nil, at now: Instant) {
    readOutput(at: now)
    ending = collected ?? Syscalls.collect(process)
    Children.collectOrphans()
    hasEnded = true
    deadline = nil
    closeOutput()
    inputWriter?.close()
    waitForGroup(at: now)
  }

  /// Completes once the whole group has ended: a process of a pipeline may ignore the signal.
  private func waitForGroup(at now: Instant) {
    if let killTime, Syscalls.isGroupAlive(process) {
      guard now >= killTime else {
        deadline = min(killTime, now.advanced(by: Self.interval))
        return
      }
      Syscalls.killGroup(process, SIGKILL)
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
    let status: Int32 =
      switch ending {
      case .exited(let status): status
      case .signalled(let signal): 128 + signal
      case nil: 255
      }
    completion(.success(Output(bytes: output.array, status: status)), now)
  }

  private func readOutput(at now: Instant) {
    while outputEnd >= 0 {
      var wouldBlock = false
      let count = unsafe try? output.write(minimum: 4096) {
        (free: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int in
        guard let count = try unsafe Syscalls.readBytes(outputEnd, free) else {
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
    Syscalls.killGroup(process, signal)
  }

  private func closeOutput() {
    if outputEnd >= 0 { Syscalls.closeDescriptor(outputEnd) }
    outputEnd = -1
  }
}

/// Writes bytes to a pipe, then closes it; a reader that stops early is not an error.
final class PipeWriter: LoopSource {
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

  deinit { if descriptor >= 0 { Syscalls.closeDescriptor(descriptor) } }

  var interest: LoopInterest { LoopInterest(descriptor: descriptor, events: .write) }

  func ready(_ events: PollEvents, at now: Instant) {
    do throws(SystemError) {
      while !waiting.isEmpty {
        guard let count = try unsafe Syscalls.writeQuietly(descriptor, waiting.view.raw) else {
          return
        }
        waiting.consume(count)
      }
    } catch { waiting.removeAll() }
    close()
  }

  func expired(at now: Instant) {}

  func close() {
    loop.remove(self)
    if descriptor >= 0 { Syscalls.closeDescriptor(descriptor) }
    descriptor = -1
  }
}
