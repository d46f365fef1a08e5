import Foundation
import PusherCore
import Testing

@testable import pusher_cli

@Suite struct `The queue to standard output` {
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

  @Test func `what is printed to a file after the last flush does not wait for the next event`()
    throws
  {
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
