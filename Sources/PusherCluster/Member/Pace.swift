/// Limits the bytes of requests whose answers are due.
///
/// An answer comes as a message, after all messages that its request causes. So the bytes on their
/// way to this node have a limit too, and Redis need not close the connection that carries them
/// (`client-output-buffer-limit pubsub`).
struct Pace {
  private static let limit = 256 << 10
  /// The cost of a request besides its content.
  private static let base = 512

  private var costs: [Int: Int] = [:]
  private var due = 0

  var hasRoom: Bool { due < Self.limit }
  var isIdle: Bool { costs.isEmpty }

  mutating func noteSent(_ number: Int, bytes: Int) {
    costs[number] = bytes + Self.base
    due += bytes + Self.base
  }

  mutating func noteAnswered(_ number: Int) { due -= costs.removeValue(forKey: number) ?? 0 }
}
