import Foundation
import PusherCore
import Testing

@Suite("A reader that is slow or stops", .serialized, .runsProgramsFirst) struct BackpressureTests {
  /// Events of 1 KiB, far more than pipe, queue and socket hold together.
  private static let count = 16_000

  private func flooding() throws -> ScriptedServer {
    try ScriptedServer.joined { connection in
      for number in 0..<Self.count {
        try connection.send(event: "flood", data: #"{"n":\#(number),"flood":\#(Flood.data)}"#)
      }
    }
  }

  @Test func `nothing is lost, the queue stays bounded, and it is said once`() throws {
    let server = try flooding()
    let program = try PusherCLI.subscribe(
      to: server, "news", "--buffer", "64k", "-n", "\(Self.count)")
    try program.errorLine(containing: "slow: 64 KiB wait", readsOutput: false)
    // Without a limit, a program would read everything in this many rounds: it reads 256 KiB in
    // each.
    let queued = try program.goRound(Self.count / 256)
    // The limit plus the size of one read.
    #expect(queued < (64 + 2 * 256) << 10, "\(queued) bytes")
    let memory = try #require(program.peakMemory)
    #expect(memory < 64 << 10, "\(memory) KiB")
    for number in 0..<Self.count {
      let line = try program.lineBytes()
      let start = #"{"event":"flood","channel":"news","data":{"n":\#(number),"#
      try #require(line.starts(with: start.utf8), "\(String(decoding: line, as: UTF8.self))")
    }
    try program.result().expect(says: "")
    #expect(server.connectionCount == 1)
  }

  @Test(.needs(.movedClock))
  func `compressed events of a few reads wait at the server during a long pause`() throws {
    let block = FrameBlock(count: 40_000, deflate: PerMessageDeflate())
    // A few reads return all of it, many times the queue size at which reading pauses.
    #expect(block.bytes.count < 4 << 20)
    let joined = Gate()
    let server = try ScriptedServer { connection in
      try connection.join(deflate: true)
      joined.open()
      try connection.send(bytes: block.bytes)
      try connection.stay()
    }
    let clock = try MovedClock(standsStill: true)
    let program = try PusherCLI.subscribe(
      to: server, "news", "-n", "\(block.count)", environment: clock.environment())
    try joined.wait()
    try waitUntil("the output is held up") { try program.goRound(1) >= 256 << 10 }
    let queued = try program.goRound(20)
    #expect(queued < 257 << 10, "\(queued) bytes")
    for (number, line) in try program.lines(block.count).enumerated() {
      let start = #"{"event":"price.updated","channel":"news","data":{"id":\#(number),"#
      try #require(line.utf8.starts(with: start.utf8), "\(line)")
    }
    #expect(try program.wait() == .exited(0))
  }

  @Test(.needs(.movedClock))
  func `an end by the server waits until the reader has everything`() throws {
    let joined = Gate()
    let server = try ScriptedServer { connection in
      try connection.join()
      joined.open()
      for _ in 0..<3000 { try connection.send(event: "flood", data: Flood.data) }
      try connection.close(code: 4009, reason: "over")
    }
    let clock = try MovedClock()
    let program = try PusherCLI.subscribe(
      to: server, "news", "--pong-timeout", "1000h", environment: clock.environment())
    // Earlier, the clock would pass the time limits of connecting.
    try joined.wait()
    try waitUntil("the output is held up") { try program.goRound(1) > 0 }
    // Reading pauses for five seconds at first, so that short stalls cost nothing.
    try waitUntil("it has read the close frame after the events") {
      clock.move(.seconds(1))
      return program.peekAtErrors().contains("4009")
    }
    // Far longer than the time that --timeout gives the reader at the end.
    try clock.move(.seconds(3600), seenBy: program)
    _ = try program.lines(3000)
    #expect(try program.wait() == .exited(3))
  }

  @Test func `a time limit holds without a reader, and says what was lost`() throws {
    let server = try flooding()
    let program = try PusherCLI.subscribe(to: server, "news", "--timeout", "1")
    #expect(try program.wait(readsOutput: false) == .exited(6))
    #expect(program.peekAtErrors().contains("bytes could not be written"))
  }
}
