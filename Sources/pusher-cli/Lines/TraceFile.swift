internal import PusherCore
internal import PusherPlatform

/// The file of `--trace`: each protocol message with its time, without signatures.
///
/// A line is `TIME < MESSAGE` for received and `TIME > MESSAGE` for sent messages, written at once.
/// Only the owner may read the file, since it holds data of private channels.
final class TraceFile: @unchecked Sendable {
  // Sendable: only the loop's thread uses it, but ``Diagnostics`` holds it and must be Sendable.
  private let path: String
  private var descriptor: Int32

  /// Creates or empties the file and restricts it to its owner; also accepts a pipe or device.
  ///
  /// - Throws: ``UsageError`` for a path that cannot be written, also a pipe without a reader.
  init(_ path: String) throws(UsageError) {
    self.path = path
    descriptor = -1
    if let reason = begin() { throw UsageError("--trace: cannot write '\(path)': \(reason)") }
  }

  private func begin() -> String? {
    switch FileReplacement.writablePlace(path) {
    case .failure(let fault): return fault.reason
    case .success(.nothing): descriptor = FileReplacement.create(path)
    case .success(.file): descriptor = Self.emptied(path)
    case .success:
      // A blocking open of a pipe would wait for its reader, and ignore signals.
      descriptor = unsafe open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    }
    return descriptor < 0 ? FileReplacement.reasonOfPipe(errno) : nil
  }

  /// Restricts an existing file to its owner and empties it; returns -1, with `errno`, on failure.
  private static func emptied(_ path: String) -> Int32 {
    let flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    let descriptor = unsafe open(path, flags)
    guard descriptor >= 0 else { return -1 }
    if fchmod(descriptor, 0o600) == 0, ftruncate(descriptor, 0) == 0 { return descriptor }
    let number = errno
    close(descriptor)
    errno = number
    return -1
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Appends a line; returns a warning, once, if the file cannot be written.
  func add(_ text: String) -> String? {
    guard descriptor >= 0 else { return nil }
    let line = Array("\(SystemClock.wall().rfc3339) \(Diagnostics.escaped(text))\n".utf8)
    guard let fault = SystemCalls.writeWhole(line, to: descriptor) else { return nil }
    let reason = FileReplacement.reasonOfPipe(fault.code)
    close(descriptor)
    descriptor = -1
    return "the trace ends here: cannot write '\(path)': \(reason)"
  }
}
