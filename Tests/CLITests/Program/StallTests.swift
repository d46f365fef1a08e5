import Foundation
import PusherCore
import Testing

@Suite("A stall beyond the activity timeout", .serialized, .needs(.movedClock), .runsProgramsFirst)
struct StallTests {
  private let clock: MovedClock
  init() throws { clock = try MovedClock() }

  private func subscribe(to server: ScriptedServer, _ options: String...) throws -> ChildProgram {
    try PusherCLI.start(
      ["subscribe"] + server.address + [
        "news", "--buffer", "64k", "--pong-timeout", "1s", "--retry-max-delay", "50ms",
      ] + options, environment: clock.environment())
  }

  /// Releases the server and lets an hour pass during the stall; the program must not dial.
  private func expectNoOtherConnection(
    to server: ScriptedServer, of program: ChildProgram, _ left: Gate
  ) throws {
    try program.awaitFullPipe()
    try left.wait()
    try clock.move(.seconds(3600), seenBy: program)
    #expect(server.connectionCount == 1)
  }

  private func server(
    then numbers: Range<Int>, _ course: @escaping @Sendable (ScriptedConnection) throws -> Void
  ) throws -> ScriptedServer {
    try ScriptedServer { connection in
      try connection.join(activityTimeout: 1)
      if connection.number == 1 { return try course(connection) }
      try Self.flood(connection, numbers)
      try connection.stay()
    }
  }

  /// Sends numbered events of 1 KiB while the client accepts them; returns their number.
  private static func flood(_ connection: ScriptedConnection, _ numbers: Range<Int>) throws {
    for number in numbers {
      try connection.send(event: "flood", data: #"{"n":\#(number),"flood":\#(Flood.data)}"#)
    }
  }

  private func expect(_ program: ChildProgram, prints numbers: Range<Int>) throws {
    for number in numbers {
      let line = try program.lineBytes()
      let start = #"{"event":"flood","channel":"news","data":{"n":\#(number),"#
      guard line.starts(with: start.utf8) else {
        Issue.record("event \(number) is \(String(decoding: line.prefix(80), as: UTF8.self))")
        return
      }
    }
  }

  @Test func `the server hears from us all the time, and nothing is lost`() throws {
    let heard = Record<String>()
    let pings = Gate()
    let server = try ScriptedServer { connection in
      try connection.join(activityTimeout: 1)
      // More than pipe, queue and one read hold: the rest waits in the sockets.
      try Self.flood(connection, 0..<1500)
      while true {
        let message = try connection.event()
        guard case .text(let text) = message else { throw PeerLeft() }
        heard.add(text)
        guard text.contains("pusher:ping") else { continue }
        pings.open()
        // Unread during the stall, but available when reading resumes.
        try connection.send(text: #"{"event":"pusher:pong","data":{}}"#)
      }
    }
    let program = try subscribe(to: server)
    try program.awaitFullPipe()
    // Each ping follows an activity timeout, and none is answered for longer than the pong timeout.
    for count in 1...3 {
      clock.move(.seconds(2))
      try pings.wait()
      #expect(heard.values.count { $0.contains("pusher:ping") } >= count, "\(heard.values)")
    }
    let memory = try #require(program.peakMemory)
    #expect(memory < 64 << 10, "\(memory) KiB")
    try expect(program, prints: 0..<1500)
    #expect(server.connectionCount == 1)
    #expect(!program.peekAtErrors().contains("lost"), "\(program.peekAtErrors())")
  }

  @Test func `a server that leaves meanwhile costs no event, and no dial comes before`() throws {
    let left = Gate()
    let server = try server(then: 1500..<1502) { connection in
      try Self.flood(connection, 0..<1500)
      left.open()
      try connection.close(code: 4200)
    }
    let program = try subscribe(to: server)
    try expectNoOtherConnection(to: server, of: program, left)
    try expect(program, prints: 0..<1502)
    #expect(server.connectionCount == 2)
    try program.errorLine(containing: "connection lost (")
    try program.errorLine(containing: "back after")
  }

  @Test func `a reset meanwhile costs only what had not come`() throws {
    let came = Record<Int>()
    let left = Gate()
    let server = try server(then: 5000..<5002) { connection in
      var sent = 0
      while sent < 1100, connection.isWritable(within: .seconds(1)) {
        try Self.flood(connection, sent..<sent + 1)
        sent += 1
      }
      // The client's pings stay unread, so the drop below becomes a reset.
      try connection.awaitUnread()
      // A reset discards data for which the client's machine has no room. That is not the program's
      // fault.
      let size = Flood.data.utf8.count
      came.add(sent - (connection.unacknowledged + size - 1) / size)
      left.open()
      connection.drop()
    }
    let program = try subscribe(to: server)
    try expectNoOtherConnection(to: server, of: program, left)
    let whole = try #require(came.values.first)
    try expect(program, prints: 0..<whole)
    // Part of the rest may have arrived since.
    var number = whole
    while let line = try? program.line(), !line.contains(#""n":5000,"#) {
      #expect(line.contains(#""n":\#(number),"#), "\(line.prefix(80))")
      number += 1
    }
    try expect(program, prints: 5001..<5002)
    try program.errorLine(containing: "connection lost (")
  }
}
