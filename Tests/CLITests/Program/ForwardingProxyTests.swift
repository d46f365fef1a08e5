import Foundation
import PusherCore
import Testing

@Suite("http through a proxy that forwards requests (RFC 9112 section 3.2.2)", .runsPrograms)
struct ForwardingProxyTests {
  private static let api = ["trigger", "-c", "a", "-e", "e", "{}", "--scheme", "http"]

  @Test(.needs(.proxies))
  func `a proxy that connects to port 443 alone forwards sse and the API`() throws {
    let proxy = try LocalProxy(.tinyproxy, connectPort: 443)
    let (server, heads) = try ScriptedServer.recording("data: 1\n\n")
    let stream = try PusherCLI.sse(
      server, "-n", "1", "-v", environment: ["http_proxy": proxy.url]
    ).result()
    stream.expect(telling: "through proxy \(proxy.url)")
    #expect(heads.values.map(\.target) == ["/stream"])
    #expect(heads.values.first?.headers["Host"] == "127.0.0.1:\(server.port)")

    let local = try LocalServer()
    try local.run(["trigger", "--proxy", proxy.url, "-c", "a", "-e", "e", "{}"]).expect()

    // A WebSocket needs its own tunnel.
    try PusherCLI.run(
      ["subscribe"] + local.address + ["--key", LocalServer.key, "a", "--proxy", proxy.url]
    ).expect(4, telling: "refused to connect to 127.0.0.1:\(local.port): HTTP 403")
  }

  @Test(.needs(.proxies))
  func `a proxy gets its credentials, which the server never sees`() throws {
    let proxy = try LocalProxy(.tinyproxy, wantsCredentials: true, connectPort: 443)
    let (server, heads) = try ScriptedServer.recording("data: 1\n\n")
    func run(_ url: String) throws -> ProgramResult {
      try PusherCLI.sse(server, "-n", "1", environment: ["ALL_PROXY": url]).result()
    }
    try run(proxy.urlWithCredentials).expect()
    #expect(heads.values.map { $0.headers["Proxy-Authorization"] } == [nil])
    for (url, words) in [
      (proxy.url("hunter2"), "rejected the user name and password"),
      (proxy.url, "wants a user name and password"),
    ] {
      try run(url).expect(4, says: "pusher-cli: error: proxy \(proxy.url) \(words)\n")
    }
    #expect(heads.values.count == 1)
  }

  @Test func `the request is that of curl: the whole URL, one Host, no CONNECT`() throws {
    let (proxy, heads) = try ScriptedServer.recording("data: 1\n\n")
    let place = "http://u%20s:p%40ss@127.0.0.1:\(proxy.port)"
    // Only the proxy can resolve this name.
    try PusherCLI.run(
      ["sse", "http://server.test:81/a?b=c", "-n", "1"], environment: ["http_proxy": place]
    ).expect()
    let head = try #require(heads.values.first)
    #expect(head.method == "GET")
    #expect(head.target == "http://server.test:81/a?b=c")
    #expect(head.headers.all("Host") == ["server.test:81"])
    #expect(head.headers.all("Proxy-Authorization") == ["Basic dSBzOnBAc3M="])
  }

  @Test func `after a redirect to https the proxy is asked for a way`() throws {
    let lines = Record<String>()
    let proxy = try ScriptedServer { connection in
      let head = try connection.request()
      lines.add("\(head.method) \(head.target)")
      guard head.method == "GET" else { return try connection.answer(403, "No") }
      try connection.send(
        stream: "HTTP/1.1 302 Found\r\nLocation: https://server.test/b\r\n"
          + "Content-Length: 0\r\n\r\n")
      try connection.remain()
    }
    try PusherCLI.run(
      ["sse", "http://server.test/a"], environment: ["ALL_PROXY": "127.0.0.1:\(proxy.port)"]
    ).expect(4)
    #expect(lines.values == ["GET http://server.test/a", "CONNECT server.test:443"])
  }

  @Test(arguments: [(403, Int32(3)), (502, 4)])
  func `a refusal that may be the proxy's own names the proxy`(code: Int, status: Int32) throws {
    let proxy = try ScriptedServer.answering(code)
    let url = "http://127.0.0.1:\(proxy.port)"
    for arguments in [
      ["sse", "http://server.test/"],
      Self.api + ["--host", "server.test", "--app-id", "1", "--key", "k"],
    ] {
      try PusherCLI.run(arguments + ["--proxy", url], environment: ["PUSHER_APP_SECRET": "s"])
        .expect(status, telling: "(the answer may come from proxy \(url))")
    }
  }

  @Test(arguments: [
    ["--listen", ":0"], ["--listen", "127.0.0.2:0"], ["--listen", ":0", "--key", "mine"],
  ])
  func `what serve prints about --local works when it is pasted`(options: [String]) throws {
    let server = try PusherCLI.start(["serve"] + options)
    let line = try server.errorLine(containing: "with subscribe and trigger")
    let pasted = try #require(line.firstMatch(of: /use (--local.*) with subscribe/)).output.1
    try PusherCLI.run(
      ["trigger", "-c", "a", "-e", "e", "{}"] + pasted.split(separator: " ").map(String.init)
    ).expect()
  }
}
