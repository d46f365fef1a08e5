import Foundation
import PusherCore
import Testing

@Suite(.needs(.proxies), .runsPrograms)
struct `Through real proxies` {
  private static let credentials = [
    "PUSHER_APP_KEY": LocalServer.key, "PUSHER_APP_ID": LocalServer.appID,
    "PUSHER_APP_SECRET": "local-secret",
  ]

  private func run(
    _ arguments: [String], _ environment: [String: String] = [:]
  ) throws -> ProgramResult {
    try start(arguments, environment).result()
  }

  private func start(
    _ arguments: [String], _ environment: [String: String] = [:]
  ) throws -> ChildProgram {
    try PusherCLI.start(arguments, environment: Self.credentials.merging(environment) { $1 })
  }

  private func trigger(
    _ server: LocalServer, _ options: [String] = [], _ environment: [String: String] = [:]
  ) throws -> ProgramResult {
    try run(
      ["trigger"] + server.address + options + ["-c", "private-a", "-e", "tick", "{}"], environment)
  }

  @Test(arguments: LocalProxy.Kind.allCases, [false, true])
  func `subscribe and trigger, by option and by environment`(
    kind: LocalProxy.Kind, isSecure: Bool
  ) throws {
    let certificates = isSecure ? CertificateMatrix.shared : nil
    try #require(isSecure == (certificates != nil))
    let server = try LocalServer(certificate: certificates?.trusted)
    let trust = certificates.map { ["--cacert", $0.authority] } ?? []
    let proxy = try LocalProxy(kind)
    let subscriber = try start(
      ["subscribe"] + server.address + trust
        + ["private-a", "-L", "-v", "-n", "1", "--proxy", proxy.url])
    try proxy.awaitConnection(to: server.port)
    #expect(try subscriber.line().contains("connection_established"))
    #expect(try subscriber.line().contains("subscription_succeeded"))
    try subscriber.errorLine(containing: "through proxy \(proxy.url), socket")

    let variable = isSecure ? "HTTPS_PROXY" : "HTTP_PROXY"
    let sent = try trigger(server, trust, [variable: proxy.url])
    #expect(sent.ending == .exited(0), "\(sent.errorText)")
    try proxy.awaitConnection(to: server.port)
    #expect(try subscriber.line().contains(#""event":"tick""#))
    #expect(try subscriber.wait() == .exited(0))
  }

  @Test(arguments: LocalProxy.Kind.allCases)
  func `the authorisation endpoint is asked through the proxy too`(kind: LocalProxy.Kind) throws {
    let endpoint = try ScriptedServer.answering(200, body: #"{"auth":"test-key:signed"}"#)
    let server = try ScriptedServer { connection in
      _ = try connection.join()
      try connection.send(event: "tick", data: "{}")
      try connection.stay()
    }
    let proxy = try LocalProxy(kind)
    let result = try PusherCLI.subscribe(
      to: server, "private-a", "-n", "1", "--auth-endpoint", "http://127.0.0.1:\(endpoint.port)/",
      environment: ["ALL_PROXY": proxy.url]
    ).result()
    #expect(result.ending == .exited(0), "\(result.errorText)")
    try proxy.awaitConnection(to: "\(server.port)")
    try proxy.awaitConnection(to: "\(endpoint.port)")
  }

  @Test(arguments: LocalProxy.Kind.allCases)
  func `credentials: right, wrong and none`(kind: LocalProxy.Kind) throws {
    let server = try LocalServer()
    let proxy = try LocalProxy(kind, wantsCredentials: true)
    let right = try trigger(server, [], ["ALL_PROXY": proxy.urlWithCredentials])
    #expect(right.ending == .exited(0), "\(right.errorText)")
    let wrong = try trigger(
      server, [], ["ALL_PROXY": proxy.url("hunter2")])
    #expect(wrong.ending == .exited(4))
    #expect(
      wrong.errorText
        == "pusher-cli: error: proxy \(proxy.url) rejected the user name and password\n")
    let none = try trigger(server, ["--proxy", proxy.url])
    #expect(none.ending == .exited(4))
    #expect(
      none.errorText == "pusher-cli: error: proxy \(proxy.url) wants a user name and password\n")

