/// A TCP socket that another process has made and handed over, and on which this one listens.
///
/// The other one may hold it too, so that connections wait in it while nobody accepts them.
package struct HandedSocket: Sendable, Equatable {
  /// Closed by the ``Listener`` that takes it.
  package let descriptor: Int32
  /// Where it listens.
  package let address: SocketAddress

  /// Why a descriptor cannot be listened on.
  package enum Fault: Error, Equatable, CustomStringConvertible {
    case notOpen
    case notASocket
    /// Datagrams, for example.
    case notAStream
    /// A connection, or a socket that is not listened on.
    case notListening
    /// A Unix socket, for example.
    case notInternet

    package var description: String {
      switch self {
      case .notOpen: "it is not open"
      case .notASocket: "it is not a socket"
      case .notAStream: "it takes no connections, but single messages"
      case .notListening: "nobody listens on it, or it is a connection"
      case .notInternet: "it has no IP address"
      }
    }
  }

  package init(descriptor: Int32, address: SocketAddress) {
    (self.descriptor, self.address) = (descriptor, address)
  }

  /// Looks at a descriptor, and keeps it from programs that are started.
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

  /// Another descriptor of the same socket, for one listener more; connections go to any of them.
  package func copy() throws(TransportError) -> HandedSocket {
    do throws(SystemError) {
      return HandedSocket(descriptor: try Syscalls.copy(of: descriptor), address: address)
    } catch {
      throw .listen(address: address.description, reason: error.description)
    }
  }
}
