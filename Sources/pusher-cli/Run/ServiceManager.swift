internal import PusherCore

#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// Tells the service manager how a run stands: a datagram to the socket that `NOTIFY_SOCKET` names.
///
/// Without the variable nothing is told. Nothing waits for the manager, and no failure ends a run. Source:
/// sd_notify(3), section "Notes".
final class ServiceManager {
  private let address: [UInt8]?
  private let watchdogInterval: Duration?
  private var watchdog: LoopTimer?
  private var hasSaidReady = false

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

  /// The run does what it is for; counts once.
  func ready() {
    guard !hasSaidReady else { return }
    hasSaidReady = true
    tell("READY=1")
  }

  /// The run is about to end.
  func stopping() { tell("STOPPING=1") }

  /// Gives a sign of life twice as often as the manager wants one, while the loop goes round.
  func watch(_ loop: EventLoop) {
    guard address != nil, let interval = watchdogInterval else { return }
    tell("WATCHDOG=1")
    let timer = watchdog ?? LoopTimer(deadline: nil) { [unowned self] in watch(loop) }
    if watchdog == nil {
      watchdog = timer
      loop.add(timer)
    }
    timer.deadline = loop.now.advanced(by: interval)
  }

  private func tell(_ state: String) {
    guard let address else { return }
    #if canImport(Glibc)
      let kind = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
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
