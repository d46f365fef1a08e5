internal import PusherCore
internal import PusherPlatform

/// Announces that a run is ready: to the service manager, and with the command of `--on-ready`.
///
/// The command runs once, without input, and its output goes to our standard error. A successful
/// run waits for the command, every other end stops it.
final class Readiness {
  let manager = ServiceManager(Environment.ofProcess())
  private let command: String?
  /// Written once and closed.
  private let descriptor: Int32?
  private let loop: EventLoop
  private let diagnostics: Diagnostics
  private var process: ChildProcess?
  private var hasStarted = false
  /// Time before a retry when the system could not start the command.
  private static let pause = Duration.seconds(1)
  /// True after the run has ended the command, whose status is then ignored.
  private var isCut = false
  /// Called after the command's end; a failure was already reported.
  var onEnd: ((_ hasFailed: Bool) -> Void)?

  init(command: String?, descriptor: Int32? = nil, loop: EventLoop, diagnostics: Diagnostics) {
    (self.command, self.descriptor) = (command, descriptor)
    if let descriptor { SystemCalls.closeOnExec(descriptor) }
    (self.loop, self.diagnostics) = (loop, diagnostics)
  }

  /// Announces the run once; later calls only change the manager's status.
  ///
  /// - Parameters:
  ///   - status: State in words, for users of the service manager.
  ///   - environment: Additional variables for the command.
  func report(_ status: String, environment: [(name: String, value: String)] = []) {
    manager.ready(status)
    guard !hasStarted else { return }
    hasStarted = true
    if let descriptor {
      // A reader may have gone.
      _ = SystemCalls.writeWhole(Array("ready\n".utf8), to: descriptor)
      SystemCalls.closeDescriptor(descriptor)
    }
    start(environment)
  }

  private func start(_ environment: [(name: String, value: String)]) {
    guard let command, !isCut else { return }
    let question = ChildProcess.Command(
      line: command, environment: environment, outlet: .ourErrors, timeout: nil)
    do throws(ChildProcess.Failure) {
      process = try ChildProcess(loop: loop, command: question, at: loop.now) {
        [unowned self] result, _ in ended(result)
      }
    } catch .busy(let reason) {
      diagnostics.warning("--on-ready: cannot start the command now: \(reason); retrying")
      loop.schedule(after: Self.pause) { [unowned self] in start(environment) }
    } catch {
      diagnostics.error("--on-ready: \(error)")
      // Called from the loop, like every other end.
      loop.schedule(after: .zero) { [unowned self] in onEnd?(true) }
    }
  }

  /// Returns whether the command is over; ends it unless the run succeeds.
  func isOver(succeeds: Bool) -> Bool {
    if !succeeds { cut() }
    return process == nil
  }

  /// Asks the command to end, and kills it after a delay.
  func cut() {
    guard !isCut else { return }
    isCut = true
    process?.end(at: loop.now)
  }

  private func ended(_ result: ChildProcess.Outcome) {
    process = nil
    let problem = isCut ? nil : result.problem
    if let problem { diagnostics.error("--on-ready: \(problem)") }
    onEnd?(problem != nil)
  }
}

/// Reports the state of a run to the service manager, with datagrams to `NOTIFY_SOCKET`.
///
/// Does nothing without the variable. Never waits for the manager, and ignores failures. Source:
/// sd_notify(3), section "Notes".
final class ServiceManager {
  private let address: [UInt8]?
  private let watchdogInterval: Duration?
  private var watchdog: LoopTimer?
  private var hasSaidReady = false
  private var lastStatus = ""
  private var progress: (() -> String)?
  private var progressTimer: LoopTimer?
  private var toldProgressAt: Instant?
  /// The server's last sign of life at the previous check.
  private var lastHeard: Instant?

  /// Reads the address from the environment: an absolute path, or `@` and an abstract name.
  init(_ environment: [String: String]) {
    let name = environment["NOTIFY_SOCKET"] ?? ""
    var bytes = Array(name.utf8)
    if bytes.first == UInt8(ascii: "@") {
      bytes[0] = 0
    } else if bytes.first == UInt8(ascii: "/") {
      bytes.append(0)
    } else {
      bytes = []
    }
    address = bytes.count > 1 && bytes.count <= Self.longestAddress ? bytes : nil
    watchdogInterval = environment["WATCHDOG_USEC"].flatMap(Quantities.integer).flatMap {
      $0 > 0 ? .microseconds($0 / 2) : nil
    }
  }

