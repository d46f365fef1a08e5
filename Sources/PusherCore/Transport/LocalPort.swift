/// Finds out whether a server listens on a port of this machine.
package enum LocalPort {
  /// Waits in steps of 20 ms until a server listens at `port` of `host`, for at most `time`; returns at once for a host
  /// that is not an IPv4 address of this machine (127.0.0.0/8).
  ///
  /// Only a refused connection is waited out. It blocks the thread.
  package static func wait(host: String, port: UInt16, atMost time: Duration) {
    var looks = time.wholeNanoseconds / 1_000_000 / Int64(interval)
    while looks > 0, isRefused(host: host, port: port) {
      looks -= 1
      Syscalls.pause(milliseconds: interval)
    }
  }

  private static let interval: UInt32 = 20

  /// Whether `host`, an IPv4 address of this machine, refuses connections to `port`; false for other hosts.
  package static func isRefused(host: String, port: UInt16) -> Bool {
    let octets = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
    guard octets.count == 4, octets[0] == 127, !octets.contains(nil) else { return false }
    let address = SocketAddress(family: .ipv4, octets: octets.compactMap(\.self), port: port)
    guard let descriptor = try? Syscalls.makeSocket(.ipv4) else { return false }
    defer { Syscalls.closeDescriptor(descriptor) }
    do throws(SystemError) {
      if try Syscalls.startConnecting(descriptor, to: address) { return false }
      // Where the answer does not come at once, on this machine it comes very soon.
      var looks = 50
      while looks > 0, try !Syscalls.isWritable(descriptor) {
        looks -= 1
        Syscalls.pause(milliseconds: interval)
      }
      return Syscalls.pendingError(descriptor) == .connectionRefused
    } catch {
      return error == .connectionRefused
    }
  }
}
