import Foundation
import PusherCore

extension Loopback {
  /// Waits until a socket besides those in `own` dials a port, and has no connection yet.
  ///
  /// The system lists the sockets of all programs to every user, but only to root those of one
  /// program that hides its memory.
  static func awaitDialling(of port: UInt16, besides own: [Int32]) throws {
    let known = try Set(own.map(localPort))
    try waitUntil("a program dials \(port)") { try !diallers(of: port).isSubset(of: known) }
  }

  /// Returns the local ports of the sockets that wait for an answer of `port`.
  ///
  /// Source: proc(5), `/proc/net/tcp`; state 2 is `TCP_SYN_SENT` of `netinet/tcp.h`.
  private static func diallers(of port: UInt16) throws -> Set<UInt16> {
    // A row is a number, the own address, the other address and the state, as in
    // `3: 0100007F:A268 0100007F:85E3 02`.
    let digits = String(port, radix: 16, uppercase: true)
    let end = ":" + String(repeating: "0", count: 4 - digits.count) + digits + " 02 "
    let rows = try SystemFile.text("/proc/net/tcp").split(separator: "\n")
    return Set(
      rows.filter { $0.holds(Array(end.utf8)) }.compactMap { row in
        UInt16(row.split(separator: " ")[1].suffix(4), radix: 16)
      })
  }
}
