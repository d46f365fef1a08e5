import PusherCore

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// An HTTP server with one thread: it answers GET with an event stream, and passes every POST to a
/// closure.
final class LittleServer: @unchecked Sendable {
  // Sendable because nothing changes after the initializer.
  private let listener: Int32
  let port: UInt16

  var url: String { "http://127.0.0.1:\(port)/" }

  init(_ handle: @escaping @Sendable (Incoming) -> Void = { _ in }) throws {
    #if canImport(Glibc)
      let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      let listener = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isThere = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(listener, address, size) == 0 && listen(listener, 8) == 0
          && getsockname(listener, address, &size) == 0
      }
    }
    guard isThere else { throw Unexpected(description: "no port for a little server") }
    port = UInt16(bigEndian: address.sin_port)
    self.listener = listener
    Thread.start {
      while case let peer = accept(listener, nil, nil), peer >= 0 {
        Self.serve(peer, handle)
        close(peer)
      }
      close(listener)
    }
  }

  func stop() {
    shutdown(listener, Int32(SHUT_RDWR))
  }

  private static func serve(_ peer: Int32, _ handle: (Incoming) -> Void) {
    var bytes: [UInt8] = []
    var incoming = Incoming()
    var length = 0
    while true {
      if let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) {
        let head = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
        for line in head.split(separator: "\r\n").dropFirst() {
          let parts = line.split(separator: ":", maxSplits: 1)
          let value = parts.last.map { String($0.drop { $0 == " " }) } ?? ""
          incoming.headers[String(parts[0])] = value
        }
        length = Int(incoming.headers["Content-Length"] ?? "") ?? 0
        guard bytes.count >= end.upperBound + length else {
          guard more(peer, &bytes) else { return }
          continue
        }
        incoming.body = Array(bytes[end.upperBound...])
        if head.hasPrefix("GET") {
          stream(peer, after: incoming.headers["Last-Event-ID"])
        } else {
          handle(incoming)
          send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", peer)
        }
        return
      }
      guard more(peer, &bytes) else { return }
    }
  }

  /// Sends two events; a client that reconnects gets a third, and its stream stays open.
  private static func stream(_ peer: Int32, after id: String?) {
    send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nretry: 10\n", peer)
    guard id == nil else {
      send(": welcome\nid: 3\nevent: user-connected\ndata: back after \(id ?? "")\n\n", peer)
      var bytes: [UInt8] = []
      while more(peer, &bytes) {}
      return
    }
    send("id: 1\ndata: hello\n\nid: 2\nevent: user-connected\ndata: Ann\n\n", peer)
  }

  private static func more(_ peer: Int32, _ bytes: inout [UInt8]) -> Bool {
    var part = [UInt8](repeating: 0, count: 65_536)
    let count = recv(peer, &part, part.count, 0)
    guard count > 0 else { return false }
    bytes += part[..<count]
    return true
  }

  private static func send(_ text: String, _ peer: Int32) {
    let bytes = Array(text.utf8)
    #if canImport(Glibc)
      let flags = Int32(MSG_NOSIGNAL)
    #else
      let flags: Int32 = 0
    #endif
    _ = bytes.withUnsafeBytes { sendAll(peer, $0.baseAddress, $0.count, flags) }
  }

  private static func sendAll(
    _ peer: Int32, _ bytes: UnsafeRawPointer?, _ count: Int, _ flags: Int32
  ) -> Int {
    #if canImport(Glibc)
      Glibc.send(peer, bytes, count, flags)
    #else
      Darwin.send(peer, bytes, count, flags)
    #endif
  }
}

private enum Thread {
  private final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  static func start(_ run: @escaping @Sendable () -> Void) {
    let argument = Unmanaged.passRetained(Body(run)).toOpaque()
    #if canImport(Glibc)
      var thread = pthread_t()
      pthread_create(&thread, nil, enter, argument)
      pthread_detach(thread)
    #else
      var thread: pthread_t?
      pthread_create(&thread, nil, { enter($0) }, argument)
      if let thread { pthread_detach(thread) }
    #endif
  }

  private static let enter: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? =
    {
      if let argument = $0 { Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run() }
      return nil
    }
}
