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

  /// Connects a stream along a route; returns its first event and the stream.
  func first(
    _ route: Route, tls: TLSContext? = nil, within limit: Duration? = nil
  ) -> (told: Recorder, stream: SocketStream) {
    let recorder = Recorder()
    recorder.onChange = { [loop] _ in loop.stop() }
    let stream = SocketStream.connect(
      loop: loop, to: route, tls: tls, deadline: limit.map { loop.now.advanced(by: $0) },
      delegate: recorder)
    #expect(run())
    return (recorder, stream)
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

  func ready(_ events: PollEvents, at now: Instant) { onReady(events, now) }
  func expired(at now: Instant) { onExpired(now) }
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

  func streamOpened(_ stream: SocketStream, at now: Instant) {
    isOpen = true
    onChange(stream)
  }

  func streamReadable(_ stream: SocketStream, at now: Instant) {
    do throws(TransportError) {
      let target = echoes ? output : input
      let result = try stream.read(into: target, atMost: step)
      if case .bytes(let count) = result { precondition(count <= step) }
      if result == .end { hasEnded = true }
      if echoes { try stream.write(from: output) }
      if echoes && hasEnded && !stream.wantsWrite { stream.close() }
    } catch {
      failure = error
    }
    onChange(stream)
  }

  func streamWritable(_ stream: SocketStream, at now: Instant) {
    do throws(TransportError) {
      try stream.write(from: output)
    } catch {
      failure = error
    }
    onChange(stream)
  }

  func streamFailed(_ stream: SocketStream, _ error: TransportError, at now: Instant) {
    failure = error
    onChange(stream)
  }
}
