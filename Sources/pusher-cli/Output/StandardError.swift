#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// Descriptor 2, written so that a reader that has stopped reading cannot stop the program.
///
/// A message waits a moment for room. When none comes it is left out, and so is what follows until there is room
/// again; then the next message is preceded by how many were left out. A line is one `write(2)` up to the size that a
/// pipe takes whole.
final class StandardError: @unchecked Sendable {
  // Sendable because it is used by the main thread alone; the voices that hold it must be passed on freely.

  /// The process's own.
  static let shared = StandardError(2)

  private let descriptor: Int32
  private var isStalled = false
  /// Whether the last line was cut, so that the next must begin anew.
  private var isCut = false
  private var leftOut = 0

  /// How long a message waits, in milliseconds.
  private static let patience: Int32 = 200
  /// The largest write to a pipe that does not wait once `poll` calls it writable.
  private static let pieceSize = 4096

  init(_ descriptor: Int32) {
    self.descriptor = descriptor
  }

  /// Writes a whole line, or counts it among those that were left out.
  ///
  /// A failure ends the attempt: there is nobody left to tell.
  func write(_ line: [UInt8]) {
    guard hasRoom else {
      leftOut += 1
      return
    }
    var bytes = isCut ? [UInt8(ascii: "\n")] : []
    isCut = false
    if leftOut > 0 {
      bytes += "pusher-cli: warning: \(leftOut) messages were left out: nobody read them\n".utf8
      leftOut = 0
    }
    bytes += line
    var rest = bytes[...]
    while !rest.isEmpty {
      guard hasRoom else {
        isCut = true
        leftOut += 1
        return
      }
      let count = unsafe rest.prefix(Self.pieceSize).withUnsafeBytes {
        unsafe SystemCalls.write(descriptor, $0.baseAddress, $0.count)
      }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR && errno != EAGAIN {
        return
      }
    }
  }

  /// Whether a piece can be written now; waits for that, but not again while the reader stalls.
  private var hasRoom: Bool {
    var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    let count = unsafe poll(&waiting, 1, isStalled ? 0 : Self.patience)
    // After a signal the message counts as late: the end must not wait for a reader.
    isStalled = count <= 0
    return !isStalled
  }
}
