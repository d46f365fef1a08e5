import Foundation
import TestSupport

/// The reading end of a pipe, and its output so far.
final class PipeReader {
  let descriptor: Int32
  private(set) var hasEnded = false
  private var bytes: [UInt8] = []
  private var start = 0
  /// Position up to which there is no line end.
  private var scanned = 0

  init(_ descriptor: Int32) {
    self.descriptor = descriptor
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
  }

  deinit { close(descriptor) }

  func fill() {
    var count = 0
    let piece = [UInt8](unsafeUninitializedCapacity: 262_144) { space, size in
      count = read(descriptor, space.baseAddress, space.count)
      size = max(0, count)
    }
    if count > 0 {
      if start > 1 << 20 {
        bytes.removeFirst(start)
        scanned -= start
        start = 0
      }
      bytes += piece
    } else if count == 0 || errno != EAGAIN && errno != EINTR {
      hasEnded = true
    }
  }

  /// Returns the next line without its end, or `nil` without a whole line.
  func takeLine(endedBy terminator: UInt8) -> [UInt8]? {
    let end = bytes.withUnsafeBytes { all -> Int? in
      guard let first = all.baseAddress, scanned < all.count,
        let found = memchr(first + scanned, Int32(terminator), all.count - scanned)
      else { return nil }
      return UnsafeRawPointer(found) - first
    }
    guard let end else {
      scanned = bytes.count
      return nil
    }
    defer {
      start = end + 1
      scanned = start
    }
    return Array(bytes[start..<end])
  }

  var unread: ArraySlice<UInt8> { bytes[start...] }

  func takeAll() -> [UInt8] {
    defer {
      bytes = []
      start = 0
      scanned = 0
    }
    return Array(unread)
  }
}

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

/// A server's pipe whose hang-up ends the threads of the server.
///
/// A user who is not root has memory for about a thousand pipes, open on one end too. So the last
/// thread closes the reading end.
struct StopPipe: Sendable {
  /// The reading end; the threads keep it.
  final class Reader: Sendable {
    let descriptor: Int32

    fileprivate init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// True after ``StopPipe/end()``.
    var hasEnded: Bool { Socket.wait(for: POLLIN, on: descriptor, milliseconds: 0) }
  }

  let reader: Reader
  private let writing: Int32

  init() throws {
    let ends = try Spawn.pipe()
    (reader, writing) = (Reader(ends.reading), ends.writing)
  }

  func end() { close(writing) }
}

/// `write` to a pipe whose reader may be gone: returns -1 then, and no SIGPIPE ends the tests.
///
/// Ignoring the signal in the whole process would hand the setting down to child processes.
func quietWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
  var pipeSignal = sigset_t()
  var before = sigset_t()
  sigemptyset(&pipeSignal)
  sigaddset(&pipeSignal, SIGPIPE)
  pthread_sigmask(SIG_BLOCK, &pipeSignal, &before)
  defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
  let count = write(descriptor, bytes.baseAddress, bytes.count)
  if count < 0, errno == EPIPE {
    var taken: Int32 = 0
    sigwait(&pipeSignal, &taken)
  }
  return count
}
