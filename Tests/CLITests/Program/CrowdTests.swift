import Foundation
import PusherCore
import Testing

@Suite("serve among hostile clients", .serialized, .runsProgramsFirst) struct CrowdTests {
  private static let request = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"

  private func client(_ server: LocalServer, room: Int32? = nil) throws -> RawClient {
    try RawClient(try #require(UInt16(server.port)), receiveBuffer: room)
  }

  /// Returns a client that has joined the channel and reads no more.
  private func member(of channel: String, _ server: LocalServer) throws -> RawClient {
    let client = try client(server, room: 65_536)
    try client.send(
      "GET /app/\(LocalServer.key)?protocol=7 HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
        + "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        + "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
    try client.await("connection_established")
    let message = #"{"event":"pusher:subscribe","data":{"channel":"\#(channel)"}}"#
    // A zero mask leaves the payload unchanged.
    try client.send([0x81, 0x80 | UInt8(message.utf8.count), 0, 0, 0, 0] + Array(message.utf8))
    try client.await("subscription_succeeded")
    return client
  }

  private func check(_ server: LocalServer, _ program: ChildProgram, _ name: String) throws {
    try server.trigger("news", name, "{}").expect()
    while try program.line() != #"{"event":"\#(name)","channel":"news","data":{}}"# {}
  }

  @Test(.enabled(if: PusherCLI.givesMemoryBack, "AddressSanitizer keeps what was given back"))
  func `10,000 connects in a row leave nothing behind`() throws {
    let server = try LocalServer()
    let program = try server.subscribe(["news"], "-L")
    for _ in 0..<1000 { try client(server).send(Self.request) }
    try check(server, program, "warm")
    let before = try #require(server.peakMemory)
    for _ in 0..<10_000 { try client(server).send(Self.request) }
    try check(server, program, "after")
    let after = try #require(server.peakMemory)
    #expect(after - before < 4 << 10, "\(before) to \(after) KiB")
  }

  @Test(
    .enabled(if: PusherCLI.givesMemoryBack, "AddressSanitizer keeps what was given back"),
    .needs(.movedClock))
  func `heads that never end cost little, are answered with 408, and hold nobody up`() throws {
    let clock = try MovedClock()
    let server = try LocalServer(environment: clock.environment())
    let program = try server.subscribe(["news"], "-L")
    let before = try #require(server.peakMemory)
    let clients = try (0..<200).map { _ in try client(server) }
    for client in clients { try client.send("GET / HTTP/1.1\r\nX-Slow: ") }
    try check(server, program, "between")
    for client in clients { try client.send("still not there") }
    let after = try #require(server.peakMemory)
    #expect(after - before < 8 << 10, "\(before) to \(after) KiB")
    // Ten seconds, plus the one-second accuracy of deadlines.
    clock.move(.seconds(11))
    // Its call makes the server look at its clock.
    try check(server, program, "late")
    try waitUntil("the answer is 408") {
      clients.last?.text.hasPrefix("HTTP/1.1 408 ") == true
    }
    try check(server, program, "after")
  }

  @Test(.enabled(if: PusherCLI.givesMemoryBack, "AddressSanitizer keeps what was given back"))
  func `clients that never read are let go while others get everything`() throws {
    let server = try LocalServer()
    let program = try server.subscribe(["news"], "-L")
    let deaf = try (0..<5).map { _ in try member(of: "news", server) }
    let before = try #require(server.peakMemory)
    let file = try TemporaryFolder.shared.file(
      "flood",
      holding: String(
        repeating: #"{"event":"flood","channel":"news","data":\#(Flood.data)}"# + "\n",
        count: 12_000))
    let sent = try server.start(["trigger", "-"], input: .file(file))
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
}
