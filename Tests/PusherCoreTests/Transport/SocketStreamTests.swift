import PusherCore
import Testing

struct SocketStreamTests {
  private static let files = TestCertificates.shared

  private func trusting() throws(TLSError) -> TLSContext {
    try .client(TLSConfiguration(caFile: Self.files.authority))
  }

  private static let whole = 262_144

  @Test(
    arguments: [
      (5, whole, "127.0.0.1"), (5, whole, "::1"), (5, whole, "localhost"),
      // More than the sockets hold, and a little at a time.
      (3_000_000, whole, "127.0.0.1"), (40_000, 7, "127.0.0.1"),
    ], [false, true])
  func `what is sent comes back`(row: (count: Int, step: Int, host: String), secure: Bool) throws {
    let harness = try LoopHarness()
    let echo = try LoopServer(
      harness.loop, host: row.host.contains(":") ? "::1" : "127.0.0.1",
      tls: secure ? Self.files.server() : nil, echoes: true)
    let recorder = Recorder()
    recorder.step = row.step
    let sent = (0..<row.count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    recorder.output.append(sent)
    recorder.onChange = { stream in
      if stream.isOpen && !stream.wantsWrite && !recorder.output.isEmpty {
        recorder.streamWritable(stream, at: harness.loop.now)
      }
      if recorder.input.count == row.count || recorder.failure != nil { harness.loop.stop() }
    }
    let stream = harness.connect(
      recorder, to: Route(host: row.host, port: echo.port), tls: secure ? try trusting() : nil)
    #expect(harness.run())
    #expect(recorder.failure == nil && recorder.input.array == sent)
    stream.close()
  }

  @Test(arguments: [false, true])
  func `a close arrives as a clean end`(secure: Bool) throws {
    let harness = try LoopHarness()
    let server = try LoopServer(harness.loop, tls: secure ? Self.files.server() : nil)
    let recorder = Recorder()
    recorder.onChange = { _ in
      if recorder.hasEnded || recorder.failure != nil { harness.loop.stop() }
    }
    let stream = harness.connect(
      recorder, to: Route(host: "127.0.0.1", port: server.port),
      tls: secure ? try trusting() : nil)
    harness.loop.beforeWait {
      if let server = server.streams.first, server.isOpen, recorder.isOpen { server.close() }
    }
    #expect(harness.run())
    #expect(recorder.hasEnded && recorder.failure == nil)
    stream.close()
  }

  @Test func `a refused port is an error that names the address`() throws {
    let harness = try LoopHarness()
    let address = try harness.closedAddress()
    #expect(
      harness.failure(Route(host: "127.0.0.1", port: address.port))
        == .connect(address: address.description, reason: "connection refused"))
  }

  @Test func `a server that stays silent in the handshake runs into the deadline`() throws {
    let harness = try LoopHarness()
    let silent = try Listener(loop: harness.loop, host: "127.0.0.1", port: 0) { _, _, _ in }
    let failure = harness.failure(
      Route(host: "127.0.0.1", port: silent.address.port), tls: try trusting(),
      limit: .milliseconds(300))
    #expect(failure == .timeout(.handshaking))
  }

  @Test func `a certificate of an unknown authority fails the stream on both sides`() throws {
    let harness = try LoopHarness()
    let server = try LoopServer(harness.loop, tls: Self.files.server())
    let recorder = Recorder()
    let other = try TLSContext.client(TLSConfiguration(caFile: Self.files.otherAuthority))
    _ = harness.connect(recorder, to: Route(host: "127.0.0.1", port: server.port), tls: other)
    harness.loop.beforeWait {
      if recorder.failure != nil && server.recorders.first?.failure != nil { harness.loop.stop() }
    }
    #expect(harness.run())
    guard case .tls(.unknownAuthority) = recorder.failure else {
      return unexpected(recorder.failure)
    }
  }

  @Test func `a stream that does not want to read leaves the bytes where they are`() throws {
    let harness = try LoopHarness()
    let echo = try LoopServer(harness.loop, echoes: true)
    let recorder = Recorder()
    recorder.output.append("held back")
    var rounds = 0
    let stream = harness.connect(recorder, to: Route(host: "127.0.0.1", port: echo.port))
    stream.wantsRead = false
    recorder.onChange = { stream in
      if !recorder.output.isEmpty { recorder.streamWritable(stream, at: harness.loop.now) }
      if !recorder.input.isEmpty { harness.loop.stop() }
    }
    harness.loop.schedule(after: .milliseconds(20)) {
      #expect(recorder.input.isEmpty)
      stream.wantsRead = true
    }
    harness.loop.beforeWait { rounds += 1 }
    #expect(harness.run())
    #expect(recorder.input.view.text == "held back" && rounds < 20)
    stream.close()
  }

  private func listen(_ loop: EventLoop, port: UInt16 = 0, reusesPort: Bool = false)
    throws(TransportError) -> Listener
  {
    try Listener(loop: loop, host: "127.0.0.1", port: port, reusesPort: reusesPort) { _, _, _ in }
  }

  @Test func `a port that is taken is an error that names the address`() throws {
    let harness = try LoopHarness()
    let first = try listen(harness.loop)
    #expect(
      throws: TransportError.listen(
        address: first.address.description, reason: "address already in use")
    ) {
      try listen(harness.loop, port: first.address.port)
    }
  }

  @Test(arguments: [(true, true), (true, false), (false, true)])
  func `a port is shared by those who both say so`(first: Bool, second: Bool) throws {
    let harness = try LoopHarness()
    let holder = try listen(harness.loop, reusesPort: first)
    let sharer = Result { () throws(TransportError) in
      try listen(harness.loop, port: holder.address.port, reusesPort: second)
    }
    switch sharer {
    case .success(let sharer): #expect(first && second && sharer.address == holder.address)
    case .failure(let error): #expect(!(first && second), "\(error)")
    }
  }
}
