internal import PusherCore

/// The clients with output, and the memory that it holds, which is bounded to protect the machine.
///
/// Buffers count with their capacity: a queue that grows takes up to twice the room of its bytes.
///
/// It belongs to the server's thread.
package final class OutputLedger {
  /// Bytes.
  package let limit: Int
  package private(set) var total = 0
  /// Makes room: lets the sockets take what they can, and gives clients up.
  var relieve: (() -> Void)?
  private var isRelieving = false

  package init(limit: Int) {
    self.limit = limit
  }

  private var touched: [ClientSession] = []

  /// Notes a session with new output, or one that has ended.
  func touch(_ session: ClientSession) {
    guard !session.isTouched else { return }
    session.isTouched = true
    touched.append(session)
  }

  /// The sessions with new output, or that have ended, since the last call.
  package func takeTouched() -> [ClientSession] {
    guard !touched.isEmpty else { return [] }
    defer { touched.removeAll(keepingCapacity: true) }
    for session in touched { session.isTouched = false }
    return touched
  }

  /// Whether there is more than there may be.
  var isFull: Bool { total > limit }

  /// Notes that the memory of a client's waiting output changed by this many bytes.
  func note(_ change: Int) {
    total += change
    guard change > 0, isFull, !isRelieving else { return }
    isRelieving = true
    defer { isRelieving = false }
    relieve?()
  }
}

// What a server does when its clients' queues are full together.
extension Server {
  /// Bytes that wait for all clients together, counted anew.
  package var recountedBytes: Int { reception.connections.reduce(0) { $0 + $1.waitingBytes } }

  /// Lets all sockets take what they can; then those who read slowest are dropped, until an eighth is free again.
  ///
  /// The sockets come first because a single event for many healthy clients may fill the queues at once.
  func relieve() {
    let now = loop.now
    for connection in reception.connections { connection.flush(at: now) }
    let ledger = context.ledger
    guard ledger.isFull else { return }
    var waiting = reception.connections.filter { $0.waitingBytes > 0 && $0.socket is ClientSession }
    waiting.sort { $0.waitingBytes > $1.waitingBytes }
    var dropped = 0
    for connection in waiting where ledger.total > ledger.limit / 8 * 7 {
      connection.cut("all clients together leave more than \(ledger.limit) bytes unread", at: now)
      dropped += 1
    }
    noteFullQueues(dropped: dropped)
  }
}
