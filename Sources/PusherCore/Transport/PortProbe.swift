/// Probes a port after a failure: whether it speaks TLS or plain HTTP.
///
/// It has a loop of its own and blocks the thread; it is for the end of a run, to explain what went wrong.
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
    _ route: Route, within time: Duration, acceptsBadRequest: Bool
  ) -> Bool {
    guard let probe = PortProbe() else { return false }
    probe.acceptsBadRequest = acceptsBadRequest
    return probe.look(route, tls: nil, time)
  }

  /// Whether the server at the end of `route` does its part of a TLS handshake.
  package static func speaksTLS(_ route: Route, within time: Duration) -> Bool {
    guard let tls = try? TLSContext.client(TLSConfiguration(insecure: true)) else { return false }
    return PortProbe()?.look(route, tls: tls, time) ?? false
  }

  private func look(_ route: Route, tls: TLSContext?, _ time: Duration) -> Bool {
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
