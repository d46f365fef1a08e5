import Foundation
import PusherCore
import Testing

/// A server on a free port of 127.0.0.1 whose connections follow a script, each in its own thread.
///
/// A script that throws ends its connection. The error fails the test unless the other side had
/// left. All connections end with the server.
final class ScriptedServer: Sendable {
  typealias Script = @Sendable (ScriptedConnection) throws -> Void

  let port: UInt16
  let isSecure: Bool
  private let connections = Record<Int>()
  private let stopPipe: StopPipe

  /// - Parameters:
  ///   - certificate: Serves TLS with this certificate.
  ///   - receiveBuffer: Size of the system's receive buffer, in bytes; the system's default unless
  ///     given.
  ///   - place: Source location of the test, for later failures.
  ///   - script: Plays each connection.
  init(
    certificate: ServerCertificate? = nil, receiveBuffer: Int32? = nil,
    place: SourceLocation = #_sourceLocation, _ script: @escaping Script
  ) throws {
    let listener = try Loopback.listen(receiveBuffer: receiveBuffer)
    port = listener.port
    isSecure = certificate != nil
    stopPipe = try StopPipe()
    let connections = connections
    let stop = stopPipe.reader
    Thread.detachNewThread {
      while let accepted = Loopback.accept(listener.descriptor, until: stop) {
        connections.add(1)
        let number = connections.values.count
        Thread.detachNewThread {
          Self.run(script, on: accepted, number: number, stop: stop, certificate, place)
        }
      }
      close(listener.descriptor)
    }
  }

  deinit {
    stopPipe.end()
  }

  var connectionCount: Int { connections.values.count }

  var address: [String] {
    [
      "--host", isSecure ? "localhost" : "127.0.0.1", "--port", "\(port)",
      "--scheme", isSecure ? "https" : "http", "--key", "test-key",
    ]
  }

  private static func run(
    _ script: Script, on descriptor: Int32, number: Int, stop: StopPipe.Reader,
    _ certificate: ServerCertificate?, _ place: SourceLocation
  ) {
    do {
      let connection = try ScriptedConnection(
        descriptor, number: number, stop: stop, certificate: certificate)
      try script(connection)
      connection.end()
    } catch is PeerLeft {
    } catch is TLSError where certificate != nil {
      // A client that does not trust the certificate ends the handshake.
    } catch {
      Issue.record(
        "the script of connection \(number) failed: \(error)", sourceLocation: place)
    }
  }
}

struct ServerCertificate: Sendable {
  var certificate: String
  var key: String
  var behaviour: TLSBehaviour?
}

enum Loopback {
  /// Listens on a free port.
  ///
  /// - Parameters:
  ///   - last: Last number of the address, 127.0.0.1 unless given.
  ///   - port: A port instead of a free one.
  ///   - receiveBuffer: Unread bytes that each connection can hold.
  static func listen(
    backlog: Int32 = 64, last: UInt32 = 1, port: UInt16 = 0, receiveBuffer: Int32? = nil
  ) throws -> (descriptor: Int32, port: UInt16) {
    let descriptor = try socket(receiveBuffer: receiveBuffer)
    var address = self.address(port: port, last: last)
    let result = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0, Foundation.listen(descriptor, backlog) == 0 else {
      throw SystemFailure("listening", errno)
    }
    return (descriptor, try localPort(of: descriptor))
  }

  static func localPort(of descriptor: Int32) throws -> UInt16 {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        getsockname(descriptor, $0, &length)
      }
    }
    guard result == 0 else { throw SystemFailure("getsockname", errno) }
    return UInt16(bigEndian: address.sin_port)
  }

  /// Returns the next connection, or `nil` once the server stops.
  static func accept(_ listener: Int32, until stop: StopPipe.Reader) -> Int32? {
    while true {
      var waiting = [
        pollfd(fd: listener, events: Int16(POLLIN), revents: 0),
        pollfd(fd: stop.descriptor, events: Int16(POLLIN), revents: 0),
      ]
      poll(&waiting, 2, -1)
      if waiting[1].revents != 0 { return nil }
      let accepted = Foundation.accept(listener, nil, nil)
      guard accepted >= 0 else { continue }
      prepare(accepted)
      return accepted
    }
  }

  static func dial(_ port: UInt16, last: UInt32 = 1, receiveBuffer: Int32? = nil) throws -> Int32 {
    let descriptor = try socket(receiveBuffer: receiveBuffer)
    var address = self.address(port: port, last: last)
    withUnsafePointer(to: &address) { pointer in
      _ = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    return descriptor
  }

  /// Returns true if a program listens on the port.
  static func isListened(_ port: UInt16) throws -> Bool {
    let descriptor = try dial(port)
    defer { close(descriptor) }
    var waiting = [pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)]
    return poll(&waiting, 1, 1000) == 1 && Int32(waiting[0].revents) == POLLOUT
  }

  /// Returns a port without a listener that the system gives to nobody.
  ///
  /// It is below the ports that systems choose, and no other call in this process returns it again.
  static func closedPort() throws -> UInt16 {
    while true {
      let port = nextPort.withLock { next -> UInt16 in
        next = next < 29_999 ? next + 1 : 10_000
        return next
      }
      // Connects instead of binding: a starting child would hold a copy of our socket for a moment.
      if try !isListened(port) { return port }
    }
  }

  /// Next candidate for a closed port; other processes start elsewhere.
  private static let nextPort = Locked(UInt16(10_000 + Int(getpid()) * 211 % 20_000))

  private static func socket(receiveBuffer: Int32?) throws -> Int32 {
    #if canImport(Glibc)
      let descriptor = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      let descriptor = Foundation.socket(AF_INET, SOCK_STREAM, 0)
    #endif
    guard descriptor >= 0 else { throw SystemFailure("socket", errno) }
    prepare(descriptor)
    if var size = receiveBuffer {
      setsockopt(
        descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }
    return descriptor
  }

  private static func prepare(_ descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    var on: Int32 = 1
    setsockopt(
      descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
  }

  private static func address(port: UInt16, last: UInt32) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = (0x7F00_0000 | last).bigEndian
    return address
  }
}
