import PusherCore
import Testing

struct `A stream through a proxy` {
  /// Connects through a proxy that gives this answer, until `isDone` or an error.
  private func connect(
    _ scheme: String, to host: String = "server.test", says answer: [UInt8]?,
    thenCloses: Bool = false, deadline: Duration? = nil,
    until isDone: @escaping (Recorder) -> Bool = { _ in false }
  ) throws -> (client: Recorder, proxy: String) {
    let harness = try LoopHarness()
    let proxy = try LoopServer(harness.loop) { recorder, stream in
      guard recorder.isOpen, let answer else { return }
      recorder.isOpen = false
      recorder.send(answer, on: stream)
      if thenCloses { stream.close() }
    }
    let client = Recorder()
    client.onChange = { _ in
      if isDone(client) || client.failure != nil { harness.loop.stop() }
    }
    let url = "\(scheme)://127.0.0.1:\(proxy.port)"
    let route = Route(host: host, port: 80, proxy: try Proxy(parsing: url))
    let stream = harness.connect(client, to: route, limit: deadline)
    #expect(harness.run())
    client.onChange = { _ in }
    stream.close()
    return (client, url)
  }

  @Test func `what the server says right behind the proxy's answer is not lost`() throws {
    let answers: [(String, [UInt8])] = [
      ("http", [UInt8]("HTTP/1.1 200 OK\r\n\r\nhello".utf8)),
      ("socks5h", [5, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0] + [UInt8]("hello".utf8)),
    ]
    for (scheme, answer) in answers {
      let result = try connect(scheme, says: answer) { $0.input.count == 5 }
      #expect(result.client.input.view.text == "hello" && result.client.failure == nil)
    }
  }

  @Test func `a refusal names proxy and server`() throws {
    let answer = [UInt8]("HTTP/1.1 403 Filtered\r\n\r\n".utf8)
    let result = try connect("http", says: answer)
    #expect(
      result.client.failure?.description
        == "proxy \(result.proxy) refused to connect to server.test:80: HTTP 403 Filtered")
  }

  @Test func `a proxy that hangs up in the middle of its answer`() throws {
    for (scheme, answer) in [("http", [UInt8]("HTTP/1.1 2".utf8)), ("socks5h", [5, 0, 5])] {
      let result = try connect(scheme, says: answer, thenCloses: true)
      guard case .proxy(result.proxy, let error) = result.client.failure else {
        return unexpected(result.client.failure)
      }
      // Input that the proxy has not read makes its system reset the connection.
      if case .lost = error { continue }
      #expect(error == .endedEarly)
    }
  }

  @Test func `a proxy that stays silent runs into the deadline`() throws {
    let result = try connect("socks5h", says: nil, deadline: .milliseconds(300))
    #expect(result.client.failure == .proxy(result.proxy, .timedOut))
  }

  @Test func `socks5 looks the name up here and asks for the address`() throws {
    let result = try connect("socks5", to: "localhost", says: [5, 0, 5, 3])
    #expect(
      result.client.failure
        == .proxy(result.proxy, .socksRefused(destination: "localhost:80", reply: 3)))
    let missing = try connect("socks5", to: "a..b", says: nil)
    guard case .resolve(host: "a..b", reason: _) = missing.client.failure else {
      return unexpected(missing.client.failure)
    }
  }

  @Test func `a proxy that is not there is named`() throws {
    let harness = try LoopHarness()
    let address = try harness.closedAddress()
    let proxy = Proxy(
      kind: .http, host: "127.0.0.1", port: address.port,
      credentials: ProxyCredentials(user: "u", password: "hunter2"))
    let failure = harness.failure(Route(host: "server.test", port: 80, proxy: proxy))
    #expect(
      failure?.description == "proxy http://\(address) cannot be reached: "
        + "cannot connect to \(address): connection refused")
  }

  @Test(arguments: [
    ([SocketAddress.Family.ipv4], "::1", "it has no IPv4 address"),
    ([.ipv6], "127.0.0.1", "it has no IPv6 address"),
  ])
  func `an address of the family that is left out`(
    families: [SocketAddress.Family], host: String, reason: String
  ) throws {
    let failure = try LoopHarness().failure(Route(host: host, port: 1, families: families))
    #expect(failure == .resolve(host: host, reason: reason))
  }
}
