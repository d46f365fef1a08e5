import Foundation
import PusherCore
import TestSupport
import Testing

@testable import pusher_cli

struct `The queue to standard output` {
  private let start = Instant(nanoseconds: 1_000_000_000)

  @Test func `a stall that lasts is told once and then leaves the loop in peace`() throws {
    let (reading, writing) = try Spawn.pipe()
    defer { close(reading) }
    let descriptor = try #require(OutputDescriptor(writing))
    close(writing)
    defer { close(descriptor.number) }
    let queue = OutputQueue(descriptor: descriptor, limit: 4 << 20)
    // More than the pipe holds, so that much remains.
    queue.buffer.append([UInt8](repeating: 0x78, count: 3 << 20))
    queue.flush()
    #expect(queue.pressure(at: start) == .high)
    let deadline = try #require(queue.interest.deadline)
    #expect(deadline > start)
    queue.expired(at: deadline)
    #expect(queue.pressure(at: deadline) == .none)
    #expect(queue.interest.deadline == nil)
    #expect(queue.interest.events == .write)
  }

  @Test func `what is printed after the last flush does not wait for the next event`() throws {
    let path = TemporaryFolder.shared.file("queue")
    let file = open(path, O_WRONLY | O_CREAT, 0o600)
    defer { close(file) }
    let queue = OutputQueue(descriptor: try #require(OutputDescriptor(file)), limit: 65_536)
    #expect(queue.interest.deadline == nil)
    queue.buffer.append("late\n")
    #expect(queue.interest.deadline == LoopInterest.immediately)
    queue.flush()
    #expect(queue.interest == LoopInterest())
  }
}

struct `What the written bytes say about ids` {
  private func note(_ ids: PrintedIDs, _ id: String, at place: Int) {
    let buffer = ByteBuffer()
    buffer.append(id)
    withExtendedLifetime(buffer) { ids.note(buffer.view, at: place) }
  }

  private func taken(_ ids: PrintedIDs, through written: Int) -> String? {
    ids.take(through: written).map { String(decoding: $0, as: UTF8.self) }
  }

  @Test func `an id counts from the last byte of its line on`() {
    let ids = PrintedIDs(after: "", limit: 1000)
    note(ids, "a", at: 10)
    note(ids, "b", at: 20)
    #expect(taken(ids, through: 9) == nil)
    #expect(taken(ids, through: 19) == "a")
    #expect(taken(ids, through: 19) == nil)
    #expect(taken(ids, through: 20) == "b")
  }

  @Test func `lines without an id of their own add nothing, and an empty id is one`() {
    let ids = PrintedIDs(after: "a", limit: 1000)
    note(ids, "a", at: 10)
    #expect(taken(ids, through: 10) == nil)
    note(ids, "", at: 20)
    note(ids, "a", at: 30)
    #expect(taken(ids, through: 25) == "")
    #expect(taken(ids, through: 30) == "a")
  }

  @Test func `past the limit places move on and never claim what is not written`() {
    let ids = PrintedIDs(after: "", limit: 40)
    for number in 1...1000 { note(ids, "\(number)", at: number * 10) }
    var last = 0
    for written in stride(from: 0, through: 10_000, by: 7) {
      guard let id = taken(ids, through: written).flatMap({ Int($0) }) else { continue }
      #expect(id * 10 <= written)
      last = id
    }
    #expect(taken(ids, through: 10_000) == "1000" || last == 1000)
  }
}

struct `A reader of standard error that stops` {
  @Test func `a stopped reader of errors holds nothing up, and is told what it missed`() throws {
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
  func `a stopped reader of errors keeps no signal from ending the run`(signal: Int32) throws {
    let server = try ScriptedServer.joined { connection in
      for _ in 0..<3000 { try connection.send(event: "flood", data: Flood.data) }
    }
    let pipe = try UnreadPipe()
    defer { withExtendedLifetime(pipe) {} }
    let child = try Spawn.start(
      SpawnRequest(
        executable: PusherCLI.path, arguments: ["subscribe"] + server.address + ["news", "-vv"],
        environment: PusherCLI.environment, errors: pipe.output))
    var status: Int32 = 0
    defer {
      kill(child, SIGKILL)
      waitpid(child, &status, 0)
    }

    try pipe.awaitFull()
    kill(child, signal)
    try waitUntil("it has ended") { waitpid(child, &status, WNOHANG) == child }
    #expect(status & 0x7F == signal)
  }
}
