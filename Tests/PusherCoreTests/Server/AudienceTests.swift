import PusherConsole
import PusherCore
import PusherServer
import TestSupport
import Testing

/// RFC 7239; RFC 9110 section 7.6.3; RFC 8586; docs/security.md, "serve behind a proxy".
@Suite("Routes for this machine, and requests that a proxy brought")
struct AudienceTests {
  private static let token = "0123456789abcdef"
  private static let publicName = "ws.example.com"

  private static func server(
    _ endpoints: Reach = .thisMachine, console: Reach = .thisMachine
  ) throws -> ServerHarness {
    let test = try ServerHarness {
      $0.authEndpoints = endpoints
      $0.console = console
      $0.access.hosts.allowed = LocalHost(publicName).map { [$0] } ?? []
      $0.access.origins.allowed = OriginPolicy.Origin("https://\(publicName)").map { [$0] } ?? []
    }
    test.server.console = Console(
      ConsoleOptions(token: token, version: "1", reach: console), host: test.server)
    return test
  }

  private static func request(_ method: String, _ path: String, _ fields: [String]) -> String {
    let body = method == "POST" ? "socket_id=1.2&channel_name=private-a" : ""
    let lines =
      ["\(method) \(path) HTTP/1.1", "Connection: close", "Content-Length: \(body.utf8.count)"]
      + fields
    return lines.joined(separator: "\r\n") + "\r\n\r\n" + body
  }

  private func answer(_ server: ServerHarness, _ request: String) -> String {
    let client = server.raw(request)
    #expect(server.run { client.hasEnded }, "an answer to \(request)")
    return client.text
  }

  private func isRemote(_ answer: String) -> Bool {
    answer.begins(with: "HTTP/1.1 403 ") && answer.holds("only programs on the server's machine")
  }

  // MARK: The table

  @Test func `each route has an audience, and development routes are closed to all others`() {
    let options = ServerOptions(applications: [.forTests()])
    for route in ServerRoute.allCases {
      let isOpen = options.reach(of: route) == .everybody
      #expect(isOpen == [.socket, .api].contains(route), "\(route)")
      #expect(route.paths.isEmpty == isOpen, "\(route)")
      for path in route.paths {
        var full = options
        full.authEndpoints = .thisMachine
        full.console = .thisMachine
        #expect(ServerRoute(HTTPRequestHead(method: "GET", target: path), full) == route)
      }
    }
  }

  // MARK: Generated requests

  /// Returns the header fields of a request that passed through random proxies; at least one field
  /// shows it.
  private static func proxied(_ random: inout SeededGenerator) -> [String] {
    let values = [
      "for=192.0.2.1;proto=https", "127.0.0.1", "::1", "localhost", "https", "1.1 localhost", "",
      "unknown, 127.0.0.1",
    ]
    let family = ["For", "Host", "Proto", "Port", "Server", "By", "Prefix", "Ssl", "Anything"]
    var names = AccessPolicy.proxyFields + family.map { "X-Forwarded-\($0)" } + ["X-Forwarded"]
    names.shuffle(using: &random)
    let count = random.below(4)
    var fields = names.prefix(count).map { name in
      let spelling = [name, name.lowercased(), name.uppercased()][random.below(3)]
      return "\(spelling): \(values[random.below(values.count)])"
    }
    let local = ["localhost", "127.0.0.1:6001", "[::1]", "shop.test"][random.below(4)]
    let isForeign = count == 0 || random.below(2) == 0
    fields.insert("Host: \(isForeign ? publicName : local)", at: random.below(fields.count + 1))
    if random.below(3) == 0 { fields.append("Authorization: Bearer \(token)") }
    if random.below(4) == 0 { fields.append("Accept: */*") }
    return fields
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `no path for development is open to a request that a proxy brought`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let server = try Self.server()
    for path in ServerRoute.allCases.flatMap(\.paths) + Console.paths {
      for method in ["GET", "POST", "OPTIONS", "DELETE", "HEAD"] {
        let fields = Self.proxied(&random)
        let target = path + ["", "?token=\(Self.token)"][random.below(2)]
        let answer = answer(server, Self.request(method, target, fields))
        let isRefused = method == "HEAD" ? answer.begins(with: "HTTP/1.1 403 ") : isRemote(answer)
        #expect(isRefused, "\(method) \(target) \(fields): \(answer.prefix(80))")
      }
    }
    #expect(server.server.context.faults.isEmpty)
  }

