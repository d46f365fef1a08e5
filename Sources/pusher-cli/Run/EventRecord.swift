internal import PusherCore

/// The file of `--record`: every event as a JSON line with its time, printed or not.
///
/// Lines are appended, one write for each burst. The file is private to its owner.
final class EventRecord {
  private let path: String
  private let diagnostics: Diagnostics
  private let output: OutputQueue
  /// Called once, when a write fails.
  var onFailure: ((ExitStatus) -> Void)?

  /// Opens the file, or makes it.
  ///
  /// - Throws: ``UsageError`` with the reason when it cannot be written.
  init(_ path: String, loop: EventLoop, diagnostics: Diagnostics) throws(UsageError) {
    (self.path, self.diagnostics) = (path, diagnostics)
    do throws(FileFault) {
      let file = try OutputFile(path, terminator: UInt8(ascii: "\n")) {
        diagnostics.warning("--record: \($0)")
      }
      output = OutputQueue(descriptor: OutputDescriptor(file), limit: OutputQueue.softLimit)
    } catch {
      throw UsageError("--record: cannot write '\(path)': \(error.reason)")
    }
    output.onFailure = { [weak self] failure in
      guard let self else { return }
      onFailure?(diagnostics.cannotPrint(failure.reason, to: path))
    }
    loop.add(output)
  }

  /// Lines that are not yet written.
  var buffer: ByteBuffer { output.buffer }

  /// Whether a write failed and lines are lost.
  var hasFailed: Bool { output.hasFailed }

  /// Writes all lines.
  func flush() {
    output.flush()
  }

  /// Opens the file again.
  func reopen() {
    output.reopen(path, diagnostics)
  }
}
