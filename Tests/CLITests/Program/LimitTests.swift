import Foundation
import PusherCore
import Testing

@Suite("Limits that a server can reach", .serialized, .runsProgramsFirst)
struct LimitTests {
  private static let limit = 16 << 20

  private static func event(bytes: Int) -> String {
    let start = #"{"event":"big","channel":"news","data":""#
    let end = #""}"#
    return start + String(repeating: "x", count: bytes - start.utf8.count - end.utf8.count) + end
  }

  @Test func `a message of 16 MiB is printed, and one byte more ends the connection with 1009`()
    throws
  {
    let closes = Record<ScriptedEvent>()
    let server = try ScriptedServer { connection in
      try connection.join()
      if connection.number == 1 {
        try connection.send(text: Self.event(bytes: Self.limit))
        // The header of a frame that is one byte too long; the client does not wait for its
        // payload.
        try connection.send(bytes: [0x81, 127, 0, 0, 0, 0, 1, 0, 0, 1])
        closes.add(try connection.event())
        connection.end()
      } else {
        try connection.send(event: "tick", data: "{}")
        try connection.stay()
      }
    }
    let program = try PusherCLI.subscribe(
      to: server, "news", "-n", "2", "--retry-max-delay", "100ms")
    let line = try program.lineBytes()
    // The line has the same members as the event.
    #expect(line.count == Self.limit)
    #expect(try program.line() == #"{"event":"tick","channel":"news","data":{}}"#)
    let result = try program.result()
    #expect(result.ending == .exited(0))
    #expect(
      result.errorLines.first?.contains("longer than the limit of 16777216 bytes") == true,
      "\(result.errorText)")
    let close = try waitFor("the server notes the close") { closes.values.first }
    guard case .closed(1009, _) = close else {
      Issue.record("\(closes.values)")
      return
    }
  }

  @Test func `a small frame that inflates to 100 MiB is refused with 1009 before it is inflated`()
    throws
  {
    let closes = Record<ScriptedEvent>()
    let server = try ScriptedServer { connection in
      try connection.join(deflate: true)
      if connection.number == 1 {
        try connection.send(binary: [UInt8](repeating: 0x20, count: 100 << 20))
        closes.add(try connection.event())
        connection.end()
      } else {
        try connection.send(event: "tick", data: "{}")
        try connection.stay()
      }
    }
    let program = try PusherCLI.subscribe(to: server, "news", "--retry-max-delay", "100ms")
    try program.errorLine(
      containing: "longer than the limit of 16777216 bytes")
    #expect(try program.line() == #"{"event":"tick","channel":"news","data":{}}"#)
    let memory = try #require(program.peakMemory)
    #expect(memory < 96 << 10 || !PusherCLI.givesMemoryBack, "\(memory) KiB")
    let close = try waitFor("the server notes the close") { closes.values.first }
    guard case .closed(1009, _) = close else {
      Issue.record("\(closes.values)")
      return
    }
  }

  @Test func `16 MiB of lines wait for a reader that stops, and not one is lost`() throws {
    let count = 3000
    let filler = String(repeating: "y", count: 16_000)
    let server = try ScriptedServer.joined { connection in
      for number in 0..<count {
        try connection.send(event: "flood", data: #"{"n":\#(number),"f":"\#(filler)"}"#)
      }
    }
    let program = try PusherCLI.subscribe(to: server, "news", "-n", "\(count)")
    try program.errorLine(containing: "slow: 16 MiB wait", readsOutput: false)
    let memory = try #require(program.peakMemory)
    #expect(memory < 96 << 10 || !PusherCLI.givesMemoryBack, "\(memory) KiB")
    for number in 0..<count {
      let line = try program.lineBytes()
      let start = #"{"event":"flood","channel":"news","data":{"n":\#(number),"f""#
      #expect(line.starts(with: start.utf8))
    }
    #expect(try program.result().ending == .exited(0))
  }
}