    let subscriber = try run(
      ["subscribe"] + server.address + ["a"],
      ["ALL_PROXY": proxy.url("hunter2")])
    #expect(subscriber.ending == .exited(4))
    #expect(subscriber.errorLines.count == 1)
    #expect(subscriber.errorText.contains("\(proxy.url) rejected the user name and password"))
    #expect(!subscriber.errorText.contains("hunter2"))
  }

  @Test func `NO_PROXY leads past the proxy, which is asked for nothing else`() throws {
    let server = try LocalServer()
    let nobody = "http://127.0.0.1:\(try Loopback.closedPort())"
    for exceptions in ["127.0.0.1", "127.0.0.0/8", "*", "127.0.0.1:\(server.port)"] {
      let result = try trigger(server, ["--proxy", nobody], ["NO_PROXY": exceptions])
      #expect(result.ending == .exited(0), "\(exceptions): \(result.errorText)")
    }
    // An empty --proxy overrides the environment. Loopback is not an exception by default.
    #expect(try trigger(server, ["--proxy="], ["ALL_PROXY": nobody]).ending == .exited(0))
    let result = try trigger(server, [], ["ALL_PROXY": nobody, "no_proxy": "127.0.0.1:1"])
    #expect(result.ending == .exited(4))
    #expect(result.errorText.contains("proxy \(nobody) cannot be reached: "))
    #expect(result.errorText.contains("connection refused"))
  }

  @Test func `what a proxy refuses or cannot reach is 4 and says so`() throws {
    let filtering = try LocalProxy(.tinyproxy, filter: "127.0.0.1")
    let server = try LocalServer()
    let filtered = try run(
      ["subscribe"] + server.address + ["a", "--proxy", filtering.url])
    #expect(filtered.ending == .exited(4))
    #expect(filtered.errorText.contains("refused to connect to 127.0.0.1:\(server.port): HTTP 403"))

    let closed = try Loopback.closedPort()
    let arguments = ["subscribe", "--host", "127.0.0.1", "--port", "\(closed)", "--scheme", "http"]
    let tinyproxy = try LocalProxy(.tinyproxy)
    let byHTTP = try run(arguments + ["a", "--proxy", tinyproxy.url])
    #expect(byHTTP.ending == .exited(4))
    #expect(byHTTP.errorText.contains("refused to connect to 127.0.0.1:\(closed): HTTP 50"))
    let microsocks = try LocalProxy(.microsocks)
    let bySOCKS = try run(arguments + ["a", "--proxy", microsocks.url])
    #expect(bySOCKS.ending == .exited(4))
    #expect(
      bySOCKS.errorText.contains(
        "refused to connect to 127.0.0.1:\(closed): connection refused (SOCKS reply 5)"),
      "\(bySOCKS.errorText)")
  }

  @Test func `the connect timeout covers a proxy that stays silent`() throws {
    let silent = try ScriptedServer { connection in try connection.stall() }
    let proxy = "http://127.0.0.1:\(silent.port)"
    let result = try run([
      "subscribe", "--host", "server.test", "a", "--proxy", proxy, "--connect-timeout", "300ms",
    ])
    #expect(result.ending == .exited(4))
    #expect(
      result.errorText
        == "pusher-cli: error: proxy \(proxy) did not answer within 0.3 s (is that a proxy? check --proxy, HTTPS_PROXY, HTTP_PROXY and ALL_PROXY)\n"
    )
  }

  @Test func `a signal ends the talk with a silent proxy`() throws {
    let asked = Gate()
    let silent = try ScriptedServer { connection in
      _ = try connection.request()
      asked.open()
      try connection.stall()
    }
    let program = try start([
      "subscribe", "--host", "server.test", "a", "--proxy", "http://127.0.0.1:\(silent.port)",
    ])
    try asked.wait()
    program.send(SIGTERM)
    #expect(try program.wait() == .signalled(SIGTERM))
    #expect(program.pendingErrors.isEmpty)
  }
}
