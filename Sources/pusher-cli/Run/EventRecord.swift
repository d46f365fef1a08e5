internal import PusherCore

/// The file of `--record`: every event as a JSON line with its time, printed or not.
///
/// Appends with one write per burst. Only the owner can read the file.
final class EventRecord {
  private let path: String
  private let diagnostics: Diagnostics
  private let output: OutputQueue
  var onFailure: ((ExitStatus) -> Void)?

  /// - Throws: ``UsageError`` if the file cannot be written.
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

  var buffer: ByteBuffer { output.buffer }
  var hasFailed: Bool { output.hasFailed }
  func flush() { output.flush() }
  func reopen() { output.reopen(path, diagnostics) }
}
