import Foundation
import PusherCore
import Testing

@Suite(.needs(.proxies), .runsPrograms) struct `Through real proxies` {
  private func start(
    _ arguments: [String], _ environment: [String: String] = [:]
  ) throws -> ChildProgram {
    try PusherCLI.start(
      arguments, environment: LocalServer.environment().merging(environment) { $1 })
  }

  private func trigger(
    _ server: LocalServer, _ options: [String] = [], _ environment: [String: String] = [:]
  ) throws -> ProgramResult {
    try start(
      ["trigger", "-c", "private-a", "-e", "tick", "{}"] + server.address + options, environment
    ).result()
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
    try trigger(server, trust, [variable: proxy.url]).expect(0)
    try proxy.awaitConnection(to: server.port)
    #expect(try subscriber.line().contains(#""event":"tick""#))
    #expect(try subscriber.wait() == .exited(0))
  }

  @Test(arguments: LocalProxy.Kind.allCases)
  func `the authorisation endpoint is asked through the proxy too`(kind: LocalProxy.Kind) throws {
    let endpoint = try ScriptedServer.answering(200, body: #"{"auth":"test-key:signed"}"#)
    let server = try ScriptedServer.joined { try $0.send(event: "tick", data: "{}") }
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
  func `a proxy takes the right credentials, no wrong ones`(kind: LocalProxy.Kind) throws {
    let server = try LocalServer()
    let proxy = try LocalProxy(kind, wantsCredentials: true)
    let wrong = ["ALL_PROXY": proxy.url("hunter2")]
    let rejected = "proxy \(proxy.url) rejected the user name and password"
    try trigger(server, [], ["ALL_PROXY": proxy.urlWithCredentials]).expect(0)
    try trigger(server, [], wrong).expect(4, error: rejected)
    try trigger(server, ["--proxy", proxy.url])
      .expect(4, error: "proxy \(proxy.url) wants a user name and password")
    let subscriber = try start(["subscribe", "a"] + server.address, wrong).result()
    subscriber.expect(4, telling: rejected)
    #expect(subscriber.errorLines.count == 1 && !subscriber.errorText.contains("hunter2"))
  }

  @Test func `NO_PROXY leads past the proxy, which is asked for nothing else`() throws {
    let server = try LocalServer()
    let nobody = "http://127.0.0.1:\(try Loopback.closedPort())"
    for exceptions in ["127.0.0.1", "127.0.0.0/8", "*", "127.0.0.1:\(server.port)"] {
      try trigger(server, ["--proxy", nobody], ["NO_PROXY": exceptions]).expect(0)
    }
    // An empty --proxy overrides the environment. Loopback is not an exception by default.
    try trigger(server, ["--proxy="], ["ALL_PROXY": nobody]).expect(0)
    try trigger(server, [], ["ALL_PROXY": nobody, "no_proxy": "127.0.0.1:1"])
      .expect(4, telling: "proxy \(nobody) cannot be reached: ", "connection refused")
  }
}
