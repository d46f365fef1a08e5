import Foundation
import PusherCore
import Testing

@Suite("--forward: each event to a receiver", .needsPython, .runsPrograms)
struct ForwardTests {
  @Test func `each event is one POST with its line as the body, all on one connection`() throws {
    let server = try Hooked.counting(5)
    let receiver = try ForwardReceiver("200", "204", "201", "200")
    try server.subscribed("news", "-n", "5", "-o", "pretty", "--forward", receiver.url).expect(
      prints: "", says: "")
    let requests = try receiver.requests(5)
    #expect(requests.map(\.body) == (1...5).map(Hooked.line))
    for request in requests {
      #expect(request.method == "POST" && request.path == "/hook?x=1" && request.connection == 1)
      #expect(request.fields["content-type"] == "application/json")
      #expect(request.fields["user-agent"]?.hasPrefix("pusher-cli/") == true)
      #expect(request.fields["pusher-event"] == "e" && request.fields["pusher-channel"] == "news")
      #expect(request.fields["transfer-encoding"] == nil)
    }
    let keys = Set(requests.map(\.key))
    #expect(keys.count == 5 && keys.allSatisfy { $0.utf8.count > 32 })
    #expect(try receiver.unexpected() == "")
  }

  @Test func `names are escaped where no field can hold them, and left out if too long`() throws {
    let long = String(repeating: "x", count: 2049)
    let server = try ScriptedServer.joined { connection in
      for name in [
        #"App\\Events\\Paid"#, #"a\r\nX-Evil: b"#, "größe 100%", #"a\u0000b"#, " ", long,
        String(long.dropLast()),
      ] {
        try connection.send(text: #"{"event":"\#(name)","channel":"news","data":"1"}"#)
      }
    }
    let receiver = try ForwardReceiver("200")
    try server.subscribed("news", "-n", "7", "--forward", receiver.url).expect()
    let requests = try receiver.requests(7)
    #expect(
      requests.map { $0.fields["pusher-event"] } == [
        #"App\Events\Paid"#, "a%0D%0AX-Evil:%20b", "gr%C3%B6%C3%9Fe%20100%25", "a%00b", "%20", nil,
        String(long.dropLast()),
      ])
    #expect(requests.allSatisfy { $0.fields["x-evil"] == nil })
    #expect(requests[5].body.contains(long))
  }

  @Test func `fields of the user come too, and a token stays out of the command line`() throws {
    let server = try Hooked.counting(1)
    let receiver = try ForwardReceiver("200")
    let fields = try TemporaryFolder.shared.file(
      "fields", holding: "Authorization: Bearer secret\nX-Second: 2\n")
    let url = try TemporaryFolder.shared.file(
      "url", holding: "http://127.0.0.1:\(receiver.port)/a/token\n")
    try server.subscribed(
      "news", "-n", "1", "--forward", "@\(url)", "--forward-header", "@\(fields)",
      "--forward-header", "content-type: application/x-ndjson"
    ).expect()
    let request = try receiver.next()
    #expect(request.path == "/a/token")
    #expect(request.fields["authorization"] == "Bearer secret" && request.fields["x-second"] == "2")
    #expect(request.fields["content-type"] == "application/x-ndjson")
  }

  @Test func `only what would be printed is sent and counts, and --tee prints it first`() throws {
    let server = try Hooked.server(
      ("no", "news", "1"), ("e", "news", "2"), ("no", "news", "3"), ("e", "news", "4"),
      ("e", "news", "5"))
    let receiver = try ForwardReceiver("200")
    try server.subscribed(
      "news", "-e", "e", "-n", "2", "-F", "printed %d", "--tee", "--forward", receiver.url
    ).expect(prints: "printed 2\nprinted 4\n")
    #expect(try receiver.requests(2).map(\.body) == [2, 4].map(Hooked.line))
    #expect(try receiver.unexpected() == "")
  }

  @Test func `with several jobs a channel waits for itself alone, on one connection`() throws {
    let server = try Hooked.server(
      ("e", "a", "1"), ("e", "a", "2"), ("e", "b", "3"), ("e", "b", "4"), ("e", "c", "5"),
      ("e", "a", "6"), ("e", "b", "7"), ("e", "c", "8"), ("e", "d", "9"))
    let receiver = try ForwardReceiver("a=gate", "200")
    let program = try PusherCLI.subscribe(
      to: server, "a", "b", "c", "d", "-n", "9", "--forward-jobs", "4", "--forward", receiver.url)
    let first = try receiver.requests(7)
    #expect(Self.data(first, "a") == ["1"])
    #expect(Self.data(first, "b") == ["3", "4", "7"] && Self.data(first, "c") == ["5", "8"])
    receiver.release()
    #expect(try receiver.next().body.contains(#""data":2}"#))
    receiver.release()
    let last = try receiver.next()
    #expect(last.body.contains(#""data":6}"#))
    receiver.release()
    #expect(try program.wait() == .exited(0))
    #expect(first.allSatisfy { $0.connection <= 4 } && last.connection <= 4)
  }

  private static func data(_ requests: [ForwardReceiver.Request], _ channel: String) -> [String] {
    requests.filter { $0.fields["pusher-channel"] == channel }.map {
      String($0.body.dropLast().split(separator: ":").last ?? "")
    }
  }

  @Test(.needs(.certificates)) func `https is checked as --cacert says`() throws {
    let matrix = try #require(CertificateMatrix.shared)
    let server = try Hooked.counting(1)
    let bodies = Record<String>()
    let receiver = try ScriptedServer(certificate: matrix.trusted) { connection in
      bodies.add(try connection.question().body)
      try connection.answer(200)
    }
    let url = "https://localhost:\(receiver.port)/hook"
    try server.subscribed("news", "-n", "1", "--cacert", matrix.authority, "--forward", url).expect(
      says: "")
    #expect(bodies.values == [Hooked.line(1)])
    let unknown = try PusherCLI.subscribe(to: server, "news", "--forward", url)
    let line = try unknown.errorLine(containing: "--forward: localhost:\(receiver.port): ")
    #expect(line.contains("is unknown here"))
    try unknown.result(of: SIGTERM)
    #expect(bodies.values.count == 1)
  }

  @Test func `a proxy that the environment names is gone through`() throws {
    let server = try Hooked.counting(1)
    let proxy = try ForwardReceiver("200")
    try server.subscribed(
      "news", "-n", "1", "--forward", "http://hooks.invalid/x",
      environment: ["http_proxy": "http://127.0.0.1:\(proxy.port)", "NO_PROXY": "127.0.0.1"]
    ).expect()
    let request = try proxy.next()
    #expect(request.path == "http://hooks.invalid/x" && request.body == Hooked.line(1))
  }
}
