import PusherCore
import PusherServer
import Testing

/// The Fetch standard, section "Origin header"; RFC 6455 section 10.2; RFC 9110 section 7.2.
@Suite("Pages of others, and names that lead here")
struct AccessTests {
  private static let body = "socket_id=1.2&channel_name=private-a"
  private static let handshake =
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    + "Sec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==\r\n"

  /// One request for each entry point of the server.
  private static let doors: [(name: String, request: String, fields: String, body: String)] = [
    ("socket", "GET /app/278d425bdf160c739803?protocol=7", handshake, ""),
    ("endpoint", "POST /pusher/auth", "", body),
    ("users' endpoint", "POST /broadcasting/user-auth", "", "socket_id=1.2"),
    ("preflight", "OPTIONS /pusher/auth", "Access-Control-Request-Method: POST\r\n", ""),
    (
      "preflight from the network", "OPTIONS /pusher/auth",
      "Access-Control-Request-Private-Network: true\r\n", ""
    ),
    ("HTTP API", "POST /apps/3/events?auth_key=k&auth_signature=s", "", "{}"),
    ("faults", "POST /faults", "", "drop"), ("faults, told", "GET /faults", "", ""),
    ("page", "GET /", "", ""),
  ]

  private static func request(
    _ door: (name: String, request: String, fields: String, body: String), _ headers: String
  ) -> String {
    "\(door.request) HTTP/1.1\r\n\(headers)\(door.fields)"
      + "Content-Length: \(door.body.utf8.count)\r\n\r\n\(door.body)"
  }

  private static func answers(
    _ headers: String, _ change: @escaping (inout ServerOptions) -> Void = { _ in }
  ) throws -> [(door: String, answer: String)] {
    let server = try ServerHarness {
      $0.authEndpoints = .thisMachine
      change(&$0)
    }
    return doors.map { door in
      let client = server.raw(request(door, headers))
      #expect(server.run { client.text.contains("\r\n\r\n") }, "\(door.name)")
      return (door.name, client.text)
    }
  }

  @Test(arguments: [
    "https://evil.example", "http://localhost.evil.example", "http://evil-localhost", "null",
    "file://", "http://127.0.0.1.evil.example", "http://10.0.0.1:3000", "http://0.0.0.0",
    "https://test", "chrome-extension://abcdefgh", "http://localhost@evil.example", "",
  ])
  func `a page from elsewhere gets 403 at every door, and nothing that it could read`(
    origin: String
  ) throws {
    for (door, answer) in try Self.answers("Host: 127.0.0.1:6001\r\nOrigin: \(origin)\r\n") {
      #expect(answer.hasPrefix("HTTP/1.1 403 "), "\(door): \(answer)")
      #expect(!answer.contains("Access-Control-"), "\(door)")
      #expect(!answer.contains("auth\":"), "\(door)")
    }
  }

  @Test(arguments: [
    "http://localhost:5173", "http://127.0.0.1:8000", "http://[::1]:3000", "https://shop.test",
    "http://app.localhost", "https://LOCALHOST", "http://localhost.:3000", "http://127.8.9.10",
  ])
  func `a local page is let in at every door but that of the faults`(origin: String) throws {
    for (door, answer) in try Self.answers("Host: 127.0.0.1:6001\r\nOrigin: \(origin)\r\n") {
      // Faults are for programs only, and no client has the socket ID in the request to the
      // endpoints.
      let isRefused = answer.hasPrefix("HTTP/1.1 403 ")
      #expect(
        isRefused == (door.hasPrefix("faults") || door.hasSuffix("endpoint")), "\(door): \(answer)")
    }
  }

  @Test(arguments: [
    "evil.example", "evil.example:6001", "localhost.evil.example:6001", "127.0.0.1.evil.example",
    "10.0.0.1:6001", "2130706433", "127.1", "0x7f.1",
  ])
  func `a name that has been made to lead here gets 403 at every door`(host: String) throws {
    for (door, answer) in try Self.answers("Host: \(host)\r\n") {
      #expect(answer.hasPrefix("HTTP/1.1 403 "), "\(door): \(answer)")
    }
  }

  @Test(arguments: ["localhost:x", "a b"])
  func `a Host that names no host gets 400 at every door`(host: String) throws {
    for (door, answer) in try Self.answers("Host: \(host)\r\n") {
      #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(door): \(answer)")
    }
  }

  @Test(arguments: ["127.0.0.1:6001", "localhost", "[::1]:6001", "shop.test:80", "LocalHost.:1"])
  func `a program without an origin is let in as before`(host: String) throws {
    for (door, answer) in try Self.answers("Host: \(host)\r\n") {
      // No client has the socket ID in the request to the endpoints.
      let isRefused = answer.hasPrefix("HTTP/1.1 403 ")
      #expect(isRefused == door.hasSuffix("endpoint"), "\(door): \(answer)")
    }
  }

  @Test func `a whole URL as a target counts as the host that it names`() throws {
    let server = try ServerHarness()
    let client = server.raw(
      "GET http://evil.example/up HTTP/1.1\r\nHost: localhost\r\n\r\n")
    #expect(server.run { client.text.hasPrefix("HTTP/1.1 403 ") })
    let own = server.raw("GET http://localhost:9/up HTTP/1.1\r\nHost: localhost\r\n\r\n")
    #expect(server.run { own.text.hasPrefix("HTTP/1.1 404 ") })
  }

  @Test func `a second origin must be allowed like the first`() throws {
    let server = try ServerHarness()
    let client = server.raw(
      "GET /x HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n"
        + "Origin: http://evil.example\r\n\r\n")
    #expect(server.run { client.text.hasPrefix("HTTP/1.1 403 ") })
  }
}
