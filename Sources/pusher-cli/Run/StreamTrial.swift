internal import PusherCore

/// Opens a stream, with or without TLS, and closes it; runs the loop meanwhile.
final class StreamTrial: SocketStreamDelegate {
  typealias Opened = (peer: SocketAddress?, security: TLSSummary?)

  private let loop: EventLoop
  private var result: Result<Opened, TransportError>?

  private init(_ loop: EventLoop) { self.loop = loop }

  static func run(
    _ loop: EventLoop, to route: Route, tls: TLSContext? = nil, within time: Duration
  ) -> Result<Opened, TransportError> {
    let trial = StreamTrial(loop)
    let stream = SocketStream.connect(
      loop: loop, to: route, tls: tls, deadline: loop.now.advanced(by: time), delegate: trial)
    loop.run()
    stream.close()
    return trial.result ?? .failure(.timeout(.connecting))
  }

  private func end(_ result: Result<Opened, TransportError>) {
    guard self.result == nil else { return }
    self.result = result
    loop.stop()
  }

  func streamOpened(_ stream: SocketStream, at now: Instant) {
    end(.success((stream.peer, stream.security)))
  }

  func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant) {
    end(.failure(error))
  }

  func streamReadable(_ stream: SocketStream, at now: Instant) {}
  func streamWritable(_ stream: SocketStream, at now: Instant) {}
}
