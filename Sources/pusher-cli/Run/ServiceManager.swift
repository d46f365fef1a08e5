internal import PusherCore
internal import PusherPlatform

/// Tells the service manager the state of a run: a datagram to the socket that `NOTIFY_SOCKET` names.
///
/// Without the variable it does nothing. It never waits for the manager, and its failures do not end a run. Source:
/// sd_notify(3), section "Notes".
final class ServiceManager {
  private let address: [UInt8]?
  private let watchdogInterval: Duration?
  private var watchdog: LoopTimer?
  private var hasSaidReady = false
  private var lastStatus = ""
  /// What the run has got so far, in words; empty before the first event.
  private var progress: (() -> String)?
  private var progressTimer: LoopTimer?
  private var toldProgressAt: Instant?
  /// What was heard when the last sign of life was due.
  private var lastHeard: Instant?

  /// The manager that an environment names: an absolute path, or `@` and an abstract name.
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

  /// `sun_path` of sockaddr_un.
  private static let longestAddress = MemoryLayout.size(ofValue: sockaddr_un().sun_path)

  /// The run is ready, which counts once; `status` tells people how things stand.
  func ready(_ status: String) {
    guard !hasSaidReady else { return self.status(status) }
    hasSaidReady = true
    lastStatus = status
    tell("READY=1\n\(statusLine)")
  }

  /// How things stand, for people who ask the manager, before what ``follow(_:_:)`` adds; the same twice is told once.
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

  /// How often the status follows the events at most.
  private static let progressInterval = Duration.seconds(1)

  /// Adds to the status what `progress` says, from now on.
  func follow(_ loop: EventLoop, _ progress: @escaping () -> String) {
    guard address != nil else { return }
    self.progress = progress
    let timer = LoopTimer(deadline: nil) { [unowned self] in tellProgress(at: loop.now) }
    loop.add(timer)
    progressTimer = timer
  }

  /// The run has got further: told now, or once a second has passed since it was told last.
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

  /// The run is about to end.
  func stopping() { tell("STOPPING=1") }

  /// The longest silence of a server that may pass for life: half of the time between two signs of life, so that a
  /// server that answers when it is asked is heard before each.
  var longestSilence: Duration? {
    guard address != nil, let watchdogInterval else { return nil }
    return .nanoseconds(max(watchdogInterval.wholeNanoseconds / 2, 1_000_000))
  }

  /// Gives a sign of life twice as often as the manager wants one, while the loop goes round.
  ///
  /// - Parameter heardAt: When the server was heard last: without news of it there is no sign.
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

/// How many events there were, and when the last one was.
struct EventProgress {
  var events: Int
  var lastAt: Instant?

  /// It for people, such as `3 events, the last at 2026-11-22T11:44:24.243Z`; `nil` before the first.
  func words(at now: Instant) -> String? {
    guard events > 0, let lastAt else { return nil }
    let last = SystemClock.wall().advanced(by: now.duration(to: lastAt))
    return "\(events) \(events == 1 ? "event" : "events"), the last at \(last.rfc3339)"
  }
}
