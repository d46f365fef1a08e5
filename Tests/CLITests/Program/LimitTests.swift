import Foundation
import PusherCore
import Testing

@Suite("Limits that a server can reach", .serialized, .runsProgramsFirst) struct LimitTests {
  private static let limit = 16 << 20

  private static func event(bytes: Int) -> String {
    let start = #"{"event":"big","channel":"news","data":""#
    let end = #""}"#
    return start + String(repeating: "x", count: bytes - start.utf8.count - end.utf8.count) + end
  }

  /// Starts a server whose first message is too long, and which records the client's close frame.
  private func server(
    deflate: Bool = false, _ send: @escaping ScriptedServer.Script
  ) throws -> (ScriptedServer, closes: Record<ScriptedEvent>) {
    let closes = Record<ScriptedEvent>()
    let server = try ScriptedServer { connection in
      try connection.join(deflate: deflate)
      if connection.number == 1 {
        try send(connection)
        closes.add(try connection.event())
        connection.end()
      } else {
        try connection.send(event: "tick", data: "{}")
        try connection.stay()
      }
    }
    return (server, closes)
  }

  private func expectTooLong(_ closes: Record<ScriptedEvent>) throws {
    let close = try waitFor("the server notes the close") { closes.values.first }
    guard case .closed(1009, _) = close else { throw Unexpected("\(close)") }
  }

  @Test func `a message of 16 MiB is printed, and one byte more is refused with 1009`() throws {
    let (server, closes) = try server { connection in
      try connection.send(text: Self.event(bytes: Self.limit))
      // The header of a frame that is one byte too long; the client does not wait for its payload.
      try connection.send(bytes: [0x81, 127, 0, 0, 0, 0, 1, 0, 0, 1])
    }
    let program = try PusherCLI.subscribe(
      to: server, "news", "-n", "2", "--retry-max-delay", "100ms")
    // The line has the same members as the event.
    #expect(try program.lineBytes().count == Self.limit)
    #expect(try program.line() == #"{"event":"tick","channel":"news","data":{}}"#)
    try program.result().expect(telling: "longer than the limit of 16777216 bytes")
    try expectTooLong(closes)
  }

  @Test func `a frame that inflates to 100 MiB is refused with 1009 before that`() throws {
    let (server, closes) = try server(deflate: true) { connection in
      try connection.send(binary: [UInt8](repeating: 0x20, count: 100 << 20))
    }
    let program = try PusherCLI.subscribe(to: server, "news", "--retry-max-delay", "100ms")
    try program.errorLine(containing: "longer than the limit of 16777216 bytes")
    #expect(try program.line() == #"{"event":"tick","channel":"news","data":{}}"#)
    let memory = try #require(program.peakMemory)
    #expect(memory < 96 << 10 || !PusherCLI.givesMemoryBack, "\(memory) KiB")
    try expectTooLong(closes)
  }
}
