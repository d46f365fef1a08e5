package import PusherCore

protocol ConnectionAcceptorOwner: AnyObject {
  func answer(
    _ request: HTTPRequestReader.Request, on connection: ServerConnection, at now: Instant
  ) -> ConnectionAnswer
  func refused(_ answer: HTTPAnswer)
  /// Reports a connection that ended before it became a WebSocket or a call.
  func dropped(_ reason: String)
  func forgot(_ connection: ServerConnection)
  /// Called once per second while there are connections.
  func scanned(at now: Instant)
}

extension ConnectionAcceptorOwner {
  func refused(_ answer: HTTPAnswer) {}
  func dropped(_ reason: String) {}
  func forgot(_ connection: ServerConnection) {}
  func scanned(at now: Instant) {}
}

package struct ListenAddress: Sendable, Equatable {
  /// An address without brackets, or a name of this machine.
  package var host: String
  /// 0 lets the system pick a free port.
  package var port: UInt16
  /// Lets other servers with this option share the port.
  package var reusesPort: Bool
  /// A listening socket that replaces host and port.
  package var handed: HandedSocket?

  package init(
    host: String = "127.0.0.1", port: UInt16, reusesPort: Bool = false, handed: HandedSocket? = nil
  ) { (self.host, self.port, self.reusesPort, self.handed) = (host, port, reusesPort, handed) }
}

/// Listens on a port and manages the connections: their number, turns and deadlines.
///
/// Callers are connections with HTTP requests. They have their own places, so that they cannot keep
/// sockets out. A new connection, which may become either, takes any place. If all are taken, the
/// connection that has waited longest for its client is closed.
///
/// Only the loop's thread may use it.
final class ConnectionAcceptor {
  let loop: EventLoop
  let address: SocketAddress
  let limits: ServerLimits
  weak var owner: (any ConnectionAcceptorOwner)?
  /// Read buffer of all connections; empty between two calls.
  let scratch = ByteBuffer(capacity: 65_536)
  private(set) var isClosed = false
  var tls: TLSContext?
  private let listener: Listener
  private let limit: Int
  private var all: [ObjectIdentifier: ServerConnection] = [:]
  private var callers: [ObjectIdentifier: ServerConnection] = [:]
  /// Next connections to close, the first one last; one expensive search serves many closings.
  private var waiting: [(connection: ServerConnection, wait: ClientWait)] = []
  private static let searchLimit = 256
  private var turns: [ServerConnection] = []
  private lazy var turnTimer = LoopTimer(deadline: nil) { [weak self] in self?.takeTurns() }
  private lazy var scanTimer = LoopTimer(deadline: nil) { [weak self] in self?.scan() }

  private static let scanInterval = Duration.seconds(1)

  init(
    loop: EventLoop, at place: ListenAddress, tls: TLSContext? = nil, sockets: Int = 0,
    limits: ServerLimits
  ) throws(TransportError) {
    self.loop = loop
    limit = sockets + limits.callers
    self.limits = limits
    self.tls = tls
    // The listener is created before the acceptor that it calls.
    weak var acceptor: ConnectionAcceptor?
    let accept = { (descriptor: Int32, peer: SocketAddress?, now: Instant) in
      acceptor?.accept(descriptor, peer, at: now) ?? ()
    }
    if let handed = place.handed {
      listener = Listener(loop: loop, handed: handed, onAccept: accept)
    } else {
      listener = try Listener(
        loop: loop, host: place.host, port: place.port, reusesPort: place.reusesPort,
        onAccept: accept)
    }
    address = listener.address
    acceptor = self
    for timer in [turnTimer, scanTimer] { loop.add(timer) }
  }

  var isEmpty: Bool { all.isEmpty }
  var connections: [ServerConnection] { Array(all.values) }

  /// Stops accepting, and closes idle connections, except sockets and unused connections.
  func close(at now: Instant) {
    isClosed = true
    listener.finish(at: now)
    for connection in connections where connection.socket == nil { connection.stop(at: now) }
  }

  func end() { for timer in [turnTimer, scanTimer] { loop.remove(timer) } }

  private func accept(_ descriptor: Int32, _ peer: SocketAddress?, at now: Instant) {
    let connection = ServerConnection(self, descriptor: descriptor, peer: peer, tls: tls, at: now)
    guard all.count < limit || makePlace(at: now) else {
      connection.cut("too many connections", at: now)
      return
    }
    all[ObjectIdentifier(connection)] = connection
    scheduleScan(at: now)
  }

  func admit(caller connection: ServerConnection, at now: Instant) -> Bool {
    guard callers[ObjectIdentifier(connection)] == nil else { return true }
    if callers.count >= limits.callers {
      guard let first = Self.waiting(of: callers).min(by: { $0.wait < $1.wait }) else {
        return false
      }
      first.connection.closeForNewer(at: now)
    }
    callers[ObjectIdentifier(connection)] = connection
    return true
  }

  func release(caller connection: ServerConnection) { callers[ObjectIdentifier(connection)] = nil }

  func forget(_ connection: ServerConnection) {
    all[ObjectIdentifier(connection)] = nil
    callers[ObjectIdentifier(connection)] = nil
    owner?.forgot(connection)
  }

  /// Closes the connection that has waited longest; returns false if all are in use.
  private func makePlace(at now: Instant) -> Bool {
    if closeNext(at: now) { return true }
    waiting = Self.waiting(of: all).sorted { $0.wait > $1.wait }.suffix(Self.searchLimit)
    return closeNext(at: now)
  }

  private func closeNext(at now: Instant) -> Bool {
    while let (connection, wait) = waiting.popLast() {
      guard let current = connection.clientWait, current == wait else { continue }
      connection.closeForNewer(at: now)
      return true
    }
    return false
  }

  private static func waiting(of connections: [ObjectIdentifier: ServerConnection]) -> [(
    connection: ServerConnection, wait: ClientWait
  )] {
    connections.values.compactMap { connection in connection.clientWait.map { (connection, $0) } }
  }

  // MARK: Time

  /// Lets a connection answer its next request in the next round.
  func giveTurn(_ connection: ServerConnection) {
    turns.append(connection)
    turnTimer.deadline = LoopInterest.immediately
  }

  private func takeTurns() {
    let now = loop.now
    let waiting = turns
    turns = []
    for connection in waiting {
      connection.flush(at: now)
      connection.takeTurn(at: now)
      connection.flush(at: now)
    }
  }

  private func scheduleScan(at now: Instant) {
    guard scanTimer.deadline == nil else { return }
    scanTimer.deadline = now.advanced(by: Self.scanInterval)
  }

  /// Checks all deadlines at once: they are long, and one timer is cheaper than thousands.
  private func scan() {
    let now = loop.now
    for connection in connections where connection.deadline <= now { connection.tick(at: now) }
    waiting = []
    owner?.scanned(at: now)
    if !all.isEmpty { scheduleScan(at: now) }
  }
}

/// The wait of a connection for its client; the least wait is closed first: idle connections before
/// needed ones, then the longest wait.
///
/// `need` is 1 if the client still needs the connection: it is new, or a request has begun.
typealias ClientWait = (need: Int, since: Instant)
