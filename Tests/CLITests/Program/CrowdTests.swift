import Foundation
import PusherCore
import Testing

@Suite("serve among clients that mean it no good", .serialized, .runsProgramsFirst)
struct CrowdTests {
  private final class Plain {
    let descriptor: Int32

    init(_ port: String) throws {
      descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      // Unread data accumulates at the server soon.
      var room: Int32 = 65_536
      setsockopt(
        descriptor, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<Int32>.size))
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = (UInt16(port) ?? 0).bigEndian
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      let status = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      guard status == 0 else { throw Unexpected("connect: \(errno)") }
    }

    deinit { close(descriptor) }

    @discardableResult
    func send(_ text: String) -> Int {
      let bytes = Array(text.utf8)
      return Foundation.send(
        descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
    }

    func read(until text: String) throws {
      var bytes = [UInt8](repeating: 0, count: 65_536)
      var limit = timeval(tv_sec: 10, tv_usec: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
      var seen = ""
      while !seen.contains(text) {
        let count = recv(descriptor, &bytes, bytes.count, 0)
        guard count > 0 else { throw Unexpected("no '\(text)' but \(seen)") }
        seen += String(decoding: bytes[..<count], as: UTF8.self)
      }
    }

    func readToEnd() throws -> Int {
      var bytes = [UInt8](repeating: 0, count: 65_536)
      var total = 0
      while true {
        let count = recv(descriptor, &bytes, bytes.count, 0)
        if count < 0, errno == EAGAIN { throw Unexpected("no end after \(total) bytes") }
        guard count > 0 else { return total }
        total += count
      }
    }

    func join(_ channel: String) throws {
      send(
        "GET /app/\(LocalServer.key)?protocol=7 HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
          + "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
          + "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
      try read(until: "connection_established")
      let message = #"{"event":"pusher:subscribe","data":{"channel":"\#(channel)"}}"#
      // A zero mask leaves the payload unchanged.
      let head = [0x81, 0x80 | UInt8(message.utf8.count), 0, 0, 0, 0]
      _ = head.withUnsafeBytes { Foundation.send(descriptor, $0.baseAddress, $0.count, 0) }
      send(message)
      try read(until: "subscription_succeeded")
    }
  }

  private func check(_ server: LocalServer, _ program: ChildProgram, _ name: String) throws {
    let sent = try server.trigger("news", name, "{}")
    #expect(sent.ending == .exited(0), "\(sent.errorText)")
    while try program.line() != #"{"event":"\#(name)","channel":"news","data":{}}"# {}
  }

  @Test(.enabled(if: PusherCLI.givesMemoryBack, "AddressSanitizer keeps what was given back"))
  func `10,000 connects in a row leave nothing behind`() throws {
    let server = try LocalServer()
    let program = try server.subscribe(["news"], "-L")
    for _ in 0..<1000 { try Plain(server.port).send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n") }
    try check(server, program, "warm")
    let before = try #require(server.peakMemory)
    for _ in 0..<10_000 { try Plain(server.port).send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n") }
    try check(server, program, "after")
    let after = try #require(server.peakMemory)
    #expect(after - before < 4 << 10, "\(before) to \(after) KiB")
  }

  @Test(.enabled(if: PusherCLI.givesMemoryBack, "AddressSanitizer keeps what was given back"))
  func `heads that never end cost little, are answered with 408, and hold nobody up`() throws {
    let server = try LocalServer()
    let program = try server.subscribe(["news"], "-L")
    let before = try #require(server.peakMemory)
    let clients = try (0..<200).map { _ in try Plain(server.port) }
    for client in clients { client.send("GET / HTTP/1.1\r\nX-Slow: ") }
    try check(server, program, "between")
    for client in clients { client.send("still not there") }
    let after = try #require(server.peakMemory)
    #expect(after - before < 8 << 10, "\(before) to \(after) KiB")
    // Ten seconds, plus the one-second accuracy of deadlines.
    var limit = timeval(tv_sec: 15, tv_usec: 0)
    let last = try #require(clients.last)
    setsockopt(
      last.descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    var bytes = [UInt8](repeating: 0, count: 1024)
    let count = recv(last.descriptor, &bytes, bytes.count, 0)
    #expect(String(decoding: bytes[..<max(0, count)], as: UTF8.self).hasPrefix("HTTP/1.1 408 "))
    try check(server, program, "after")
  }

  @Test func `a head without end is refused once it is too long`() throws {
    let server = try LocalServer()
    let client = try Plain(server.port)
    client.send("GET / HTTP/1.1\r\n")
    let line = "X-More: \(String(repeating: "x", count: 1000))\r\n"
    for _ in 0..<100 { client.send(line) }
    try client.read(until: "HTTP/1.1 431 ")
  }

  @Test(.enabled(if: PusherCLI.givesMemoryBack, "AddressSanitizer keeps what was given back"))
  func `clients that never read are let go while others get everything`() throws {
    let server = try LocalServer()
    let program = try server.subscribe(["news"], "-L")
    let deaf = try (0..<5).map { _ in
      let client = try Plain(server.port)
      try client.join("news")
      return client
    }
    let before = try #require(server.peakMemory)
    let file = try TemporaryFolder.shared.file(
      "flood",
      holding: String(
        repeating: #"{"event":"flood","channel":"news","data":\#(Flood.data)}"# + "\n",
        count: 12_000))
    let sent = try PusherCLI.start(
      ["trigger", "-"] + server.address,
      environment: [
        "PUSHER_APP_KEY": LocalServer.key, "PUSHER_APP_ID": LocalServer.appID,
        "PUSHER_APP_SECRET": "local-secret",
      ], input: .file(file))
    var count = 0
    while count < 12_000 {
      if try program.line().contains(#""event":"flood""#) { count += 1 }
    }
    #expect(try sent.wait() == .exited(0))
    try check(server, program, "after")
    let memory = try #require(server.peakMemory)
    // At most 1 MiB waits for each of the five, plus the events of one call.
    #expect(memory - before < 48 << 10, "\(memory) KiB, \(before) before")
    for client in deaf {
      #expect(try client.readToEnd() < 12_000 * Flood.data.utf8.count)
    }
  }

  @Test(.enabled(if: PusherCLI.givesMemoryBack, "AddressSanitizer keeps what was given back"))
  func `a flood of requests holds nobody up`() throws {
    let server = try LocalServer()
    let program = try server.subscribe(["news"], "-L")
    let before = try #require(server.peakMemory)
    let clients = try (0..<4).map { _ in try Plain(server.port) }
    let requests = String(repeating: "GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n", count: 1000)
    // Sends until the system accepts no more: the server stops reading at unanswered requests.
    for client in clients {
      for _ in 0..<1000 where client.send(requests) < requests.utf8.count { break }
    }
    try check(server, program, "between")
    let after = try #require(server.peakMemory)
    #expect(after - before < 16 << 10, "\(before) to \(after) KiB")
  }
}
