import PusherCore
import Testing

@Suite struct SocketStreamTests {
  private static let files = TestCertificates.shared

  private final class EchoServer {
    private(set) var listener: Listener?
    private(set) var streams: [SocketStream] = []
    private(set) var recorders: [Recorder] = []

    init(_ loop: EventLoop, host: String = "127.0.0.1", tls: TLSContext? = nil, echoes: Bool = true)
      throws(TransportError)
    {
      listener = try Listener(loop: loop, host: host, port: 0) {
        [unowned self, unowned loop] descriptor, peer, _ in
        let recorder = Recorder()
        recorder.echoes = echoes
        self.recorders.append(recorder)
        self.streams.append(
          .adopt(loop: loop, descriptor: descriptor, peer: peer, tls: tls, delegate: recorder))
      }
    }

    var port: UInt16 { listener?.address.port ?? 0 }
  }

  private func server() throws(TLSError) -> TLSContext {
    try .server(
      certificateFile: Self.files.certificate("localhost"), keyFile: Self.files.key("localhost"))
  }

  private func trusting() throws(TLSError) -> TLSContext {
    try .client(TLSConfiguration(caFile: Self.files.authority))
  }

  private func echo(count: Int, step: Int, host: String, secure: Bool) throws {
    let harness = try LoopHarness()
    let echo = try EchoServer(
      harness.loop, host: host.contains(":") ? "::1" : "127.0.0.1", tls: secure ? server() : nil)
    let recorder = Recorder()
    recorder.step = step
    let sent = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    recorder.output.append(sent)
    recorder.onChange = { stream in
      if stream.isOpen && !stream.wantsWrite && !recorder.output.isEmpty {
        recorder.streamWritable(stream, at: harness.loop.now)
      }
      if recorder.input.count == count || recorder.failure != nil { harness.loop.stop() }
    }
    let stream = SocketStream.connect(
      loop: harness.loop, to: Route(host: host, port: echo.port),
      tls: secure ? try trusting() : nil,
      delegate: recorder)
    #expect(harness.run())
    #expect(recorder.failure == nil)
    #expect(recorder.input.array == sent)
    stream.close()
  }

  @Test(arguments: [false, true])
  func `what is sent comes back, by address and by name`(secure: Bool) throws {
    try echo(count: 5, step: 262_144, host: "127.0.0.1", secure: secure)
    try echo(count: 5, step: 262_144, host: "::1", secure: secure)
    try echo(count: 5, step: 262_144, host: "localhost", secure: secure)
  }

  @Test(arguments: [false, true])
  func `more than the sockets hold goes both ways`(secure: Bool) throws {
    try echo(count: 3_000_000, step: 262_144, host: "127.0.0.1", secure: secure)
  }

  @Test(arguments: [false, true])
  func `reading a little at a time loses nothing and waits for nothing`(secure: Bool) throws {
    try echo(count: 40_000, step: 7, host: "127.0.0.1", secure: secure)
  }

  @Test(arguments: [false, true])
  func `a close arrives as a clean end`(secure: Bool) throws {
    let harness = try LoopHarness()
    let echo = try EchoServer(harness.loop, tls: secure ? server() : nil, echoes: false)
    let recorder = Recorder()
    recorder.onChange = { _ in
      if recorder.hasEnded || recorder.failure != nil { harness.loop.stop() }
    }
    let stream = SocketStream.connect(
      loop: harness.loop, to: Route(host: "127.0.0.1", port: echo.port),
      tls: secure ? try trusting() : nil, delegate: recorder)
    harness.loop.beforeWait {
      if let server = echo.streams.first, server.isOpen, recorder.isOpen { server.close() }
    }
    #expect(harness.run())
    #expect(recorder.hasEnded)
    #expect(recorder.failure == nil)
    stream.close()
  }