  @Test(arguments: [4, 5] as [UInt64])
  func `the API and sockets are for everybody, however a request came`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let server = try Self.server()
    for path in ["/apps/3/channels", "/apps/3/events", "/", "/nothing", "/faults/x", "/consoles"] {
      for method in ["GET", "POST"] {
        let plain = answer(server, Self.request(method, path, ["Host: localhost"]))
        let fields = Self.proxied(&random)
        #expect(answer(server, Self.request(method, path, fields)) == plain, "\(fields)")
      }
    }
    let handshake = [
      "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==",
    ]
    for _ in 0..<8 {
      let lines = ["GET /app/278d425bdf160c739803?protocol=7 HTTP/1.1"] + handshake
      let text = (lines + Self.proxied(&random)).joined(separator: "\r\n") + "\r\n\r\n"
      let client = server.raw(text)
      #expect(server.run { client.text.holds("connection_established") })
      client.close()
    }
  }

  // MARK: Single cases

  @Test(
    arguments: AccessPolicy.proxyFields + ["X-Forwarded-For", "x-forwarded-proto", "X-FORWARDED"])
  func `a field of a proxy closes what its absence opens`(field: String) throws {
    let server = try Self.server()
    let socket = try server.socket()
    #expect(server.run { socket.isEstablished })
    let body = "socket_id=\(socket.socketID)&channel_name=private-a"
    func ask(_ fields: String) -> String {
      answer(
        server,
        "POST /pusher/auth HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(fields)"
          + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }
    #expect(ask("").holds("\"auth\":"))
    #expect(isRemote(ask("\(field): 127.0.0.1\r\n")))
  }

  @Test func `a whole URL as a target must name this machine too`() throws {
    let server = try Self.server()
    let foreign = "http://\(Self.publicName)/faults"
    #expect(isRemote(answer(server, Self.request("GET", foreign, ["Host: localhost"]))))
    let own = answer(server, Self.request("GET", "http://localhost/faults", ["Host: localhost"]))
    #expect(own.begins(with: "HTTP/1.1 200 "))
  }

  @Test func `a request of HTTP 1 0 without a Host is not from this machine`() throws {
    let server = try Self.server()
    #expect(isRemote(answer(server, "GET /faults HTTP/1.0\r\n\r\n")))
  }

  @Test func `where an option opens them, endpoints and console take what a proxy brought`() throws
  {
    let server = try Self.server(.everybody, console: .everybody)
    let fields = ["Host: \(Self.publicName)", "X-Forwarded-For: 192.0.2.1"]
    let endpoint = answer(server, Self.request("POST", "/pusher/auth", fields))
    #expect(endpoint.holds("socket 1.2 is not connected here"))
    let page = answer(server, Self.request("GET", "/console?token=\(Self.token)", fields))
    #expect(page.begins(with: "HTTP/1.1 200 "))
    #expect(isRemote(answer(server, Self.request("GET", "/faults", fields))))
  }

  @Test func `a refusal is told once for each part and sign, with what opens it`() throws {
    let server = try Self.server()
    for number in 0..<30 {
      let fields = ["Host: localhost", "X-Forwarded-\(number): 1"]
      _ = answer(server, Self.request("GET", "/faults", fields))
    }
    let told = server.events.filter { if case .accessRefused = $0 { true } else { false } }
    #expect(
      told.map(\.description) == [
        "refused a request for /faults that is not from this machine (it has X-Forwarded-*)"
      ])
  }
}
