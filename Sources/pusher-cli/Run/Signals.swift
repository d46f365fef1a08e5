internal import PusherCore
internal import PusherPlatform

/// The write end of the pipe; the signal handler uses only this number and `write(2)`.
nonisolated(unsafe) private var signalPipe: Int32 = -1
/// The read end of the pipe.
nonisolated(unsafe) private var signalSource: Int32 = -1

/// SIGINT, SIGTERM and SIGHUP as a source of the loop.
///
/// The first signal asks for a clean end. A second one ends the process, or is passed on too.
/// Signals that were ignored at the start (`nohup`, background jobs) stay ignored.
final class Signals: LoopSource {
  private let descriptor: Int32
  private let onSignal: (Int32) -> Void
  private let onHangUp: () -> Bool
  /// True if there was a terminal that can hang up.
  private let hadTerminal = Signals.hasTerminal

  /// The handled signals; the others were ignored at the start.
  nonisolated(unsafe) private static var handled: [Int32] = []

  private static let ending = [SIGINT, SIGTERM, SIGHUP]
  #if !canImport(Darwin)
    private static let asking = [SIGUSR1]
  #else
    private static let asking = [SIGUSR1, SIGINFO]
  #endif
  private let onQuestion: () -> Void

  /// Watches from now on; `nil` if the system has no descriptors.
  ///
  /// `onQuestion` handles SIGUSR1, and SIGINFO if the system has it. `onHangUp` handles SIGHUP, and
  /// returns false if the run must end.
  init?(
    onQuestion: @escaping () -> Void, onHangUp: @escaping () -> Bool,
    _ onSignal: @escaping (Int32) -> Void
  ) {
    var ends: [Int32] = [-1, -1]
    guard unsafe pipe(&ends) == 0 else { return nil }
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    descriptor = ends[0]
    (self.onSignal, self.onQuestion, self.onHangUp) = (onSignal, onQuestion, onHangUp)
    unsafe (signalSource, signalPipe) = (ends[0], ends[1])
    unsafe Self.handled = Self.ending.filter(Self.watch)
    if Children.adoptOrphans() {
      Self.watch(SIGCHLD)
      Children.collectOrphans()
    }
    for number in Self.asking { Self.watch(number) }
  }

  /// Watches on `loop`, and lets writes to a pipe without a reader fail.
  ///
  /// - Parameter passesAll: Passes the second signal on too, instead of ending the process.
  static func watch(
    _ loop: EventLoop, passesAll: Bool = false, onQuestion: @escaping () -> Void,
    onHangUp: @escaping () -> Bool = { false }, onSignal: @escaping (Int32) -> Void
  ) {
    signal(SIGPIPE, SIG_IGN)
    var hasCome = false
    let signals = Signals(onQuestion: onQuestion, onHangUp: onHangUp) { number in
      guard passesAll || !hasCome else { die(of: number) }
      hasCome = true
      onSignal(number)
    }
    if let signals { loop.add(signals) }
  }

  /// Makes the process independent of the signals that its parent blocked.
  ///
  /// Called first: from here on, SIGINT, SIGTERM and SIGHUP end every wait, and nothing else does.
  static func prepare() {
    // Writes above the file size limit fail, as on a full disk, instead of killing the process.
    signal(SIGXFSZ, SIG_IGN)
    // If this is ignored, the system forgets how a command ended.
    signal(SIGCHLD, SIG_DFL)
    // Requests for the state wait until they can be answered: by default they end the program.
    for number in asking { watch(number) }
    var none = sigset_t()
    unsafe sigemptyset(&none)
    unsafe pthread_sigmask(SIG_SETMASK, &none, nil)
  }

  /// Handles a signal, unless it is ignored; returns whether it is handled.
  @discardableResult private static func watch(_ number: Int32) -> Bool {
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

  /// Runs a blocking wait, such as a write to a slow reader; a signal ends the program meanwhile.
  static func endingAtOnce<Result>(_ wait: () -> Result) -> Result {
    let handled = unsafe handled
    for number in handled { signal(number, SIG_DFL) }
    defer { for number in handled { handle(number) } }
    var byte: UInt8 = 0
    // The loop that would have handled it runs no more.
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
      // After the terminal hung up, SIGHUP always means the end.
      let asksForSettings = number == SIGHUP && (!hadTerminal || Self.hasTerminal)
      // During the end, SIGHUP does not end the process at once.
      if asksForSettings, onHangUp() { continue }
      onSignal(number)
    }
  }

  /// True if the session has a terminal that has not hung up; standard descriptors do not matter.
  private static var hasTerminal: Bool {
    let descriptor = unsafe open("/dev/tty", O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    _ = close(descriptor)
    return true
  }

  static func name(_ number: Int32) -> String {
    switch number {
    case SIGINT: "SIGINT"
    case SIGTERM: "SIGTERM"
    case SIGHUP: "SIGHUP"
    case SIGPIPE: "SIGPIPE"
    default: "signal \(number)"
    }
  }

  /// Ends the process by the signal itself, so that shells and supervisors see it.
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

  static let brokenPipe = SIGPIPE
  static let interrupt = SIGINT

  static func end(_ status: ExitStatus) -> Never { end(statusOfCommand: status.rawValue) }

  /// Ends the program with the status of a command that it ran.
  static func end(statusOfCommand status: Int32) -> Never { exit(status) }
}
