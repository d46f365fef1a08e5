/// A server socket: hands on each connection it accepts.
package final class Listener: LoopSource {
  /// How long no connection is accepted after the machine ran out of descriptors or memory.
  package static let pause = Duration.milliseconds(100)

  /// As many are accepted at the end at most, so that those who go on coming do not put it off.
  private static let mostWaiting = 1024

  /// Where it listens, with the port the system chose when 0 was asked for.
  package let address: SocketAddress
  private let loop: EventLoop
  private var descriptor: Int32
  private var pausedUntil: Instant?
  /// Whether those who wait are lost at the end, since nobody else holds the socket.
  private let isOwn: Bool
  private let onAccept: (Int32, SocketAddress?, Instant) -> Void

  /// Listens on `port` (0 for any free one) of `host`, an address without brackets or a name of this machine.
  ///
  /// `onAccept` gets a connected, non-blocking descriptor, which belongs to it, the peer, and the time. Throws
  /// ``TransportError/listen(address:reason:)``. A name is looked up at once, which may block.
  ///
  /// - Parameter reusesPort: Whether others of this user may listen there too, if all of them say so; the system then
  ///   shares new connections out.
  package init(
    loop: EventLoop, host: String, port: UInt16, backlog: Int32 = 511, reusesPort: Bool = false,
    onAccept: @escaping (_ descriptor: Int32, _ peer: SocketAddress?, _ now: Instant) -> Void
  ) throws(TransportError) {
    let wanted: SocketAddress
    switch Resolver.ask(host, port: port, flags: 0) {
    case .success(let addresses): wanted = addresses[0]
    case .failure(let error): throw error
    }
    do throws(SystemError) {
      let descriptor = try Syscalls.makeSocket(wanted.family)
      do throws(SystemError) {
        try Syscalls.startListening(
          descriptor, at: wanted, backlog: backlog, reusesPort: reusesPort)
      } catch {
        Syscalls.closeDescriptor(descriptor)
        throw error
      }
      self.descriptor = descriptor
    } catch {
      throw .listen(address: wanted.description, reason: error.description)
    }
    self.address = Syscalls.localAddress(descriptor) ?? wanted
    self.loop = loop
    self.onAccept = onAccept
    isOwn = true
    loop.add(self)
  }

  /// Listens on a socket that was handed over, which then belongs to it.
  package init(
    loop: EventLoop, handed socket: HandedSocket,
    onAccept: @escaping (_ descriptor: Int32, _ peer: SocketAddress?, _ now: Instant) -> Void
  ) {
    descriptor = socket.descriptor
    address = socket.address
    // Of all that hold it: one of them may have accepted the connection that another was woken for.
    Syscalls.makeNonBlocking(descriptor)
    self.loop = loop
    self.onAccept = onAccept
    isOwn = false
    loop.add(self)
  }

  deinit {
    if descriptor >= 0 { Syscalls.closeDescriptor(descriptor) }
  }

  /// Hands on those that wait to be accepted, which would be reset otherwise, and accepts no more.
  ///
  /// Those that wait in a socket that was handed over stay there, for the next process that gets it.
  package func finish(at now: Instant) {
    loop.remove(self)
    for _ in 0..<Self.mostWaiting where isOwn && descriptor >= 0 {
      guard let (accepted, peer) = try? Syscalls.acceptConnection(descriptor) else { break }
      onAccept(accepted, peer, now)
    }
    close()
  }

  /// Accepts no more; connections that were handed on stay, and closing again does nothing.
  package func close() {
    loop.remove(self)
    if descriptor >= 0 { Syscalls.closeDescriptor(descriptor) }
    descriptor = -1
  }

  package var interest: LoopInterest {
    guard let pausedUntil else { return LoopInterest(descriptor: descriptor, events: .read) }
    return LoopInterest(deadline: pausedUntil)
  }

  package func ready(_ events: PollEvents, at now: Instant) {
    // A bound, so that a rush of new connections does not keep those that stand from their turn.
    for _ in 0..<64 where descriptor >= 0 {
      do throws(SystemError) {
        guard let (accepted, peer) = try Syscalls.acceptConnection(descriptor) else { return }
        onAccept(accepted, peer, now)
      } catch {
        // The connection still waits, so `poll` would return at once, again and again.
        pausedUntil = now.advanced(by: Self.pause)
        return
      }
    }
  }

  package func expired(at now: Instant) {
    pausedUntil = nil
  }
}
