internal import PusherCore
internal import PusherPlatform

/// The file of `--forward-dead`: the lines of events that were not delivered, added to what stands there.
///
/// Each line is one write at the file's end, so that several runs can share it. A file that is made may be read by its
/// owner alone, since it holds the data of private channels.
final class DeadLetterFile {
  let path: String
  private var descriptor: Int32
  /// Whether the file may end in the middle of a line.
  private var mayBeTorn = true
  private var isSynchronized = true

  /// Opens the file, or makes it; a pipe or device is written to.
  ///
  /// - Parameter warn: Is told of a line that an earlier run could not write to its end; it is ended now.
  /// - Throws: ``UsageError`` with the reason when it cannot be written, for a pipe that nobody reads, and for a link to a
  ///   file.
  init(_ path: String, warn: (String) -> Void) throws(UsageError) {
    self.path = path
    descriptor = -1
    if let reason = begin() {
      throw UsageError("--forward-dead: cannot write '\(path)': \(reason)")
    }
    if TornLine.end(of: descriptor, terminator: Self.newline) == .torn {
      warn(TornLine.words(for: path))
      _ = SystemCalls.writeWhole([Self.newline], to: descriptor)
    }
  }

  private static let newline = UInt8(ascii: "\n")

  /// Answers in words why it could not.
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

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Adds one line, its newline included; answers why it could not.
  func add(_ line: [UInt8]) -> String? {
    let isTorn = mayBeTorn && TornLine.end(of: descriptor, terminator: Self.newline) == .torn
    let fault = SystemCalls.writeWhole(isTorn ? [Self.newline] + line : line, to: descriptor)
    mayBeTorn = fault != nil
    isSynchronized = false
    return fault.map { "cannot write '\(path)': \(FileReplacement.reasonOfPipe($0.code))" }
  }

  /// Makes what was added outlive a power cut.
  func synchronize() {
    guard !isSynchronized else { return }
    isSynchronized = true
    fsync(descriptor)
  }
}
