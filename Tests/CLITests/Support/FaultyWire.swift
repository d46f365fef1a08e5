import PusherCore

/// What happens to the bytes of one connection on their way from the server to the client.
struct FaultyWire: Sendable, CustomStringConvertible {
  /// How the wire ends the connection.
  enum Cut: Sendable, CaseIterable {
    /// By a reset in both directions.
    case reset
    /// By the end of the stream, as a process that dies leaves it.
    case end
    /// Nothing arrives any more in either direction, and nobody is told.
    case blackHole
    /// Nothing arrives at the client any more; what it says still reaches the server.
    case halfOpen
  }

  /// So much later each piece arrives.
  var latency = Duration.zero
  /// At most so many bytes arrive at a time.
  var piece = Int.max
  /// The time between two pieces.
  var interval = Duration.zero
  /// Up to so many bytes arrive whole and at once, before ``piece`` and ``interval`` count.
  var dripsAfter = 0
  /// What follows once ``cutAfter`` bytes have arrived at the client.
  var cut: Cut?
  var cutAfter = Int.max

  /// A wire that passes everything on at once.
  static let sound = FaultyWire()

  var description: String {
    let cut = cut.map { "\($0) after \(cutAfter) bytes" } ?? "no cut"
    return "\(cut), latency \(latency), \(piece) bytes at a time"
  }
}
