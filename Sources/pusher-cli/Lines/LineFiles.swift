internal import PusherCore
internal import PusherPlatform

/// The file of `--forward-dead`: receives the JSON lines of events that were not delivered.
///
/// Each line is appended with one write, so that several runs can share the file. A new file is
/// readable by its owner only, since it holds data of private channels.
final class DeadLetterFile {
  let path: String
  private let descriptor: Int32
  private var mayBeTorn = true
  private var isSynchronized = true

  /// Opens or creates the file; also accepts a pipe or device.
  ///
  /// A line that an earlier run left incomplete is ended, and `warn` reports it.
  ///
  /// - Throws: ``UsageError`` for a path that cannot be written, also a pipe without a reader.
  init(_ path: String, warn: (String) -> Void) throws(UsageError) {
    self.path = path
    do throws(FileFault) {
      descriptor = try FileReplacement.openLines(path, takesChannels: true).get()
    } catch { throw UsageError("--forward-dead: cannot write '\(path)': \(error.reason)") }
    if IncompleteLine.end(of: descriptor, terminator: Self.newline) == .torn {
      warn(IncompleteLine.words(for: path))
      _ = SystemCalls.writeWhole([Self.newline], to: descriptor)
    }
  }

  private static let newline = UInt8(ascii: "\n")

  deinit { close(descriptor) }

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
    do throws(FileFault) {
      descriptor = try FileReplacement.openLines(path, takesChannels: true).get()
    } catch { throw UsageError("--trace: cannot write '\(path)': \(error.reason)") }
    guard FileReplacement.place(path, followsLinks: true) == .success(.file),
      fchmod(descriptor, 0o600) != 0 || ftruncate(descriptor, 0) != 0
    else { return }
    throw UsageError("--trace: cannot write '\(path)': \(SystemError(code: errno))")
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
