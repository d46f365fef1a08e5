import PusherCore
import Testing

final class LoopHarness: LoopSource {
  let loop: EventLoop
  private(set) var isLate = false
  private var deadline = Instant(nanoseconds: .max)

  init() throws(TransportError) {
    loop = try EventLoop()
  }

  func run() -> Bool {
    isLate = false
    deadline = loop.now.advanced(by: .seconds(60))
    loop.add(self)
    loop.run()
    loop.remove(self)
    return !isLate
  }

  func connect(
    _ recorder: Recorder, to route: Route, tls: TLSContext? = nil, limit: Duration? = nil
  ) -> SocketStream {
    .connect(
      loop: loop, to: route, tls: tls, deadline: limit.map { loop.now.advanced(by: $0) },
      delegate: recorder)
  }

  /// Connects a stream along a route that does not lead to an open stream; returns the error.
  func failure(_ route: Route, tls: TLSContext? = nil, limit: Duration? = nil) -> TransportError? {
    let recorder = Recorder()
    recorder.onChange = { [loop] _ in loop.stop() }
    let stream = connect(recorder, to: route, tls: tls, limit: limit)
    #expect(run() && !stream.isOpen)
    return recorder.failure
  }

  func closedAddress() throws -> SocketAddress {
    let listener = try Listener(loop: loop, host: "127.0.0.1", port: 0) { _, _, _ in }
    defer { listener.close() }
    return listener.address
  }

  var interest: LoopInterest { LoopInterest(deadline: deadline) }
  func ready(_ events: PollEvents, at now: Instant) {}
  func expired(at now: Instant) {
    isLate = true
    loop.stop()
  }
}

final class ClosureSource: LoopSource {
  var interest: LoopInterest
  var onReady: (PollEvents, Instant) -> Void = { _, _ in }
  var onExpired: (Instant) -> Void = { _ in }

  init(_ interest: LoopInterest) {
    self.interest = interest
  }

  convenience init(
    deadline: Instant?, onExpired: @escaping (ClosureSource, Instant) -> Void = { _, _ in }
  ) {
    self.init(LoopInterest(deadline: deadline))
    self.onExpired = { [unowned self] in onExpired(self, $0) }
  }

  func ready(_ events: PollEvents, at now: Instant) { onReady(events, now) }
  func expired(at now: Instant) { onExpired(now) }
}

/// Accepts connections on a port of this machine, each with a recorder.
final class LoopServer {
  private(set) var streams: [SocketStream] = []
  private(set) var recorders: [Recorder] = []
  private var listener: Listener?

  init(
    _ loop: EventLoop, host: String = "127.0.0.1", tls: TLSContext? = nil, echoes: Bool = false,
    onChange: @escaping (Recorder, SocketStream) -> Void = { _, _ in }
  ) throws(TransportError) {
    listener = try Listener(loop: loop, host: host, port: 0) {
      [unowned self, unowned loop] descriptor, peer, _ in
      let recorder = Recorder()
      recorder.echoes = echoes
      recorder.onChange = { [unowned recorder] in onChange(recorder, $0) }
      recorders.append(recorder)
      streams.append(
        .adopt(loop: loop, descriptor: descriptor, peer: peer, tls: tls, delegate: recorder))
    }
  }

  var port: UInt16 { listener?.address.port ?? 0 }
}

/// Sends the next of its answers to each request, which ends with `end`; an empty answer, or any if
/// the server `closes`, ends the connection.
final class AnsweringServer {
  private(set) var requests: [String] = []
  private(set) var sockets: LoopServer?
  private var answers: [String]

  init(
    _ loop: EventLoop, _ answers: [String], tls: TLSContext? = nil, end: String = "\r\n\r\n",
    closes: Bool = false
  ) throws(TransportError) {
    self.answers = answers
    sockets = try LoopServer(loop, tls: tls) { [unowned self] recorder, stream in
      guard !recorder.hasEnded, recorder.failure == nil else { return stream.close() }
      guard recorder.input.view.text.hasSuffix(end) else { return }
      requests.append(recorder.input.view.text)
      recorder.input.removeAll()
      let answer = self.answers.isEmpty ? "" : self.answers.removeFirst()
      recorder.send(Array(answer.utf8), on: stream)
      if closes || answer.isEmpty { stream.close() }
    }
  }

  var port: UInt16 { sockets?.port ?? 0 }
}

final class Recorder: SocketStreamDelegate {
  let input = ByteBuffer()
  let output = ByteBuffer()
  var isOpen = false
  var hasEnded = false
  var failure: TransportError?
  var step = 262_144
  var echoes = false
  /// Called after each event.
  var onChange: (SocketStream) -> Void = { _ in }

  func send(_ bytes: [UInt8], on stream: SocketStream) {
    output.append(bytes)
    try? stream.write(from: output)
  }

  func streamOpened(_ stream: SocketStream, at now: Instant) {
    isOpen = true
    onChange(stream)
  }

  func streamReadable(_ stream: SocketStream, at now: Instant) {
    attempt(stream) { () throws(TransportError) in
      let result = try stream.read(into: echoes ? output : input, atMost: step)
      if case .bytes(let count) = result { precondition(count <= step) }
      if result == .end { hasEnded = true }
      if echoes { try stream.write(from: output) }
      if echoes && hasEnded && !stream.wantsWrite { stream.close() }
    }
  }

  func streamWritable(_ stream: SocketStream, at now: Instant) {
    attempt(stream) { () throws(TransportError) in try stream.write(from: output) }
  }

  private func attempt(_ stream: SocketStream, _ body: () throws(TransportError) -> Void) {
    do throws(TransportError) { try body() } catch { failure = error }
    onChange(stream)
  }

  func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant) {
    failure = error
    onChange(stream)
  }
}
