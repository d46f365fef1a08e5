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

  @Test func `a message of 16 MiB is printed, and one byte more is refused with 1009`() throws {
    let closes = Record<ScriptedEvent>()
    let server = try ScriptedServer { connection in
      try connection.join()
      guard connection.number == 1 else {
        try connection.send(event: "tick", data: "{}")
        try connection.stay()
      }
      try connection.send(text: Self.event(bytes: Self.limit))
      // The header of a frame that is one byte too long; the client does not wait for its payload.
      try connection.send(bytes: [0x81, 127, 0, 0, 0, 0, 1, 0, 0, 1])
      closes.add(try connection.event())
      connection.end()
    }
    let program = try PusherCLI.subscribe(
      to: server, "news", "-n", "2", "--retry-max-delay", "100ms")
    // The line has the same members as the event.
    #expect(try program.lineBytes().count == Self.limit)
    #expect(try program.line() == #"{"event":"tick","channel":"news","data":{}}"#)
    try program.result().expect(telling: "longer than the limit of 16777216 bytes")
    let close = try waitFor("the server notes the close") { closes.values.first }
    guard case .closed(1009, _) = close else { throw Unexpected("\(close)") }
  }
}
