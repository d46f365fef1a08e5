import Foundation

/// A FIFO of the test's own.
struct NamedPipe {
  let path: String

  /// - Parameter path: Where it is made; what stands there goes.
  init(at path: String = TemporaryFolder.shared.file("pipe")) throws {
    self.path = path
    unlink(path)
    guard mkfifo(path, 0o600) == 0 else { throw Unexpected("cannot make a pipe at \(path)") }
  }

  /// Writes to whoever has it open for reading; waits until somebody has.
  func write(_ text: String) throws {
    var descriptor: Int32 = -1
    try waitUntil("somebody reads \(path)") {
      descriptor = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
      return descriptor >= 0
    }
    defer { close(descriptor) }
    let bytes = Array(text.utf8)
    guard Foundation.write(descriptor, bytes, bytes.count) == bytes.count else {
      throw Unexpected("the pipe takes nothing")
    }
  }
}
