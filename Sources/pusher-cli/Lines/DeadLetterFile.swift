internal import PusherCore
internal import PusherPlatform

/// The file of `--forward-dead`: receives the JSON lines of events that were not delivered.
///
/// Each line is appended with one write, so that several runs can share the file. A new file is
/// readable by its owner only, since it holds data of private channels.
final class DeadLetterFile {
  let path: String
  private var descriptor: Int32
  private var mayBeTorn = true
  private var isSynchronized = true

  /// Opens or creates the file; also accepts a pipe or device.
  ///
  /// A line that an earlier run left incomplete is ended, and `warn` reports it.
  ///
  /// - Throws: ``UsageError`` for a path that cannot be written, also a pipe without a reader.
  init(_ path: String, warn: (String) -> Void) throws(UsageError) {
    self.path = path
    descriptor = -1
    if let reason = begin() {
      throw UsageError("--forward-dead: cannot write '\(path)': \(reason)")
    }
    if IncompleteLine.end(of: descriptor, terminator: Self.newline) == .torn {
      warn(IncompleteLine.words(for: path))
      _ = SystemCalls.writeWhole([Self.newline], to: descriptor)
    }
  }

  private static let newline = UInt8(ascii: "\n")

  private func begin() -> String? {
    let flags = O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
    switch FileReplacement.writablePlace(path) {
    case .failure(let fault): return fault.reason
    case .success(.nothing), .success(.file):
      descriptor = unsafe open(path, flags | O_CREAT | O_NOFOLLOW, 0o600)
    case .success: descriptor = unsafe open(path, flags)
    }
    return descriptor < 0 ? FileReplacement.reasonOfPipe(errno) : nil
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Appends one line, which includes its newline; returns the reason for a failure.
  func add(_ line: [UInt8]) -> String? {
    let isTorn = mayBeTorn && IncompleteLine.end(of: descriptor, terminator: Self.newline) == .torn
    let fault = SystemCalls.writeWhole(isTorn ? [Self.newline] + line : line, to: descriptor)
    mayBeTorn = fault != nil
    isSynchronized = false
    return fault.map { "cannot write '\(path)': \(FileReplacement.reasonOfPipe($0.code))" }
  }

  func synchronize() {
    guard !isSynchronized else { return }
    isSynchronized = true
    fsync(descriptor)
  }
}
