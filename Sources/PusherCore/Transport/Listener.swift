package final class Listener: LoopSource {
  /// Pause after the system ran out of descriptors or memory.
  package static let pause = Duration.milliseconds(100)
  private static let mostWaiting = 1024

  /// Bound address, with the port that the system chose for port 0.
  package let address: SocketAddress
  private let loop: EventLoop
  private var descriptor: Int32
  private var pausedUntil: Instant?
  /// True if nobody else holds the socket, so that waiting connections would be lost at the end.
  private let isOwn: Bool
  private let onAccept: Acceptor

  /// Gets a connected, non-blocking descriptor and owns it.
  package typealias Acceptor = (_ descriptor: Int32, _ peer: SocketAddress?, _ now: Instant) -> Void

  private init(
    _ loop: EventLoop, _ descriptor: Int32, at address: SocketAddress, isOwn: Bool,
    _ onAccept: @escaping Acceptor
  ) {
    (self.loop, self.descriptor, self.address) = (loop, descriptor, address)
    (self.isOwn, self.onAccept) = (isOwn, onAccept)
    loop.add(self)
  }

  /// Listens on `port` (0 for any) of `host`, an address without brackets or a local name.
  ///
  /// Throws ``TransportError/listen(address:reason:)``. Looks a name up at once, which may block.
  /// With `reusesPort`, all of this user's sockets with that setting share the port's connections.
  package convenience init(
    loop: EventLoop, host: String, port: UInt16, reusesPort: Bool = false,
    onAccept: @escaping Acceptor
  ) throws(TransportError) {
    let wanted: SocketAddress
    switch Resolver.ask(host, port: port, flags: 0) {
    case .success(let addresses): wanted = addresses[0]
    case .failure(let error): throw error
    }
    let descriptor: Int32
    do throws(SystemError) {
      descriptor = try SystemCalls.startListening(at: wanted, reusesPort: reusesPort)
    } catch { throw .listen(address: wanted.description, reason: error.description) }
    let address = SystemCalls.localAddress(descriptor) ?? wanted
    self.init(loop, descriptor, at: address, isOwn: true, onAccept)
  }

  package convenience init(
    loop: EventLoop, handed socket: HandedSocket, onAccept: @escaping Acceptor
  ) {
    // Affects all holders: one of them may accept the connection that another was woken for.
    SystemCalls.makeNonBlocking(socket.descriptor)
    self.init(loop, socket.descriptor, at: socket.address, isOwn: false, onAccept)
  }

  deinit { if descriptor >= 0 { SystemCalls.closeDescriptor(descriptor) } }

  /// Accepts waiting connections, which would be reset, then closes; those of a handed socket stay.
  package func finish(at now: Instant) {
    loop.remove(self)
    for _ in 0..<Self.mostWaiting where isOwn && descriptor >= 0 {
      guard let (accepted, peer) = try? SystemCalls.acceptConnection(descriptor) else { break }
      onAccept(accepted, peer, now)
    }
    close()
  }

  /// Stops accepting; accepted connections stay open.
  package func close() {
    loop.remove(self)
    if descriptor >= 0 { SystemCalls.closeDescriptor(descriptor) }
    descriptor = -1
  }

  package var interest: LoopInterest {
    guard let pausedUntil else { return LoopInterest(descriptor: descriptor, events: .read) }
    return LoopInterest(deadline: pausedUntil)
  }

  package func ready(_ events: PollEvents, at now: Instant) {
    // The bound keeps a rush of new connections from delaying existing ones.
    for _ in 0..<64 where descriptor >= 0 {
      do throws(SystemError) {
        guard let (accepted, peer) = try SystemCalls.acceptConnection(descriptor) else { return }
        onAccept(accepted, peer, now)
      } catch {
        // The connection still waits, so `poll` would return at once, again and again.
        pausedUntil = now.advanced(by: Self.pause)
        return
      }
    }
  }

  package func expired(at now: Instant) { pausedUntil = nil }
}

/// A listening TCP socket from another process, which may keep it too, so that no connection is
/// lost.
package struct HandedSocket: Sendable, Equatable {
  /// The ``Listener`` that takes the socket closes it.
  package let descriptor: Int32
  package let address: SocketAddress

  package enum Fault: Error, Equatable, CustomStringConvertible {
    case notOpen
    case notASocket
    case notAStream
    /// A connection, or a socket without `listen`.
    case notListening
    case notInternet

    package var description: String {
      switch self {
      case .notOpen: "it is not open"
      case .notASocket: "it is not a socket"
      case .notAStream: "it is not a stream socket"
      case .notListening: "it is not a listening socket"
      case .notInternet: "it has no IP address"
      }
    }
  }

  package init(descriptor: Int32, address: SocketAddress) {
    (self.descriptor, self.address) = (descriptor, address)
  }

  package init(descriptor: Int32) throws(Fault) {
    SystemCalls.closeOnExec(descriptor)
    try SystemCalls.checkListening(descriptor)
    guard let address = SystemCalls.localAddress(descriptor) else { throw .notInternet }
    self.init(descriptor: descriptor, address: address)
  }
}
