/// One command run by the shell: bytes in, bytes out, a deadline.
///
/// Standard error is ours. The command leads a process group of its own, so that a whole pipeline can be ended; it cannot ask
/// anything on the terminal.
package final class ChildProcess: LoopSource {
  /// The result of a command.
  package struct Output: Equatable, Sendable {
    package let bytes: [UInt8]
    /// The exit status; 128 and the signal's number for a command that a signal ended, as shells count.
    package let status: Int32

    package init(bytes: [UInt8], status: Int32) {
      self.bytes = bytes
      self.status = status
    }
  }

  /// Why there is no output.
  package enum Failure: Error, Equatable, CustomStringConvertible {
    /// The command could not be started.
    case start(reason: String)
    /// The command cannot be started now: descriptors, processes, threads or memory are short.
    case busy(reason: String)
    /// The command was ended, because it took longer than this.
    case timeout(Duration)
    /// The command was ended, because it wrote more than so many bytes.
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

  /// Where the standard output of a command goes.
  package enum Outlet: Sendable {
    /// To the completion, up to a limit.
    case captured
    /// To our standard error.
    case ourErrors
    /// To our standard output.
    case ourOutput
  }

  /// What to run and how far it may go.
  package struct Command {
    package var line: String
    /// Variables that are added to ours, or replace them.
    package var environment: [(name: String, value: String)]
    /// Standard input; `/dev/null` when empty.
    package var input: [UInt8]
    /// The most bytes of standard output that are captured.
    package var outputLimit: Int
    package var outlet: Outlet
    /// How long it may take; `nil` for as long as it likes.
    package var timeout: Duration?

    package init(
      line: String, environment: [(name: String, value: String)] = [], input: [UInt8] = [],
      outputLimit: Int = 65_536, outlet: Outlet = .captured,
      timeout: Duration? = .seconds(10)
    ) {
      (self.line, self.environment, self.input) = (line, environment, input)
      (self.outputLimit, self.outlet, self.timeout) = (outputLimit, outlet, timeout)
    }
  }

  /// How long a command may take to end after SIGTERM before it is killed.
  package static let grace = Duration.seconds(2)

  private let loop: EventLoop
  private let command: Command
  private let completion: (Result<Output, Failure>, Instant) -> Void
  private let output = ByteBuffer(capacity: 4096)
  private var process: Int32 = -1
  private var outputEnd: Int32 = -1
  private var inputWriter: PipeWriter?
  private var deadline: Instant?
  private var failure: Failure?
  /// How the command itself ended; others of its group may go on.
  private var ending: Syscalls.Ending?
  private var hasEnded = false
  /// Whether a thread waits for the end.
  private var isWatched = false
  /// When its group is killed, once it was asked to end.
  private var killTime: Instant?
  /// How often a group is looked at that outlives its command.
  private static let interval = Duration.milliseconds(50)
  private var isSilent = false

  /// Starts `command`; `completion` is called once, on the loop's thread, when the command has ended and been collected.
  ///
  /// The loop keeps the process until then. A command that cannot be started throws ``Failure/start(reason:)``.
  package init(
    loop: EventLoop, command: Command, at now: Instant,
    completion: @escaping (Result<Output, Failure>, Instant) -> Void
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

  deinit {
    if outputEnd >= 0 { Syscalls.closeDescriptor(outputEnd) }
  }

  /// Ends the command, which is still collected; the completion is not called.
  package func cancel(at now: Instant) {
    isSilent = true
    end(because: .timeout(.zero), at: now)
  }

  /// Asks the command to end, and kills it after ``grace``; the completion is called when it has.
  ///
  /// - Parameter signal: How it is asked; `nil` for SIGTERM.
  package func end(at now: Instant, by signal: Int32? = nil) {
    end(because: .timeout(.zero), by: signal.map { .other($0) } ?? .terminate, at: now)
  }

  package var interest: LoopInterest {
    LoopInterest(descriptor: outputEnd, events: .read, deadline: deadline)
  }

  package func ready(_ events: PollEvents, at now: Instant) {
    readOutput(at: now)
  }

  package func expired(at now: Instant) {
    guard failure != nil else {
      return end(because: .timeout(command.timeout ?? .zero), at: now)
    }
    guard !hasEnded else { return awaitGroup(at: now) }
    deadline = nil
    if let killTime, killTime <= now { Syscalls.killGroup(process, .kill) }
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

  /// Lets a thread wait for the end, which has no descriptor to poll; collecting stays here, so that the process id
  /// stays valid while we may still send a signal.
  private func watch() {
    let number = process
    let wakeUp = loop.wakeUp
    let running = ObjectIdentifier(self)
    isWatched = DetachedThread.start(name: "pusher-child") {
      Syscalls.waitUntilEnded(number)
      wakeUp.post { loop in (loop.source(running) as? ChildProcess)?.finish(at: loop.now) }
    }
    guard !isWatched else { return }
    end(because: .busy(reason: "no thread to wait on"), at: loop.now)
    deadline = loop.now.advanced(by: Self.interval)
  }

  /// The command has ended: its output is in the pipe, even if another process keeps the pipe open.
  ///
  /// - Parameter collected: How it ended, when it has been collected already.
  private func finish(_ collected: Syscalls.Ending? = nil, at now: Instant) {
    readOutput(at: now)
    ending = collected ?? Syscalls.collect(process)
    Children.collectOrphans()
    hasEnded = true
    deadline = nil
    closeOutput()
    inputWriter?.close()
    awaitGroup(at: now)
  }

  /// What was asked to end has ended when its whole group has: one of a pipeline may ignore what ended the shell.
  ///
  /// A group's number is not used again while somebody is in it.
  private func awaitGroup(at now: Instant) {
    if let killTime, Syscalls.isGroupAlive(process) {
      guard now >= killTime else {
        deadline = min(killTime, now.advanced(by: Self.interval))
        return
      }
      Syscalls.killGroup(process, .kill)
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

  private func end(
    because reason: Failure, by signal: Syscalls.TerminationSignal = .terminate, at now: Instant
  ) {
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
