import Foundation

extension Loopback {
  /// Waits until a socket besides those in `own` dials a port, and has no connection yet.
  ///
  /// The system lists the sockets of all programs to every user, but only to root those of one
  /// program that hides its memory.
  static func awaitDialling(of port: UInt16, besides own: [Int32]) throws {
    let known = try Set(own.map(localPort))
    try waitUntil("a program dials \(port)") { !diallers(of: port).isSubset(of: known) }
  }

  /// Returns the local ports of the sockets that wait for an answer of `port`.
  ///
  /// Source: proc(5), `/proc/net/tcp`; state 2 is `TCP_SYN_SENT` of `netinet/tcp.h`.
  private static func diallers(of port: UInt16) -> Set<UInt16> {
    let table = (try? String(contentsOfFile: "/proc/net/tcp", encoding: .utf8)) ?? ""
    let rows = table.split(separator: "\n").map { $0.split(separator: " ") }
    return Set(
      rows.compactMap { row in
        // Number, own address, other address, state; an address is `0100007F:PORT`.
        guard row.count > 3, row[3] == "02", UInt16(row[2].suffix(4), radix: 16) == port else {
          return nil
        }
        return UInt16(row[1].suffix(4), radix: 16)
      })
  }

  private static func localPort(of descriptor: Int32) throws -> UInt16 {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        getsockname(descriptor, $0, &length)
      }
    }
    guard result == 0 else { throw SystemFailure("getsockname", errno) }
    return UInt16(bigEndian: address.sin_port)
  }
}
