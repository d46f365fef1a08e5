import Foundation
import PusherCore
import TestSupport

/// A listener whose connections are driven by a test byte by byte, each on its own thread.
final class RawServer: Sendable {
  final class Peer: Sendable {
    fileprivate let descriptor: Int32

    fileprivate init(_ descriptor: Int32) {
      self.descriptor = descriptor
    }

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

  /// Upgrades a client's WebSocket and greets it.
  ///
  /// - Parameter extensions: The accepted extensions, or `nil`. - Returns: The client's request.
  @discardableResult
  static func greet(_ peer: Peer, extensions: String? = nil) -> String {
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
