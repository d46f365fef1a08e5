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
    Syscalls.closeOnExec(descriptor)
    switch Syscalls.kind(ofSocket: descriptor) {
    case .stream(isListening: true): break
    case .stream(isListening: false): throw .notListening
    case .other: throw .notAStream
    case .noSocket(.badDescriptor): throw .notOpen
    case .noSocket: throw .notASocket
    }
    guard let address = Syscalls.localAddress(descriptor) else { throw .notInternet }
    self.init(descriptor: descriptor, address: address)
  }

  /// Returns another descriptor of the same socket; a connection goes to any of them.
  package func copy() throws(TransportError) -> HandedSocket {
    do throws(SystemError) {
      return HandedSocket(descriptor: try Syscalls.copy(of: descriptor), address: address)
    } catch { throw .listen(address: address.description, reason: error.description) }
  }
}
