import Foundation
import PusherCore
import TestSupport

/// A listener whose connections are driven by a test byte by byte, each on its own thread.
final class RawServer: Sendable {
  final class Peer: Sendable {
    fileprivate let descriptor: Int32

    fileprivate init(_ descriptor: Int32) { self.descriptor = descriptor }

    func receive() -> [UInt8] {
      var chunk = [UInt8](repeating: 0, count: 65_536)
      let count = recv(descriptor, &chunk, chunk.count, 0)
      return Array(chunk[..<max(count, 0)])
    }

    func send(_ bytes: [UInt8]) {
      _ = Foundation.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    func head() -> String {
      var text = ""
      while !text.hasSuffix("\r\n\r\n") {
        let bytes = receive()
        guard !bytes.isEmpty else { break }
        text += String(decoding: bytes, as: UTF8.self)
      }
      return text
    }

    /// Returns true after the client closed or sent more bytes.
    fileprivate func hasNews(within milliseconds: Int32) -> Bool {
      var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      return poll(&entry, 1, milliseconds) > 0
    }

    /// Waits until the test opens the gate; returns false if the client closes earlier.
    func wait(for gate: Gate) -> Bool {
      while !gate.isOpen {
        if hasNews(within: 2) { return false }
      }
      return true
    }

    func waitForEnd() {
      while !receive().isEmpty {}
    }
  }

  final class Gate: Sendable {
    private let state = Locked(false)
    var isOpen: Bool { state.withLock { $0 } }
    func open() { state.withLock { $0 = true } }
  }

  /// Number of open connections at each accept.
  let opened = Gathered<Int>()
  let closed = Gathered<Int>()
  private let listener: LoopbackListener

  var port: Int { listener.port }

  /// - Parameter talk: Plays the server's side of one connection, which is closed afterwards.
  init(_ talk: @escaping @Sendable (Peer) -> Void) throws {
    let (opened, closed) = (opened, closed)
    let count = Locked(0)
    listener = try LoopbackListener(backlog: 256) { peer in
      let now = count.withLock { count in
        count += 1
        return count
      }
      opened.add(now)
      Thread.detachNewThread {
        talk(Peer(peer))
        count.withLock { $0 -= 1 }
        close(peer)
        closed.add(1)
      }
    }
  }

  /// Returns a server that greets each client, talks, and waits until the client closes.
  static func greeting(_ talk: @escaping @Sendable (Peer) -> Void = { _ in }) throws -> RawServer {
    try RawServer { peer in
      greet(peer)
      talk(peer)
      peer.waitForEnd()
    }
  }

  /// Upgrades a client's WebSocket and greets it.
  ///
  /// - Parameter extensions: The accepted extensions, or `nil`. - Returns: The client's request.
  @discardableResult static func greet(_ peer: Peer, extensions: String? = nil) -> String {
    let head = peer.head()
    let key =
      head.split(separator: "\r\n").first { $0.hasPrefix("Sec-WebSocket-Key: ") }?
      .dropFirst("Sec-WebSocket-Key: ".utf8.count) ?? ""
    let agreed = extensions.map { "Sec-WebSocket-Extensions: \($0)\r\n" } ?? ""
    let answer =
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      + "Sec-WebSocket-Accept: \(ServerHandshake.accept(String(key)))\r\n\(agreed)\r\n"
    let greeting =
      #"{"event":"pusher:connection_established","data":"{\"socket_id\":\"1.2\",\"activity_timeout\":120}"}"#
    peer.send(Array(answer.utf8) + textFrame(greeting))
    return head
  }
}

private final class LoopbackListener: Sendable {
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

  deinit { shutdown(descriptor, Int32(SHUT_RDWR)) }
}
