import Foundation
import PusherCore
import TestSupport

/// Sockets of the system.
enum Socket {
  #if canImport(Glibc)
    static let stream = Int32(SOCK_STREAM.rawValue)
    static let datagram = Int32(SOCK_DGRAM.rawValue)
  #else
    static let stream = SOCK_STREAM
    static let datagram = SOCK_DGRAM
  #endif

  /// Waits until a descriptor has one of the events, or has ended; returns false after the limit.
  static func wait(for events: Int32, on descriptor: Int32, milliseconds: Int32) -> Bool {
    var waiting = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    return poll(&waiting, 1, milliseconds) == 1
  }

  /// Sends what the other side takes now.
  static func send(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Int {
    bytes.withUnsafeBytes {
      Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
    }
  }

  /// Binds a Unix socket to a path; one that begins with a NUL byte is an abstract name.
  static func bind(_ descriptor: Int32, to path: String) throws {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8) + (path.hasPrefix("\0") ? [] : [0])
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Foundation.bind(descriptor, $0, socklen_t(2 + bytes.count))
      }
    }
    guard result == 0 else { throw SystemFailure("binding \(path)", errno) }
  }
}

enum Loopback {
  /// Listens on a free port.
  static func listen(
    backlog: Int32 = 64, last: UInt32 = 1, port: UInt16 = 0, receiveBuffer: Int32? = nil
  ) throws -> (descriptor: Int32, port: UInt16) {
    let descriptor = try socket(receiveBuffer: receiveBuffer)
    let result = withAddress(port: port, last: last) { bind(descriptor, $0, $1) }
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

  static func dial(_ port: UInt16, last: UInt32 = 1) throws -> Int32 {
    let descriptor = try socket()
    _ = withAddress(port: port, last: last) { connect(descriptor, $0, $1) }
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

  private static func socket(receiveBuffer: Int32? = nil) throws -> Int32 {
    let descriptor = Foundation.socket(AF_INET, Socket.stream, 0)
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

  private static func withAddress(
    port: UInt16, last: UInt32, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = (0x7F00_0000 | last).bigEndian
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }
}

extension Loopback {
  /// Waits until a socket besides those in `own` dials a port, and has no connection yet.
  ///
  /// The system lists the sockets of all programs to every user, but only to root those of one
  /// program that hides its memory.
  static func awaitDialling(of port: UInt16, besides own: [Int32]) throws {
    let known = try Set(own.map(localPort))
    try waitUntil("a program dials \(port)") { try !diallers(of: port).isSubset(of: known) }
  }

  /// Returns the local ports of the sockets that wait for an answer of `port`.
  ///
  /// Source: proc(5), `/proc/net/tcp`; state 2 is `TCP_SYN_SENT` of `netinet/tcp.h`.
  private static func diallers(of port: UInt16) throws -> Set<UInt16> {
    // A row is a number, the own address, the other address and the state, as in
    // `3: 0100007F:A268 0100007F:85E3 02`.
    let digits = String(port, radix: 16, uppercase: true)
    let end = ":" + String(repeating: "0", count: 4 - digits.count) + digits + " 02 "
    let rows = try SystemFile.text("/proc/net/tcp").split(separator: "\n")
    return Set(
      rows.filter { String($0).holds(Array(end.utf8)) }.compactMap { row in
        UInt16(row.split(separator: " ")[1].suffix(4), radix: 16)
      })
  }
}

/// A file that the system writes while it is read, such as those of `/proc`.
enum SystemFile {
  /// Returns the whole text.
  ///
  /// `String(contentsOfFile:)` takes the first short read for the end, so at most 4 KiB.
  static func text(_ path: String) throws -> String {
    let file = try FileHandle(forReadingFrom: URL(filePath: path))
    defer { try? file.close() }
    return String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
  }

  /// Returns the permissions of a file.
  static func mode(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
  }
}