  @Test func `a refused port is an error that names the address`() throws {
    let harness = try LoopHarness()
    let address = try harness.closedAddress()
    let (told, stream) = harness.first(Route(host: "127.0.0.1", port: address.port))
    #expect(
      told.failure
        == .connect(address: address.description, reason: "connection refused"))
    #expect(!stream.isOpen)
  }

  @Test func `a name that does not resolve is an error that names it`() throws {
    let harness = try LoopHarness()
    let (told, stream) = harness.first(Route(host: "a..b", port: 1))
    guard case .resolve(host: "a..b", reason: _) = told.failure else {
      Issue.record("\(String(describing: told.failure))")
      return
    }
    #expect(!stream.isOpen)
  }

  @Test func `a server that stays silent in the handshake runs into the deadline`() throws {
    let harness = try LoopHarness()
    let silent = try Listener(loop: harness.loop, host: "127.0.0.1", port: 0) { _, _, _ in }
    let (told, _) = harness.first(
      Route(host: "127.0.0.1", port: silent.address.port), tls: try trusting(),
      within: .milliseconds(300))
    #expect(told.failure == .timeout(.handshaking))
  }

  @Test func `a certificate for another name fails the stream on both sides`() throws {
    let harness = try LoopHarness()
    let echo = try EchoServer(harness.loop, tls: server())
    let recorder = Recorder()
    let other = try TLSContext.client(TLSConfiguration(caFile: Self.files.otherAuthority))
    _ = SocketStream.connect(
      loop: harness.loop, to: Route(host: "127.0.0.1", port: echo.port), tls: other,
      delegate: recorder)
    harness.loop.beforeWait {
      if recorder.failure != nil && echo.recorders.first?.failure != nil { harness.loop.stop() }
    }
    #expect(harness.run())
    guard case .tls(.unknownAuthority) = recorder.failure else {
      Issue.record("\(String(describing: recorder.failure))")
      return
    }
  }

  @Test func `a stream that does not want to read leaves the bytes where they are`() throws {
    let harness = try LoopHarness()
    let echo = try EchoServer(harness.loop)
    let recorder = Recorder()
    recorder.output.append("held back")
    var rounds = 0
    let stream = SocketStream.connect(
      loop: harness.loop, to: Route(host: "127.0.0.1", port: echo.port), delegate: recorder)
    stream.wantsRead = false
    recorder.onChange = { stream in
      if !recorder.output.isEmpty { recorder.streamWritable(stream, at: harness.loop.now) }
      if !recorder.input.isEmpty { harness.loop.stop() }
    }
    let timer = ClosureSource(
      LoopInterest(deadline: harness.loop.now.advanced(by: .milliseconds(20))))
    timer.onExpired = { _ in
      #expect(recorder.input.isEmpty)
      stream.wantsRead = true
      harness.loop.remove(timer)
    }
    harness.loop.add(timer)
    harness.loop.beforeWait { rounds += 1 }
    #expect(harness.run())
    #expect(recorder.input.view.text == "held back")
    #expect(rounds < 20)
    stream.close()
  }

  @Test func `a port that is taken is an error that names the address`() throws {
    let harness = try LoopHarness()
    let first = try Listener(loop: harness.loop, host: "127.0.0.1", port: 0) { _, _, _ in }
    #expect(
      throws: TransportError.listen(
        address: first.address.description, reason: "address already in use")
    ) {
      try Listener(loop: harness.loop, host: "127.0.0.1", port: first.address.port) { _, _, _ in }
    }
  }

  @Test(arguments: [(true, true), (true, false), (false, true)])
  func `a port is shared by those who both say so`(first: Bool, second: Bool) throws {
    let harness = try LoopHarness()
    let holder = try Listener(
      loop: harness.loop, host: "127.0.0.1", port: 0, reusesPort: first
    ) { _, _, _ in }
    let sharer = Result { () throws(TransportError) in
      try Listener(
        loop: harness.loop, host: "127.0.0.1", port: holder.address.port, reusesPort: second
      ) { _, _, _ in }
    }
    switch sharer {
    case .success(let sharer): #expect(first && second && sharer.address == holder.address)
    case .failure(let error):
      #expect(!(first && second), "\(error)")
    }
  }
}
