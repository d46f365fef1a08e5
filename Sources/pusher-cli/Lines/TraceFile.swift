internal import PusherCore
internal import PusherPlatform

/// The file of `--trace`: every protocol message with its time, signatures left out.
///
/// A line is `TIME < MESSAGE` for what came and `TIME > MESSAGE` for what went out, written at once. Only its owner
/// may read the file, since it holds the data of private channels.
final class TraceFile: @unchecked Sendable {
  // Sendable because it is used by the loop's thread alone; the voice that holds it must be passed on freely.
  private let path: String
  private var descriptor: Int32

  /// Creates the file, or empties it and restricts it to its owner; a pipe or device is written to.
  ///
  /// - Throws: ``UsageError`` with the reason when it cannot be written, for a pipe that nobody reads, and for a link to a
  ///   file.
  init(_ path: String) throws(UsageError) {
    self.path = path
    descriptor = -1
    if let reason = begin() { throw UsageError("--trace: cannot write '\(path)': \(reason)") }
  }

  /// Answers in words why it could not.
  private func begin() -> String? {
    switch FileReplacement.writablePlace(path) {
    case .failure(let fault): return fault.reason
    case .success(.nothing): descriptor = FileReplacement.create(path)
    case .success(.file): descriptor = Self.emptied(path)
    case .success:
      // Opening a pipe would wait for its reader, with every signal unheard.
      descriptor = unsafe open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    }
    return descriptor < 0 ? FileReplacement.reasonOfPipe(errno) : nil
  }

  /// An existing file, restricted to its owner before anything is written; -1, with `errno`, on failure.
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

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Adds one line; answers what to tell the user when the file can hold no more, once.
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
