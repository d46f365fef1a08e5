import PusherConsole
import PusherCore
import PusherServer
import TestSupport
import Testing

/// RFC 7239; RFC 9110 section 7.6.3; RFC 8586; docs/security.md, "serve behind a proxy".
struct `Routes for this machine, and requests that a proxy brought` {
  private static let token = "0123456789abcdef"
  private static let publicName = "ws.example.com"

  private static func server(
    _ endpoints: Reach = .thisMachine, console: Reach = .thisMachine
  ) throws -> ServerHarness {
    let test = try ServerHarness {
      $0.authEndpoints = endpoints
      $0.console = console
      $0.access.hosts = LocalHost(publicName).map { [$0] } ?? []
      $0.access.origins = AccessPolicy.Origin("https://\(publicName)").map { [$0] } ?? []
    }
    test.server.console = Console(
      ConsoleOptions(token: token, version: "1", reach: console), host: test.server)
    return test
  }

  private static func request(_ method: String, _ path: String, _ fields: [String]) -> String {
    let body = method == "POST" ? "socket_id=1.2&channel_name=private-a" : ""
    return ServerHarness.request("\(method) \(path)", ["Connection: close"] + fields, body: body)
  }

  private func answer(
    _ server: ServerHarness, _ method: String, _ path: String, _ fields: [String]
  ) -> String { server.answer(to: Self.request(method, path, fields)) }

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
        (full.authEndpoints, full.console) = (.thisMachine, .thisMachine)
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
        let answer = answer(server, method, target, fields)
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
        let plain = answer(server, method, path, ["Host: localhost"])
        let fields = Self.proxied(&random)
        #expect(answer(server, method, path, fields) == plain, "\(fields)")
      }
    }
    for _ in 0..<8 {
      let client = server.raw(
        ServerHarness.upgrade(ServerHarness.socketLine, Self.proxied(&random)))
      #expect(server.run { client.text.holds("connection_established") })
      client.close()
    }
  }

  // MARK: Single cases

  @Test(
    arguments: AccessPolicy.proxyFields + ["X-Forwarded-For", "x-forwarded-proto", "X-FORWARDED"])
  func `a field of a proxy closes what its absence opens`(field: String) throws {
    let server = try Self.server()
    let body = "socket_id=\(try server.established().socketID)&channel_name=private-a"
    func ask(_ fields: String...) -> String {
      server.answer(
        to: ServerHarness.request(
          "POST /pusher/auth", ["Host: localhost", "Connection: close"] + fields, body: body))
    }
    #expect(ask().holds("\"auth\":"))
    #expect(isRemote(ask("\(field): 127.0.0.1")))
  }

  @Test func `a whole URL as a target must name this machine, and a Host is needed`() throws {
    let server = try Self.server()
    let foreign = "http://\(Self.publicName)/faults"
    #expect(isRemote(answer(server, "GET", foreign, ["Host: localhost"])))
    #expect(isRemote(server.answer(to: "GET /faults HTTP/1.0\r\n\r\n")))
  }

  @Test func `options open endpoints and console to what a proxy brought`() throws {
    let server = try Self.server(.everybody, console: .everybody)
    let fields = ["Host: \(Self.publicName)", "X-Forwarded-For: 192.0.2.1"]
    let endpoint = answer(server, "POST", "/pusher/auth", fields)
    #expect(endpoint.holds("socket 1.2 is not connected here"))
    let page = answer(server, "GET", "/console?token=\(Self.token)", fields)
    #expect(page.begins(with: "HTTP/1.1 200 "))
    #expect(isRemote(answer(server, "GET", "/faults", fields)))
  }

  @Test func `a refusal is told once for each part and sign, with what opens it`() throws {
    let server = try Self.server()
    for number in 0..<30 {
      let fields = ["Host: localhost", "X-Forwarded-\(number): 1"]
      _ = answer(server, "GET", "/faults", fields)
    }
    let told = server.events.filter { if case .accessRefused = $0 { true } else { false } }
    #expect(
      told.map(\.description) == [
        "refused a request for /faults that is not from this machine (it has X-Forwarded-*)"
      ])
  }
}

