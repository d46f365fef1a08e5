import Foundation
import PusherCore
import Testing

@Suite("A reader that is slow or stops", .serialized)
struct BackpressureTests {
  /// Events of 1 KiB: together far more than pipe, queue and socket hold.
  private static let count = 16_000

  private func flooding() throws -> ScriptedServer {
    try ScriptedServer { connection in
      try connection.join()
      for number in 0..<Self.count {
        try connection.send(event: "flood", data: #"{"n":\#(number),"flood":\#(Flood.data)}"#)
      }
      try connection.stay()
    }
  }

  @Test func `nothing is lost, the queue stays bounded, and it is said once`() throws {
    let server = try flooding()
    let program = try PusherCLI.subscribe(
      to: server, "news", "--buffer", "64k", "-n", "\(Self.count)")
    try program.awaitFullPipe()
    // Time enough for a program without a limit to take in everything.
    usleep(1_500_000)
    let memory = try #require(program.peakMemory)
    #expect(memory < 64 << 10, "\(memory) KiB")
    for number in 0..<Self.count {
      let line = try program.lineBytes()
      let start = #"{"event":"flood","channel":"news","data":{"n":\#(number),"#
      guard line.starts(with: start.utf8) else {
        Issue.record("event \(number) is \(String(decoding: line.prefix(80), as: UTF8.self))")
        return
      }
    }
    let result = try program.result()
    #expect(result.ending == .exited(0))
    #expect(result.errorLines.count == 1)
    #expect(result.errorText.contains("slow: 64 KiB wait"))
    #expect(server.connectionCount == 1)
  }

  @Test func `an end by the server waits until the reader has everything`() throws {
    let server = try ScriptedServer { connection in
      try connection.join()
      for _ in 0..<3000 { try connection.send(event: "flood", data: Flood.data) }
      try connection.close(code: 4009, reason: "over")
    }
    let program = try PusherCLI.subscribe(to: server, "news")
    // Reading pauses for five seconds at first; the close frame stands behind the events.
    let deadline = SystemClock.now().advanced(by: .seconds(12))
    while !program.peekAtErrors().contains("4009"), SystemClock.now() < deadline { usleep(5000) }
    // Longer than the time that an end by --timeout leaves the reader.
    usleep(1_500_000)
    _ = try program.lines(3000)
    #expect(try program.wait() == .exited(3))
  }

  @Test func `a time limit holds without a reader, and says what was lost`() throws {
    let server = try flooding()
    let program = try PusherCLI.subscribe(to: server, "news", "--timeout", "1")
    #expect(try program.wait(within: .seconds(5), readsOutput: false) == .exited(6))
    #expect(program.peekAtErrors().contains("bytes could not be written"))
  }

  @Test func `pings are answered as long as the queue has room`() throws {
    let filled = Gate()
    let answered = Gate()
    let server = try ScriptedServer { connection in
      try connection.join()
      // More than the pipe holds, less than the queue.
      for _ in 0..<3000 { try connection.send(event: "flood", data: Flood.data) }
      filled.open()
      try connection.ping([9])
      while try connection.event() != .pong([9]) {}
      answered.open()
      try connection.stay()
    }
    let program = try PusherCLI.subscribe(to: server, "news")
    try filled.wait()
    // Reading pauses for five seconds at first, so that short stalls cost nothing.
    try answered.wait(within: 12)
    _ = try program.lines(3000)
  }
}
