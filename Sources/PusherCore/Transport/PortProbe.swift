/// Probes after a failure whether a port speaks TLS, plain HTTP or HTTP/2, on the loop's thread.
package final class PortProbe {
  package enum Question: Sendable {
    /// Checks for plain HTTP; TLS servers answer that with status 400.
    case plainHTTP(acceptsBadRequest: Bool)
    case tls
    /// Checks whether TLS agrees on HTTP/2; the caller knows that it does not agree on HTTP/1.1.
    case http2

    /// The protocol to offer with TLS; `nil` without TLS.
    fileprivate var offer: String? {
      switch self {
      case .plainHTTP: nil
      case .tls: "http/1.1"
      case .http2: "h2"
      }
    }
  }

  private let question: Question
  private let loop: EventLoop
  private let input = ByteBuffer(capacity: 4096)
  private var stream: SocketStream?
  private var timer: LoopTimer?
  private var completion: ((Bool) -> Void)?

  /// Connects; `completion` gets false without an answer within `time`.
  package init(
    _ question: Question, _ route: Route, within time: Duration, on loop: EventLoop,
    completion: @escaping (Bool) -> Void
  ) {
    (self.question, self.loop, self.completion) = (question, loop, completion)
    let timer = loop.schedule(after: time) { self.end(false) }
    self.timer = timer
    var tls: TLSContext?
    if let offer = question.offer {
      tls = try? TLSContext.client(TLSConfiguration(insecure: true), offering: offer)
      guard tls != nil else {
        timer.deadline = loop.now
        return
      }
    }
    stream = SocketStream.connect(loop: loop, to: route, tls: tls, delegate: self)
  }

  package func cancel() { end(false) }

  private func end(_ isFound: Bool) {
    guard let completion else { return }
    self.completion = nil
    stream?.close()
    loop.cancel(&timer)
    completion(isFound)
  }
}

extension PortProbe: SocketStreamDelegate {
  package func streamOpened(_ stream: SocketStream, at now: Instant) {
    switch question {
    case .tls: return end(true)
    case .http2: return end(stream.applicationProtocol?.isSame(as: "h2") == true)
    case .plainHTTP: break
    }
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
      var accepts = !isBadRequest
      if case .plainHTTP(acceptsBadRequest: true) = question { accepts = true }
      end(input.view.begins(with: "HTTP/1.") && accepts)
    } else if result == nil || result == .end {
      end(false)
    }
  }

  package func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant) {
    switch error {
    case .tls(.handshakeClosed), .tls(.notTLS): end(false)
    // Any other TLS error means that the server speaks TLS.
    case .tls: if case .tls = question { end(true) } else { end(false) }
    default: end(false)
    }
  }
}

package enum LocalPort {
  enum Answer { case open, refused, unknown }

  /// Returns whether `host`, a loopback address or `localhost`, refuses connections to `port`.
  package static func isRefused(host: String, port: UInt16) -> Bool {
    // An answer that does not come at once comes very soon on this machine.
    let answers = addresses(of: host, port).map { answer(of: $0, within: 1000) }
    return answers.contains(.refused) && !answers.contains(.open)
  }

  /// Returns no address for another host.
  private static func addresses(of host: String, _ port: UInt16) -> [SocketAddress] {
    let all = SocketAddress.loopback(port: port)
    if host == "localhost" { return all }
    if host == "::1" { return all.filter { $0.family == .ipv6 } }
    let octets = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
    guard octets.count == 4, octets[0] == 127, !octets.contains(nil) else { return [] }
    return [SocketAddress(family: .ipv4, octets: octets.compactMap(\.self), port: port)]
  }

  /// Asks one address.
  ///
  /// An attempt without a result in time meets a listener with a full queue: where nobody listens,
  /// this machine refuses at once.
  static func answer(of address: SocketAddress, within milliseconds: Int32) -> Answer {
    guard let descriptor = try? SystemCalls.makeSocket(address.family) else { return .unknown }
    defer { SystemCalls.closeDescriptor(descriptor) }
    do throws(SystemError) {
      if try SystemCalls.startConnecting(descriptor, to: address) { return .open }
      _ = SystemCalls.hasRoom(descriptor, milliseconds: milliseconds)
      switch SystemCalls.pendingError(descriptor) {
      case nil: return .open
      case .connectionRefused: return .refused
      default: return .unknown
      }
    } catch { return error == .connectionRefused ? .refused : .unknown }
  }
}
