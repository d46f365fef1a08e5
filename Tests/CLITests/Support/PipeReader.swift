import Foundation

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

  deinit {
    close(descriptor)
  }

  func fill() {
    var piece = [UInt8](repeating: 0, count: 262_144)
    let count = read(descriptor, &piece, piece.count)
    if count > 0 {
      if start > 1 << 20 {
        bytes.removeFirst(start)
        scanned -= start
        start = 0
      }
      bytes.append(contentsOf: piece[..<count])
    } else if count == 0 || errno != EAGAIN && errno != EINTR {
      hasEnded = true
    }
  }

  /// Returns the next line without its end, or `nil` without a whole line.
  func takeLine(endedBy terminator: UInt8) -> [UInt8]? {
    guard let end = bytes[scanned...].firstIndex(of: terminator) else {
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
