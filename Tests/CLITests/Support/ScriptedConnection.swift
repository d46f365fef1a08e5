import Foundation
import PusherCore

/// One accepted connection of a script: bytes, with or without TLS, with a limit on every wait.
final class ScriptedConnection {
  /// 1 for the server's first connection.
  let number: Int
  let input = ByteBuffer()
  /// Set by the upgrade.
  var socket: WebSocketConnection?
  private let descriptor: Int32
  private let stop: StopPipe.Reader
  let engine: TLSEngine?
  /// Maximum bytes of one write to the socket.
  private let writeSize: Int
  private let ciphertext = ByteBuffer()
  private var isClosed = false

  init(_ descriptor: Int32, number: Int, stop: StopPipe.Reader, certificate: ServerCertificate?)
    throws
  {
    self.descriptor = descriptor
    self.number = number
    self.stop = stop
    writeSize = certificate?.behaviour?.writeSize ?? .max
    guard let certificate else {
      engine = nil
      return
    }
    let context = try TLSContext.server(
      certificateFile: certificate.certificate, keyFile: certificate.key)
    certificate.behaviour?.apply(to: context)
    let engine = try TLSEngine(context: context)
    self.engine = engine
    do {
      while try !engine.handshake() {
        try flushCiphertext()
        try readCiphertext()
      }
      try flushCiphertext()
    } catch {
      // The alert tells the client the reason.
      try? flushCiphertext()
      throw error
    }
  }

  deinit { drop() }

  func receive(into buffer: ByteBuffer) throws {
    guard let engine else { return try readSome(into: buffer) }
    while true {
      switch try engine.read(into: buffer, atMost: 65_536) {
      case .bytes: return
      case .end: throw PeerLeft()
      case .wouldBlock: try readCiphertext()
      }
    }
  }

  func send(_ buffer: ByteBuffer) throws {
    guard let engine else { return try writeAll(buffer) }
    try engine.write(plaintext: buffer.view)
    buffer.removeAll()
    try flushCiphertext()
  }

  /// Sends bytes as they are, even if they violate the protocol.
  func send(bytes: [UInt8]) throws {
    let buffer = ByteBuffer()
    buffer.append(bytes)
    try send(buffer)
  }

  /// Closes after all sent bytes have arrived.
  func end() {
    if let engine {
      engine.shutdown()
      try? flushCiphertext()
    }
    drop()
  }

  /// Closes at once, without a close frame or alert.
  func drop() {
    guard !isClosed else { return }
    isClosed = true
    Foundation.close(descriptor)
  }

  /// Waits until the other side has acknowledged all sent bytes; only Linux can tell.
  func awaitAcknowledgement() throws {
    try waitUntil("all but \(unacknowledged) bytes were taken") {
      try checkPeer()
      return unacknowledged == 0
    }
  }

  /// Number of unacknowledged bytes; only Linux can tell.
  var unacknowledged: Int {
    var pending: Int32 = 0
    #if canImport(Glibc)
      _ = ioctl(descriptor, UInt(TIOCOUTQ), &pending)
    #endif
    return Int(pending)
  }

  /// Returns true if there is room to send within the limit; a client that does not read leaves
  /// none.
  func isWritable(within limit: Duration) -> Bool {
    Socket.wait(for: POLLOUT, on: descriptor, milliseconds: Int32(limit.inSeconds * 1000))
  }

  func awaitUnread() throws {
    guard Socket.wait(for: POLLIN, on: descriptor, milliseconds: 30_000) else {
      throw Late("nothing came")
    }
  }

  func stall() throws {
    _ = Socket.wait(for: POLLIN, on: stop.descriptor, milliseconds: 60_000)
    throw PeerLeft()
  }

  /// POLLRDHUP, which Swift's module lacks: the other side has ended, even with unread bytes; only
  /// on Linux.
  #if canImport(Glibc)
    private static let halfClosed = Int16(0x2000)
  #else
    private static let halfClosed: Int16 = 0
  #endif

  /// Throws ``PeerLeft`` if the other side or the test ended the connection; reads nothing.
  func checkPeer() throws {
    var waiting = [
      pollfd(fd: descriptor, events: Int16(POLLIN) | Self.halfClosed, revents: 0),
      pollfd(fd: stop.descriptor, events: Int16(POLLIN), revents: 0),
    ]
    poll(&waiting, 2, 0)
    let ends = Int16(POLLHUP | POLLERR) | Self.halfClosed
    if waiting[1].revents != 0 || waiting[0].revents & ends != 0 { throw PeerLeft() }
    var byte: UInt8 = 0
    let hasBytes = waiting[0].revents != 0
    if hasBytes, recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) == 0 {
      throw PeerLeft()
    }
  }

  func wait(for gate: Gate) throws {
    try waitUntil("somebody opened the gate") {
      if stop.hasEnded { throw PeerLeft() }
      return gate.isOpened(within: 0.02)
    }
  }

  private func readCiphertext() throws {
    try readSome(into: ciphertext)
    engine?.receive(ciphertext: ciphertext.view)
    ciphertext.removeAll()
  }

  private func flushCiphertext() throws {
    let outgoing = ByteBuffer()
    engine?.drain(into: outgoing)
    try writeAll(outgoing)
  }

  private func readSome(into buffer: ByteBuffer) throws {
    while true {
      let count = buffer.write(minimum: 65_536) { space in
        max(0, read(descriptor, space.baseAddress, space.count))
      }
      if count > 0 { return }
      // A second look tells an end from an empty socket, which the first cannot.
      var byte: UInt8 = 0
      let peeked = recv(descriptor, &byte, 1, Int32(MSG_PEEK))
      if peeked == 0 || peeked < 0 && errno != EAGAIN && errno != EINTR { throw PeerLeft() }
      if peeked < 0 { try waitFor(POLLIN) }
    }
  }

  private func writeAll(_ buffer: ByteBuffer) throws {
    while !buffer.isEmpty {
      let count = Foundation.send(
        descriptor, buffer.view.base, min(writeSize, buffer.count), Int32(MSG_NOSIGNAL))
      if count > 0 {
        buffer.consume(count)
      } else if errno == EAGAIN {
        try waitFor(POLLOUT)
      } else if errno != EINTR {
        throw PeerLeft()
      }
    }
  }

  private func waitFor(_ events: Int32) throws {
    var waiting = [
      pollfd(fd: descriptor, events: Int16(events), revents: 0),
      pollfd(fd: stop.descriptor, events: Int16(POLLIN), revents: 0),
    ]
    let count = poll(&waiting, 2, Int32(patience.inSeconds * 1000))
    if waiting[1].revents != 0 { throw PeerLeft() }
    if count == 0 { throw Late("nothing moved for \(patience)") }
  }
}
