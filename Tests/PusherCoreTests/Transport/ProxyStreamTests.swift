import PusherCore
import Testing

@Suite struct `A stream through a proxy` {
  private final class PretendProxy {
    let recorder = Recorder()
    private var listener: Listener?
    private(set) var streams: [SocketStream] = []

    init(_ loop: EventLoop, says answer: [UInt8]?, thenCloses: Bool = false)
      throws(TransportError)
    {
      recorder.onChange = { [unowned self] stream in
        guard recorder.isOpen, let answer, recorder.output.isEmpty else { return }
        recorder.isOpen = false
        recorder.output.append(answer)
        recorder.streamWritable(stream, at: loop.now)
        if thenCloses { stream.close() }
      }
      listener = try Listener(loop: loop, host: "127.0.0.1", port: 0) {
        [unowned self, unowned loop] descriptor, peer, _ in
        streams.append(.adopt(loop: loop, descriptor: descriptor, peer: peer, delegate: recorder))
      }
    }

    func url(_ scheme: String) -> String { "\(scheme)://127.0.0.1:\(listener?.address.port ?? 0)" }
  }

  private func connect(
    _ scheme: String, to host: String = "server.test", says answer: [UInt8]?,
    thenCloses: Bool = false, deadline: Duration? = nil, until isDone: (Recorder) -> Bool
  ) throws -> (client: Recorder, proxy: String, heard: String) {
    let harness = try LoopHarness()
    let proxy = try PretendProxy(harness.loop, says: answer, thenCloses: thenCloses)
    let client = Recorder()
    let url = proxy.url(scheme)
    let route = Route(host: host, port: 80, proxy: try Proxy(parsing: url))
    let stream = SocketStream.connect(
      loop: harness.loop, to: route, deadline: deadline.map { harness.loop.now.advanced(by: $0) },
      delegate: client)
    withoutActuallyEscaping(isDone) { isDone in
      client.onChange = { _ in
        if isDone(client) || client.failure != nil { harness.loop.stop() }
      }
      #expect(harness.run())
      client.onChange = { _ in }
    }
    stream.close()
    return (client, url, proxy.recorder.input.view.text)
  }

  @Test func `what the server says right behind the proxy's answer is not lost`() throws {
    let answers: [(String, [UInt8])] = [
      ("http", [UInt8]("HTTP/1.1 200 OK\r\n\r\nhello".utf8)),
      ("socks5h", [5, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0] + [UInt8]("hello".utf8)),
    ]
    for (scheme, answer) in answers {
      let result = try connect(scheme, says: answer) { $0.input.count == 5 }
      #expect(result.client.input.view.text == "hello")
      #expect(result.client.failure == nil)
    }
  }

  @Test func `a refusal names proxy and server`() throws {
    let answer = [UInt8]("HTTP/1.1 403 Filtered\r\n\r\n".utf8)
    let result = try connect("http", says: answer) { _ in false }
    #expect(
      result.client.failure?.description
        == "proxy \(result.proxy) refused to connect to server.test:80: HTTP 403 Filtered")
  }

  @Test func `a proxy that hangs up in the middle of its answer`() throws {
    for (scheme, answer) in [("http", [UInt8]("HTTP/1.1 2".utf8)), ("socks5h", [5, 0, 5])] {
      let result = try connect(scheme, says: answer, thenCloses: true) { _ in false }
      guard case .proxy(result.proxy, let error) = result.client.failure else {
        Issue.record("\(String(describing: result.client.failure))")
        continue
      }
      // Input that the proxy has not read makes its system reset the connection.
      if case .lost = error { continue }
      #expect(error == .endedEarly)
    }
  }

  @Test func `a proxy that stays silent runs into the deadline`() throws {
    let result = try connect("socks5h", says: nil, deadline: .milliseconds(300)) { _ in false }
    #expect(result.client.failure == .proxy(result.proxy, .timedOut))
  }

  @Test func `socks5 looks the name up here and asks for the address`() throws {
    let result = try connect(
      "socks5", to: "localhost", says: [5, 0, 5, 3], thenCloses: false
    ) { _ in false }
    #expect(
      result.client.failure
        == .proxy(
          result.proxy,
          .socksRefused(destination: "localhost:80", reply: 3)))
    let missing = try connect("socks5", to: "a..b", says: nil) { _ in false }
    guard case .resolve(host: "a..b", reason: _) = missing.client.failure else {
      Issue.record("\(String(describing: missing.client.failure))")
      return
    }
  }

  @Test func `a proxy that is not there is named`() throws {
    let harness = try LoopHarness()
    let address = try harness.closedAddress()
    let proxy = Proxy(
      kind: .http, host: "127.0.0.1", port: address.port,
      credentials: ProxyCredentials(user: "u", password: "hunter2"))
    let (told, _) = harness.first(Route(host: "server.test", port: 80, proxy: proxy))
    #expect(
      told.failure?.description == "proxy http://\(address) cannot be reached: "
        + "cannot connect to \(address): connection refused")
  }

  @Test(arguments: [
    ([SocketAddress.Family.ipv4], "::1", "it has no IPv4 address"),
    ([.ipv6], "127.0.0.1", "it has no IPv6 address"),
  ])
  func `an address of the family that is left out`(
    families: [SocketAddress.Family], host: String, reason: String
  ) throws {
    let harness = try LoopHarness()
    let (told, _) = harness.first(Route(host: host, port: 1, families: families))
    #expect(told.failure == .resolve(host: host, reason: reason))
  }
}
