internal import PusherCore

#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// Waits for the server of `--local`, which a script has often started a line above.
///
/// Only a refused connection to an address of this machine is waited out, and no longer than one attempt to connect may
/// take; whatever stands then is told by the attempt that follows.
enum LocalServerWait {
  /// How long between two looks, in milliseconds.
  private static let interval: Int32 = 20

  /// Waits until somebody listens at the place of `connection`, `limit` at most.
  static func run(
    _ connection: ConnectionSettings, atMost limit: Duration?, _ diagnostics: Diagnostics
  ) {
    guard connection.isLocal, isRefused(connection) else { return }
    let patience = min(connection.connectTimeout, limit ?? connection.connectTimeout)
    diagnostics.info(
      "nothing listens on \(connection.host) port \(connection.port) yet; "
        + "waiting \(patience.inWords) at most for 'pusher-cli serve'")
    var looks = patience.wholeNanoseconds / 1_000_000 / Int64(interval)
    while looks > 0, isRefused(connection) {
      looks -= 1
      _ = poll(nil, 0, interval)
    }
  }

  /// Whether the address answers that nobody listens there; false too for what is no address of this machine.
  private static func isRefused(_ connection: ConnectionSettings) -> Bool {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(UInt16(clamping: connection.port).bigEndian)
    guard connection.host.hasPrefix("127."),
      unsafe inet_pton(AF_INET, connection.host, &address.sin_addr) == 1
    else { return false }
    #if canImport(Glibc)
      let descriptor = socket(
        AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    #else
      let descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    let result = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        unsafe connect(descriptor, generic, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result != 0 else { return false }
    guard errno == EINPROGRESS else { return errno == ECONNREFUSED }
    // Where the answer does not come at once, on this machine it comes very soon.
    var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    var code: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    return unsafe poll(&waiting, 1, 1000) == 1
      && getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length) == 0
      && code == ECONNREFUSED
  }
}
