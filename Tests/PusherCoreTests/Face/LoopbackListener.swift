import Foundation

final class LoopbackListener: Sendable {
  let port: Int
  private let descriptor: Int32

  /// - Parameter take: Takes ownership of each descriptor and closes it. The next connection waits
  ///   until it returns.
  init(backlog: Int32, _ take: @escaping @Sendable (Int32) -> Void) throws {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && listen(descriptor, backlog) == 0
          && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard isBound else { throw LocalService.Failure.noServer }
    self.descriptor = descriptor
    port = Int(UInt16(bigEndian: address.sin_port))
    Thread.detachNewThread {
      while true {
        let peer = accept(descriptor, nil, nil)
        guard peer >= 0 else { break }
        take(peer)
      }
      // Closed here and not in `deinit`: otherwise this thread could accept on a reused descriptor.
      close(descriptor)
    }
  }

  deinit {
    shutdown(descriptor, Int32(SHUT_RDWR))
  }
}
