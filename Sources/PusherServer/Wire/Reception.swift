internal import PusherCore

/// Serves the connections of a ``Reception``.
protocol ReceptionOwner: AnyObject {
  /// Answers a request, or makes the connection a WebSocket.
  func answer(
    _ request: HTTPRequestReader.Request, on connection: ServerConnection, at now: Instant
  ) -> ConnectionAnswer
  /// A malformed request came, and got this answer.
  func refused(_ answer: HTTPAnswer)
  /// A connection ended before it was a WebSocket or a call.
  func dropped(_ reason: String)
  /// A connection is gone.
  func forgot(_ connection: ServerConnection)
  /// A second has passed in which there were connections.
  func scanned(at now: Instant)
}

/// Listens on a port, and keeps the connections: their number, their turns, their deadlines.
///
/// It lives on its loop's thread.
final class Reception {
  let loop: EventLoop
  /// Where it listens, with the port that the system picked.
  let address: SocketAddress
  /// Of requests: their bodies, and the times that they may take.
  let limits: ServerLimits
  weak var owner: (any ReceptionOwner)?
  /// Where all connections read to; empty between two calls.
  let scratch = ByteBuffer(capacity: 65_536)
  private(set) var isClosed = false
  /// What new connections speak TLS with; `nil` for plain ones.
  var tls: TLSContext?
  private let listener: Listener
  private let table: ConnectionTable
  /// Connections with more requests than answers.
  private var turns: [ServerConnection] = []
  private lazy var turnTimer = LoopTimer(deadline: nil) { [weak self] in self?.takeTurns() }
  private lazy var scanTimer = LoopTimer(deadline: nil) { [weak self] in self?.scan() }

  /// How exact the deadlines of connections are kept.
  private static let scanInterval = Duration.seconds(1)

  /// Listens from now on.
  ///
  /// - Parameters:
  ///   - handed: A socket that counts in place of host and port.
  ///   - sockets: The maximum of connections that become sockets; ``ServerLimits/callers`` others have places beside them.
  init(
    loop: EventLoop, host: String, port: UInt16, reusesPort: Bool = false,
    handed: HandedSocket? = nil, tls: TLSContext? = nil, sockets: Int = 0, limits: ServerLimits
  ) throws(TransportError) {
    self.loop = loop
    table = ConnectionTable(sockets: sockets, callers: limits.callers)
    self.limits = limits
    self.tls = tls
    let door = Door()
    let accept = { (descriptor: Int32, peer: SocketAddress?, now: Instant) in
      door.reception?.accept(descriptor, peer, at: now) ?? ()
    }
    if let handed {
      listener = Listener(loop: loop, handed: handed, onAccept: accept)
    } else {
      listener = try Listener(
        loop: loop, host: host, port: port, reusesPort: reusesPort, onAccept: accept)
    }
    address = listener.address
    door.reception = self
    for timer in [turnTimer, scanTimer] { loop.add(timer) }
  }

  /// Lets the listener call a reception that is made after the listener.
  private final class Door {
    weak var reception: Reception?
  }

  var isEmpty: Bool { table.isEmpty }

  var connections: [ServerConnection] { table.connections }

  /// Accepts nothing more, and ends what is idle, but for the sockets and for connections that have asked nothing yet.
  func close(at now: Instant) {
    isClosed = true
    listener.finish(at: now)
    for connection in connections where connection.socket == nil { connection.stop(at: now) }
  }

  /// No more connections are accepted.
  func end() {
    for timer in [turnTimer, scanTimer] { loop.remove(timer) }
  }

  private func accept(_ descriptor: Int32, _ peer: SocketAddress?, at now: Instant) {
    let connection = ServerConnection(self, descriptor: descriptor, peer: peer, tls: tls, at: now)
    guard table.take(connection, at: now) else {
      connection.cut("too many connections", at: now)
      return
    }
    armScan(at: now)
  }

  /// Gives a connection that brings a request the place of a caller; false when all callers are in use.
  func admit(caller connection: ServerConnection, at now: Instant) -> Bool {
    table.admit(caller: connection, at: now)
  }

  /// A connection has become a socket.
  func release(caller connection: ServerConnection) {
    table.release(caller: connection)
  }

  /// A connection has ended.
  func forget(_ connection: ServerConnection) {
    table.remove(connection)
    owner?.forgot(connection)
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

  private func armScan(at now: Instant) {
    guard scanTimer.deadline == nil else { return }
    scanTimer.deadline = now.advanced(by: Self.scanInterval)
  }

  /// Looks at all deadlines at once: they are long, and one timer is cheaper than thousands.
  private func scan() {
    let now = loop.now
    for connection in table.connections where connection.deadline <= now {
      connection.tick(at: now)
    }
    table.forgetWaiting()
    owner?.scanned(at: now)
    if !table.isEmpty { armScan(at: now) }
  }
}
