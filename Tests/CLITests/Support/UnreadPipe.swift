import Foundation

/// A pipe for a program's standard output that nobody reads.
///
/// The test has both ends, because only root may open those of a program that hides its memory.
final class UnreadPipe {
  private let ends: (reading: Int32, writing: Int32)

  init() throws { ends = try Spawn.pipe() }

  deinit {
    close(ends.reading)
    close(ends.writing)
  }

  var output: ChildProgram.Output { .inherited(ends.writing) }

  /// Waits until the pipe takes nothing more.
  func awaitFull() throws {
    try waitUntil("the pipe is full") { Spawn.isFull(ends.writing) }
  }
}
