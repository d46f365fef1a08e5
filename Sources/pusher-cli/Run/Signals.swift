internal import PusherCore
internal import PusherPlatform

/// Where the signal handler writes; a handler may use nothing but this number and `write(2)`.
nonisolated(unsafe) private var signalPipe: Int32 = -1
/// The other end of that pipe.
nonisolated(unsafe) private var signalSource: Int32 = -1

/// SIGINT, SIGTERM and SIGHUP as something the loop can wait for.
///
/// The first one is passed on for a polite end; a second ends the process at once, or is passed on too. Signals that were ignored when
/// the program started (`nohup`, background jobs) stay ignored.
final class Signals: LoopSource {
  private let descriptor: Int32
  private let onSignal: (Int32) -> Void
  private let onHangUp: () -> Bool
  /// Whether there was a terminal, which may be what hangs up.
  private let hadTerminal = Terminal.isThere

  /// The signals that are handled; others were ignored at the start.
  nonisolated(unsafe) private static var handled: [Int32] = []

  /// Those that end the program, the first politely.
  private static let ending = [SIGINT, SIGTERM, SIGHUP]
  /// Those that ask how things are.
  #if !canImport(Darwin)
    private static let asking = [SIGUSR1]
  #else
    private static let asking = [SIGUSR1, SIGINFO]
  #endif
  private let onQuestion: () -> Void

  /// Watches from now on; `nil` when the system has no descriptor left.
  ///
  /// `onQuestion` answers SIGUSR1, and SIGINFO where there is one; `onHangUp` answers whether SIGHUP was a wish that has
  /// been carried out, and not the end.
  init?(
    onQuestion: @escaping () -> Void, onHangUp: @escaping () -> Bool = { false },
    _ onSignal: @escaping (Int32) -> Void
  ) {
    var ends: [Int32] = [-1, -1]
    guard unsafe pipe(&ends) == 0 else { return nil }
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    descriptor = ends[0]
    self.onSignal = onSignal
    self.onQuestion = onQuestion
    self.onHangUp = onHangUp
    unsafe (signalSource, signalPipe) = (ends[0], ends[1])
    unsafe Self.handled = Self.ending.filter(Self.watch)
    if Children.adoptOrphans() {
      Self.watch(SIGCHLD)
      Children.collectOrphans()
    }
    for number in Self.asking { Self.watch(number) }
  }

  /// Watches on `loop` from now on, when the system has a descriptor for it; broken pipes are ignored.
  static func watch(
    _ loop: EventLoop, onQuestion: @escaping () -> Void,
    onHangUp: @escaping () -> Bool = { false }, onSignal: @escaping (Int32) -> Void
  ) {
    var hasCome = false
    watchEach(loop, onQuestion: onQuestion, onHangUp: onHangUp) { number in
      guard !hasCome else { die(of: number) }
      hasCome = true
      onSignal(number)
    }
  }

  /// The same for a caller that decides about a second signal itself.
  static func watchEach(
    _ loop: EventLoop, onQuestion: @escaping () -> Void, onHangUp: @escaping () -> Bool,
    onSignal: @escaping (Int32) -> Void
  ) {
    ignoreBrokenPipes()
    if let signals = Signals(onQuestion: onQuestion, onHangUp: onHangUp, onSignal) {
      loop.add(signals)
    }
  }

  /// Ignores questions until they can be answered, so that they do not end the program.
  static func outliveQuestions() {
    for number in asking { watch(number) }
  }

  /// Answers whether the signal is handled from now on; one that is ignored stays so.
  @discardableResult
  private static func watch(_ number: Int32) -> Bool {
    var former = sigaction()
    unsafe sigaction(number, nil, &former)
    #if canImport(Glibc)
      let handler = unsafe former.__sigaction_handler.sa_handler
    #elseif canImport(Musl)
      let handler = unsafe former.__sa_handler.sa_handler
    #else
      let handler = unsafe former.__sigaction_u.__sa_handler
    #endif
    guard unsafe unsafeBitCast(handler, to: Int.self) != unsafeBitCast(SIG_IGN, to: Int.self) else {
      return false
    }
    handle(number)
    return true
  }

  private static func handle(_ number: Int32) {
    signal(number) { number in
      let before = errno
      var byte = UInt8(truncatingIfNeeded: number)
      _ = unsafe write(signalPipe, &byte, 1)
      errno = before
    }
  }

  /// Runs a wait that blocks the thread, such as a write to a slow reader: a signal ends the program at once meanwhile.
  static func endingAtOnce<Result>(_ wait: () -> Result) -> Result {
    let handled = unsafe handled
    for number in handled { signal(number, SIG_DFL) }
    defer { for number in handled { handle(number) } }
    var byte: UInt8 = 0
    // The loop that would have handled it goes round no more.
    while unsafe read(signalSource, &byte, 1) == 1 {
      if handled.contains(Int32(byte)) { die(of: Int32(byte)) }
    }
    return wait()
  }

  var interest: LoopInterest { LoopInterest(descriptor: descriptor, events: .read) }

  func ready(_ events: PollEvents, at now: Instant) {
    var byte: UInt8 = 0
    while unsafe read(descriptor, &byte, 1) == 1 {
      let number = Int32(byte)
      if number == SIGCHLD {
        Children.collectOrphans()
        continue
      }
      if Self.asking.contains(number) {
        onQuestion()
        continue
      }
      // When the terminal has gone the signal means that, and nobody is there to want anything.
      let isWish = number == SIGHUP && (!hadTerminal || Terminal.isThere)
      // A wish that comes during the end is none to end at once.
      if isWish, onHangUp() { continue }
      onSignal(number)
    }
  }

  func expired(at now: Instant) {}

  /// The signal's name, such as `SIGTERM`.
  static func name(_ number: Int32) -> String {
    switch number {
    case SIGINT: "SIGINT"
    case SIGTERM: "SIGTERM"
    case SIGHUP: "SIGHUP"
    case SIGPIPE: "SIGPIPE"
    default: "signal \(number)"
    }
  }

  /// Ends the process by the signal itself, so that shells and supervisors see what happened.
  static func die(of number: Int32) -> Never {
    signal(number, SIG_DFL)
    var only = sigset_t()
    unsafe sigemptyset(&only)
    unsafe sigaddset(&only, number)
    unsafe pthread_sigmask(SIG_UNBLOCK, &only, nil)
    raise(number)
    // Only an init process in a container survives its own signal.
    exit(128 + number)
  }

  /// Ends the process as a filter ends whose reader has gone.
  static func dieOfBrokenPipe() -> Never { die(of: brokenPipe) }

  static let brokenPipe = SIGPIPE

  /// Ends the process with its status, without a signal.
  static func end(_ status: ExitStatus) -> Never { exit(status.rawValue) }

  /// Makes writes to a pipe without a reader fail instead of killing; the program ends by SIGPIPE when it is ready.
  static func ignoreBrokenPipes() {
    signal(SIGPIPE, SIG_IGN)
  }

  /// Makes writes past a limit on the size of files fail, as on a full disk, instead of killing.
  static func ignoreFileLimit() {
    signal(SIGXFSZ, SIG_IGN)
  }
}

/// The terminal of the session, whatever the standard descriptors are.
private enum Terminal {
  /// Whether there is one that has not hung up.
  static var isThere: Bool {
    let descriptor = unsafe open("/dev/tty", O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    _ = close(descriptor)
    return true
  }
}
