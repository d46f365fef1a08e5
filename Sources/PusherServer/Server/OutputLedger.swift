internal import PusherCore

/// Clients with output, and the memory of that output, which is limited to protect the machine.
///
/// Buffers count with their capacity: a growing queue takes up to twice the size of its content.
/// Only the server's thread may use the ledger.
package final class OutputLedger {
  package let limit: Int
  package private(set) var total = 0
  /// Reduces the output: sends as much as the sockets take, and drops clients.
  var makeRoom: (() -> Void)?
  private var isRelieving = false

  package init(limit: Int) { self.limit = limit }

  private var touched: [ClientSession] = []

  /// Lists a session with new output, or one that has ended.
  func touch(_ session: ClientSession) {
    guard !session.isTouched else { return }
    session.isTouched = true
    touched.append(session)
  }

  /// Returns and clears the list of sessions.
  package func takeTouched() -> [ClientSession] {
    for session in touched { session.isTouched = false }
    return touched.takeAll()
  }

  var isFull: Bool { total > limit }

  /// Records a change of a client's waiting output, in bytes.
  func note(_ change: Int) {
    total += change
    guard change > 0, isFull, !isRelieving else { return }
    isRelieving = true
    defer { isRelieving = false }
    makeRoom?()
  }
}

extension Server {
  /// Output waiting for all clients, in bytes, computed from scratch.
  package var recountedBytes: Int { acceptor.connections.reduce(0) { $0 + $1.waitingBytes } }

  /// Sends as much as the sockets take, then drops the slowest readers until an eighth is free.
  ///
  /// Sockets come first because one event for many healthy clients may fill the queues.
  func makeRoom() {
    let now = loop.now
    for connection in acceptor.connections { connection.flush(at: now) }
    let ledger = context.ledger
    guard ledger.isFull else { return }
    var waiting = acceptor.connections.filter { $0.waitingBytes > 0 && $0.socket is ClientSession }
    waiting.sort { $0.waitingBytes > $1.waitingBytes }
    var dropped = 0
    for connection in waiting where ledger.total > ledger.limit / 8 * 7 {
      connection.cut("all clients together left more than \(ledger.limit) bytes unread", at: now)
      dropped += 1
    }
    noteFullQueues(dropped: dropped)
  }
}
