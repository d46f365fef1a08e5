import Foundation
import PusherCore
import TestSupport

/// Faults of one connection's bytes on their way from the server to the client.
struct FaultyWire: Sendable, CustomStringConvertible {
  enum Cut: Sendable, CaseIterable {
    case reset
    /// Ends the stream, as a dying process does.
    case end
    /// Drops all bytes in both directions without a notice.
    case blackHole
    /// Drops all bytes to the client; the client's bytes still reach the server.
    case halfOpen
  }

  var latency = Duration.zero
  /// Maximum size of a piece, in bytes.
  var piece = Int.max
  var interval = Duration.zero
  /// Number of bytes that pass at once, before ``piece`` and ``interval`` apply.
  var dripsAfter = 0
  /// The cut after ``cutAfter`` bytes to the client.
  var cut: Cut?
  var cutAfter = Int.max

  static let sound = FaultyWire()

  var description: String {
    let cut = cut.map { "\($0) after \(cutAfter) bytes" } ?? "no cut"
    return "\(cut), latency \(latency), \(piece) bytes at a time"
  }
}

/// A proxy on a free port of 127.0.0.1 that applies a wire of the test's choice to each connection.
///
/// It forwards connections in the order of their arrival, so proxy and server number them alike.
final class FaultProxy: Sendable {
  let port: UInt16
  private let isSecure: Bool
  private let stopPipe: StopPipe

  /// Starts a proxy for a server, with a wire for each connection, counted from 1.
  init(to server: ScriptedServer, wire: @escaping @Sendable (Int) -> FaultyWire) throws {
    isSecure = server.isSecure
    let server = server.port
    let listener = try Loopback.listen()
    port = listener.port
    stopPipe = try StopPipe()
    let stop = stopPipe.reader
    Thread.detachNewThread {
      var number = 0
      while let client = Loopback.accept(listener.descriptor, until: stop) {
        number += 1
        guard let upstream = try? Loopback.dial(server) else { continue }
        let wire = wire(number)
        Thread.detachNewThread {
          FaultyConnection(client: client, server: upstream, wire: wire, stop: stop).run()
        }
      }
      close(listener.descriptor)
    }
  }

  deinit { stopPipe.end() }

  var address: [String] {
    [
      "--host", "127.0.0.1", "--port", "\(port)", "--scheme", isSecure ? "https" : "http",
      "--key", "test-key",
    ]
  }
}

private final class FaultyConnection {
  private let client: Int32
  private let server: Int32
  private let wire: FaultyWire
  private let stop: StopPipe.Reader
  private var toClient: [(due: Instant, bytes: ArraySlice<UInt8>)] = []
  private var toServer: [UInt8] = []
  private var serverHasEnded = false
  private var passed = 0
  private var nextPiece = Instant(nanoseconds: 0)
  /// Set by a cut that leaves the sockets open.
  private var silence: FaultyWire.Cut?
  private var piece = [UInt8](repeating: 0, count: 65_536)

  init(client: Int32, server: Int32, wire: FaultyWire, stop: StopPipe.Reader) {
    self.client = client
    self.server = server
    self.wire = wire
    self.stop = stop
  }

  func run() {
    defer {
      close(client)
      close(server)
    }
    while true {
      guard deliver(at: SystemClock.now()), pushToServer() else { return }
      if serverHasEnded, toClient.isEmpty, silence == nil { return }
      var waiting = [
        pollfd(fd: stop.descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: client, events: Int16(POLLIN), revents: 0),
        pollfd(fd: serverHasEnded ? -1 : server, events: serverEvents, revents: 0),
      ]
      poll(&waiting, 3, waitTime)
      if waiting[0].revents != 0 { return }
      if waiting[1].revents != 0, !readClient() { return }
      if waiting[2].revents != 0 { readServer() }
    }
  }

  private var serverEvents: Int16 {
    // A slow wire must slow the server down, as a real one does.
    let isFull = toClient.count > 64
    return Int16(isFull ? 0 : POLLIN) | Int16(toServer.isEmpty ? 0 : POLLOUT)
  }

  private var waitTime: Int32 {
    guard let first = toClient.first, silence == nil else { return 1000 }
    let left = SystemClock.now().duration(to: max(first.due, nextPiece)).wholeNanoseconds
    return Int32(clamping: max(left, 0) / 1_000_000 + 1)
  }

  private func deliver(at now: Instant) -> Bool {
    if silence != nil {
      toClient.removeAll()
      return true
    }
    while true {
      if let cut = wire.cut, passed >= wire.cutAfter { return apply(cut) }
      guard let first = toClient.first, first.due <= now, nextPiece <= now else { return true }
      let isWhole = passed < wire.dripsAfter
      let piece = isWhole ? wire.dripsAfter - passed : wire.piece
      let count = min(first.bytes.count, piece, wire.cutAfter - passed)
      let sent = Socket.send(first.bytes.prefix(count), to: client)
      guard sent > 0 else {
        let isFull = sent < 0 && errno == EAGAIN
        nextPiece = SystemClock.now().advanced(by: .milliseconds(1))
        return isFull
      }
      passed += sent
      toClient[0].bytes = first.bytes.dropFirst(sent)
      if toClient[0].bytes.isEmpty { toClient.removeFirst() }
      if wire.interval > .zero, !isWhole { nextPiece = now.advanced(by: wire.interval) }
    }
  }

  private func apply(_ cut: FaultyWire.Cut) -> Bool {
    switch cut {
    case .end: return false
    case .reset:
      var linger = Foundation.linger(l_onoff: 1, l_linger: 0)
      setsockopt(
        client, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Foundation.linger>.size))
      return false
    case .blackHole, .halfOpen:
      silence = cut
      return true
    }
  }

  private func readClient() -> Bool {
    let count = read(client, &piece, piece.count)
    guard count > 0 else { return count < 0 && errno == EAGAIN }
    if silence != .blackHole { toServer += piece[..<count] }
    return true
  }

  private func readServer() {
    let count = read(server, &piece, piece.count)
    if count > 0 {
      toClient.append((SystemClock.now().advanced(by: wire.latency), piece[..<count]))
    } else if count == 0 || errno != EAGAIN {
      serverHasEnded = true
    }
  }

  private func pushToServer() -> Bool {
    guard !toServer.isEmpty, !serverHasEnded else { return true }
    let sent = Socket.send(toServer[...], to: server)
    if sent > 0 { toServer.removeFirst(sent) }
    return true
  }
}
