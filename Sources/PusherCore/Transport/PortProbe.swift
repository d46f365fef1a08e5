/// Probes a port after a failure: whether it speaks TLS or plain HTTP.
///
/// It has a loop of its own and blocks the thread; it is for the end of a run, to explain what went wrong. A byte at the
/// descriptor `interruption`, which stays there, ends the look without a result.
package final class PortProbe {
  private let loop: EventLoop
  private let input = ByteBuffer(capacity: 4096)
  private var stream: SocketStream?
  private var isFound = false
  private var acceptsBadRequest = false

  private init?() {
    guard let loop = try? EventLoop() else { return nil }
    self.loop = loop
  }

  /// Whether the server at the end of `route` answers plain HTTP.
  ///
  /// - Parameter acceptsBadRequest: Whether the status 400 counts, with which servers of TLS answer plain HTTP.
  package static func speaksPlainHTTP(
    _ route: Route, within time: Duration, acceptsBadRequest: Bool, interruption: Int32? = nil
  ) -> Bool {
    guard let probe = PortProbe() else { return false }
    probe.acceptsBadRequest = acceptsBadRequest
    return probe.look(route, tls: nil, time, interruption)
  }

  /// Whether the server at the end of `route` does its part of a TLS handshake.
  package static func speaksTLS(
    _ route: Route, within time: Duration, interruption: Int32? = nil
  ) -> Bool {
    guard let tls = try? TLSContext.client(TLSConfiguration(insecure: true)) else { return false }
    return PortProbe()?.look(route, tls: tls, time, interruption) ?? false
  }

  private func look(
    _ route: Route, tls: TLSContext?, _ time: Duration, _ interruption: Int32?
  ) -> Bool {
    if let interruption { loop.add(Interruption(interruption) { [loop] in loop.stop() }) }
    let timer = LoopTimer(deadline: loop.now.advanced(by: time)) { [loop] in loop.stop() }
    loop.add(timer)
    stream = SocketStream.connect(loop: loop, to: route, tls: tls, delegate: self)
    loop.run()
    stream?.close()
    return isFound
  }

  private func end(_ isFound: Bool) {
    self.isFound = isFound
    loop.stop()
  }
}

/// Watches a descriptor that somebody else reads.
private final class Interruption: LoopSource {
  private let descriptor: Int32
  private let action: () -> Void

  init(_ descriptor: Int32, _ action: @escaping () -> Void) {
    (self.descriptor, self.action) = (descriptor, action)
  }

  var interest: LoopInterest { LoopInterest(descriptor: descriptor, events: .read) }

  func ready(_ events: PollEvents, at now: Instant) { action() }

  func expired(at now: Instant) {}
}

extension PortProbe: SocketStreamDelegate {
  package func streamOpened(_ stream: SocketStream, at now: Instant) {
    // With TLS only a finished handshake was wanted.
    guard stream.tls == nil else { return end(true) }
    let head = HTTPRequestHead(
      method: "HEAD", target: "/",
      headers: HTTPHeaders([("Host", "localhost"), ("Connection", "close")]))
    let output = ByteBuffer()
    guard let bytes = try? head.encode() else { return end(false) }
    output.append(bytes)
    if (try? stream.write(from: output)) == nil { end(false) }
  }

  package func streamReadable(_ stream: SocketStream, at now: Instant) {
    let result = try? stream.read(into: input, atMost: 4096)
    // `HTTP/1.1 200`
    if input.count >= 12 {
      let isBadRequest = input.view[9..<12].equals("400")
      end(input.view.begins(with: "HTTP/1.") && (acceptsBadRequest || !isBadRequest))
    } else if result == nil || result == .end {
      end(false)
    }
  }

  package func streamWritable(_ stream: SocketStream, at now: Instant) {}

  package func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant) {
    switch error {
    // An error here is an error of TLS.
    case .tls(.handshakeClosed), .tls(.notTLS): end(false)
    case .tls: end(true)
    default: end(false)
    }
  }
}

/// Finds out whether a server listens on a port of this machine.
package enum LocalPort {
  private static let interval: UInt32 = 20

  /// Whether `host`, an IPv4 address of this machine, refuses connections to `port`; false for other hosts.
  package static func isRefused(host: String, port: UInt16) -> Bool {
    let octets = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
    guard octets.count == 4, octets[0] == 127, !octets.contains(nil) else { return false }
    let address = SocketAddress(family: .ipv4, octets: octets.compactMap(\.self), port: port)
    guard let descriptor = try? Syscalls.makeSocket(.ipv4) else { return false }
    defer { Syscalls.closeDescriptor(descriptor) }
    do throws(SystemError) {
      if try Syscalls.startConnecting(descriptor, to: address) { return false }
      // Where the answer does not come at once, on this machine it comes very soon.
      var looks = 50
      while looks > 0, try !Syscalls.isWritable(descriptor) {
        looks -= 1
        Syscalls.pause(milliseconds: interval)
      }
      return Syscalls.pendingError(descriptor) == .connectionRefused
    } catch {
      return error == .connectionRefused
    }
  }
}
