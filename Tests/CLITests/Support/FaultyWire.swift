import PusherCore

/// Faults of one connection's bytes on their way from the server to the client.
struct FaultyWire: Sendable, CustomStringConvertible {
  enum Cut: Sendable, CaseIterable {
    case reset
    /// Ends the stream, as a dying process does.
    case end
    /// Drops all bytes in both directions without a notice.
    case blackHole
    /// Drops all bytes to the client; the client's bytes still reach the server.
    case halfOpen
  }

  /// Delay of each piece.
  var latency = Duration.zero
  /// Maximum size of a piece, in bytes.
  var piece = Int.max
  /// Time between two pieces.
  var interval = Duration.zero
  /// Number of bytes that pass at once, before ``piece`` and ``interval`` apply.
  var dripsAfter = 0
  /// The cut after ``cutAfter`` bytes to the client.
  var cut: Cut?
  var cutAfter = Int.max

  static let sound = FaultyWire()

  var description: String {
    let cut = cut.map { "\($0) after \(cutAfter) bytes" } ?? "no cut"
    return "\(cut), latency \(latency), \(piece) bytes at a time"
  }
}