/// The Fetch standard, section "Origin header"; RFC 6455 section 10.2; RFC 9110 section 7.2.
///
/// `LocalHostTests` has the names and origins of this machine in every spelling.
struct `Pages of others, and names that lead here` {
  /// One request for each entry point of the server.
  private static let doors: [(name: String, line: String, fields: [String], body: String)] = [
    ("socket", ServerHarness.socketLine, ServerHarness.handshake, ""),
    ("endpoint", "POST /pusher/auth", [], "socket_id=1.2&channel_name=private-a"),
    ("users' endpoint", "POST /broadcasting/user-auth", [], "socket_id=1.2"),
    ("preflight", "OPTIONS /pusher/auth", ["Access-Control-Request-Method: POST"], ""),
    (
      "preflight from the network", "OPTIONS /pusher/auth",
      ["Access-Control-Request-Private-Network: true"], ""
    ),
    ("HTTP API", "POST /apps/3/events?auth_key=k&auth_signature=s", [], "{}"),
    ("faults", "POST /faults", [], "drop"), ("faults, told", "GET /faults", [], ""),
    ("page", "GET /", [], ""),
  ]

  private static let allDoors = doors.map(\.name)
  private static let endpoints = ["endpoint", "users' endpoint"]
  private static let forPrograms = endpoints + ["faults", "faults, told"]

  /// No client has the socket ID in the request to the endpoints, and faults are for programs only.
  @Test(
    arguments: [
      (["Host: 127.0.0.1:6001", "Origin: https://evil.example"], 403, allDoors),
      (["Host: 127.0.0.1:6001", "Origin: http://10.0.0.1:3000"], 403, allDoors),
      (["Host: 127.0.0.1:6001", "Origin: null"], 403, allDoors),
      (["Host: 127.0.0.1:6001", "Origin: "], 403, allDoors),
      (["Host: evil.example:6001"], 403, allDoors), (["Host: 127.1"], 403, allDoors),
      (["Host: localhost:x"], 400, allDoors), (["Host: a b"], 400, allDoors),
      (["Host: 127.0.0.1:6001", "Origin: http://localhost:5173"], 403, forPrograms),
      (["Host: localhost", "Origin: https://shop.test"], 403, forPrograms),
      (["Host: 127.0.0.1:6001"], 403, endpoints), (["Host: [::1]:6001"], 403, endpoints),
    ] as [([String], Int, [String])])
  func `each door is closed to pages from elsewhere and to names that were made to lead here`(
    fields: [String], status: Int, closed: [String]
  ) throws {
    let server = try ServerHarness { $0.authEndpoints = .thisMachine }
    for door in Self.doors {
      let client = server.raw(
        ServerHarness.request(door.line, fields + door.fields, body: door.body))
      #expect(server.run { client.text.contains("\r\n\r\n") }, "\(door.name)")
      let answer = client.text
      let isClosed = answer.hasPrefix("HTTP/1.1 \(status) ")
      #expect(isClosed == closed.contains(door.name), "\(door.name): \(answer)")
      #expect(!answer.contains("auth\":"), "\(door.name)")
      // A page from elsewhere reads nothing.
      guard closed.count == Self.doors.count else { continue }
      #expect(!answer.contains("Access-Control-"), "\(door.name)")
    }
  }

  @Test(arguments: [
    // A whole URL as a target counts as the host that it names.
    ("GET http://evil.example/up", ["Host: localhost"], 403),
    ("GET http://localhost:9/up", ["Host: localhost"], 404),
    // A second origin must be allowed like the first.
    (
      "GET /x", ["Host: localhost", "Origin: http://localhost", "Origin: http://evil.example"], 403
    ),
  ])
  func `a URL as target and two origins count`(line: String, fields: [String], status: Int) throws {
    let server = try ServerHarness()
    let client = server.raw(ServerHarness.request(line, fields))
    #expect(server.run { client.text.hasPrefix("HTTP/1.1 \(status) ") })
  }
}
