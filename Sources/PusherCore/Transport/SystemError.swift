internal import PusherPlatform

/// A system call's `errno`; an open set.
package struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
  package let code: Int32

  package init(code: Int32) { self.code = code }

  static var last: SystemError { SystemError(code: errno) }

  /// The system's words with a small first letter, for use inside a sentence.
  package var description: String {
    let words = unsafe String(cString: strerror(code))
    let second = words.dropFirst().first
    guard let first = words.first, second?.isUppercase == false else { return words }
    return first.lowercased() + words.dropFirst()
  }

  /// True for a temporary shortage of descriptors, processes or memory.
  package var isShortage: Bool { [EAGAIN, EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(code) }

  package static let interrupted = SystemError(code: EINTR)
  package static let brokenPipe = SystemError(code: EPIPE)
  package static let connectionRefused = SystemError(code: ECONNREFUSED)
  package static let badDescriptor = SystemError(code: EBADF)
  package static let addressInUse = SystemError(code: EADDRINUSE)
  package static let invalid = SystemError(code: EINVAL)
}

package enum TransportError: Error, Equatable, CustomStringConvertible {
  case resolve(host: String, reason: String)
  /// No connection to `address`, the last one tried.
  case connect(address: String, reason: String)
  /// The proxy, named without its password, did not connect to the server.
  case proxy(String, ProxyError)
  case timeout(Stage)
  /// TLS failed; the error says whose fault it is.
  case tls(TLSError)
  case reset(reason: String)
  case listen(address: String, reason: String)
  case system(operation: String, reason: String)

  package enum Stage: String, Sendable {
    case resolving = "the name lookup"
    case connecting = "the connection attempt"
    case handshaking = "the TLS handshake"
  }

  package var description: String {
    switch self {
    case .resolve(let host, let reason): "cannot resolve \(host): \(reason)"
    case .connect(let address, let reason): "cannot connect to \(address): \(reason)"
    case .proxy(let proxy, let error): "proxy \(proxy) \(error)"
    case .timeout(let stage): "timed out during \(stage.rawValue)"
    case .tls(let error): error.description
    case .reset(let reason): "connection lost: \(reason)"
    case .listen(let address, let reason): "cannot listen on \(address): \(reason)"
    case .system(let operation, let reason): "cannot \(operation): \(reason)"
    }
  }
}
