import Foundation
import PusherCore
import Testing

@testable import pusher_cli

@Suite struct `A reader of standard error that stops` {
  @Test func `holds nothing up, and is told what it missed`() throws {
    let (reading, writing) = try Spawn.pipe()
    defer { close(writing) }
    let errors = StandardError(writing)
    let line = Array((String(repeating: "x", count: 999) + "\n").utf8)
    let done = Gate()
    Thread.detachNewThread {
      for _ in 0..<1000 { errors.write(line) }
      done.open()
    }
    try done.wait()

    let reader = PipeReader(reading)
    reader.fill()
    let whole = reader.takeAll().split(separator: 0x0A).count
    errors.write(Array("last\n".utf8))
    reader.fill()
    let rest = String(decoding: reader.takeAll(), as: UTF8.self)
    let said = "pusher-cli: warning: \(1000 - whole) messages were dropped: nobody read them"
    #expect(rest == said + "\nlast\n")
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func `does not keep a signal from ending the program`(signal: Int32) throws {
    let server = try ScriptedServer.joined { connection in
      for _ in 0..<3000 { try connection.send(event: "flood", data: Flood.data) }
    }
    let (reading, writing) = try Spawn.pipe()
    defer {
      close(reading)
      close(writing)
    }
    var request = SpawnRequest(
      executable: PusherCLI.path, arguments: ["subscribe"] + server.address + ["news", "-vv"],
      environment: PusherCLI.environment)
    request.errors = .inherited(writing)
    let child = try Spawn.start(request)
    var status: Int32 = 0
    defer {
      kill(child, SIGKILL)
      waitpid(child, &status, 0)
    }

    try waitUntil("the pipe is full") { Spawn.isFull(writing) }
    kill(child, signal)
    try waitUntil("it has ended") { waitpid(child, &status, WNOHANG) == child }
    #expect(status & 0x7F == signal)
  }
}
