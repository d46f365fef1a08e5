internal import PusherCore

#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// The file of `--trace`: every protocol message with its time, signatures left out.
///
/// A line is `TIME < MESSAGE` for what came and `TIME > MESSAGE` for what went out, written at once. Only its owner
/// may read the file, since it holds the data of private channels.
final class TraceFile: @unchecked Sendable {
  // Sendable because it is used by the loop's thread alone; the voice that holds it must be passed on freely.
  private let path: String
  private var descriptor: Int32

  /// Creates the file, or empties it and takes away what others may do with it.
  ///
  /// - Throws: ``UsageError`` with the reason when it cannot be written, also for a pipe that nobody reads.
  init(_ path: String) throws(UsageError) {
    self.path = path
    // Opening a pipe would wait for its reader, with every signal unheard.
    let flags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NONBLOCK
    descriptor = unsafe open(path, flags, 0o600)
    guard descriptor >= 0 else {
      throw UsageError("--trace: cannot write '\(path)': \(Self.reason)")
    }
    var status = stat()
    if unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG {
      fchmod(descriptor, 0o600)
    }
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Adds one line; answers what to tell the user when the file can hold no more, once.
  func add(_ text: String) -> String? {
    guard descriptor >= 0 else { return nil }
    let line = Array("\(SystemClock.wall().rfc3339) \(Diagnostics.escaped(text))\n".utf8)
    var rest = line[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        let reason = Self.reason
        close(descriptor)
        descriptor = -1
        return "the trace ends here: cannot write '\(path)': \(reason)"
      }
    }
    return nil
  }

  private static var reason: String {
    // ENXIO, "no such device or address", is what a pipe without a reader gives.
    if errno == ENXIO { return "it is a pipe that nobody reads" }
    if errno == EAGAIN { return "it is a pipe whose reader is too slow" }
    return unsafe String(cString: strerror(errno)).lowercased()
  }
}
