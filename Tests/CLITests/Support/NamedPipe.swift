import Foundation

struct NamedPipe {
  let path: String

  /// - Parameter path: Path of the FIFO; an existing file is replaced, and never absent meanwhile.
  init(at path: String = TemporaryFolder.shared.file("pipe")) throws {
    self.path = path
    let new = path + ".new"
    guard mkfifo(new, 0o600) == 0, rename(new, path) == 0 else {
      throw Unexpected("cannot make a pipe at \(path)")
    }
  }

  /// Waits for a reader and writes to it.
  func write(_ text: String) throws {
    var descriptor: Int32 = -1
    try waitUntil("somebody reads \(path)") {
      descriptor = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
      return descriptor >= 0
    }
    defer { close(descriptor) }
    let bytes = Array(text.utf8)
    guard bytes.withUnsafeBytes({ quietWrite(descriptor, $0) }) == bytes.count else {
      throw Unexpected("the pipe takes nothing")
    }
  }
}