  /// Size of `sun_path` in sockaddr_un.
  private static let longestAddress = MemoryLayout.size(ofValue: sockaddr_un().sun_path)

  /// Reports readiness once; later calls only change the status.
  func ready(_ status: String) {
    guard !hasSaidReady else { return self.status(status) }
    hasSaidReady = true
    lastStatus = status
    tell("READY=1\n\(statusLine)")
  }

  /// Reports the state in words, which ``follow(_:_:)`` extends; a repeated text is not sent.
  func status(_ text: String) {
    guard text != lastStatus else { return }
    lastStatus = text
    tell(statusLine)
  }

  private var statusLine: String {
    let progress = progress?() ?? ""
    return
      "STATUS=\(Diagnostics.escaped(progress.isEmpty ? lastStatus : "\(lastStatus); \(progress)"))"
  }

  private static let progressInterval = Duration.seconds(1)

  /// Adds the words of `progress` to the status from now on.
  func follow(_ loop: EventLoop, _ progress: @escaping () -> String) {
    guard address != nil else { return }
    self.progress = progress
    let timer = LoopTimer(deadline: nil) { [unowned self] in tellProgress(at: loop.now) }
    loop.add(timer)
    progressTimer = timer
  }

  /// Reports progress, at most once per second.
  func progressed(at now: Instant) {
    guard let progressTimer, progressTimer.deadline == nil else { return }
    guard let due = toldProgressAt?.advanced(by: Self.progressInterval), due > now else {
      return tellProgress(at: now)
    }
    progressTimer.deadline = due
  }

  private func tellProgress(at now: Instant) {
    progressTimer?.deadline = nil
    toldProgressAt = now
    tell(statusLine)
  }

  func stopping() { tell("STOPPING=1") }

  /// Maximum silence of a live server: half a watchdog interval, so that each has a ping's answer.
  var longestSilence: Duration? {
    guard address != nil, let watchdogInterval else { return nil }
    return .nanoseconds(max(watchdogInterval.wholeNanoseconds / 2, 1_000_000))
  }

  /// Sends a sign of life twice as often as required, while the loop runs.
  ///
  /// - Parameter heardAt: Time of the server's last message; without a new one, no sign is sent.
  func watch(_ loop: EventLoop, heardAt: (() -> Instant?)? = nil) {
    guard address != nil, let watchdogInterval else { return }
    let heard = heardAt?()
    if heardAt == nil || heard != nil && heard != lastHeard { tell("WATCHDOG=1") }
    lastHeard = heard ?? lastHeard
    let timer =
      watchdog ?? LoopTimer(deadline: nil) { [unowned self] in watch(loop, heardAt: heardAt) }
    if watchdog == nil { loop.add(timer) }
    watchdog = timer
    timer.deadline = loop.now.advanced(by: watchdogInterval)
  }

  private func tell(_ state: String) {
    guard let address else { return }
    #if canImport(Glibc)
      let kind = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
      let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
    #elseif canImport(Musl)
      let kind = SOCK_DGRAM | SOCK_CLOEXEC
      let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
    #else
      let kind = SOCK_DGRAM
      let flags = MSG_DONTWAIT
    #endif
    let descriptor = socket(AF_UNIX, kind, 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var target = sockaddr_un()
    target.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &target.sun_path) { unsafe $0.copyBytes(from: address) }
    let length = MemoryLayout<sockaddr_un>.offset(of: \.sun_path).map { $0 + address.count }
    let message = Array(state.utf8)
    unsafe withUnsafePointer(to: &target) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        _ = unsafe sendto(
          descriptor, message, message.count, flags, generic, socklen_t(length ?? 0))
      }
    }
  }
}

extension ListenSettings {
  /// Writes the port to the file of `--port-file`, if any; reports a failure and returns false.
  func writePortFile(_ port: UInt16, _ diagnostics: Diagnostics) -> Bool {
    guard let path = portFile, let reason = PortFile.write(port, to: path) else { return true }
    diagnostics.error("--port-file: cannot write '\(path)': \(reason)")
    return false
  }
}

extension EventLoop {
  /// Such as `3 events, the last at 2026-11-22T11:44:24.243Z`; `nil` before the first.
  func progress(_ events: Int, lastAt: Instant?) -> String? {
    guard events > 0, let lastAt else { return nil }
    let last = SystemClock.wall().advanced(by: now.duration(to: lastAt))
    return "\(Quantities.words(events, of: "event")), the last at \(last.rfc3339)"
  }
}
