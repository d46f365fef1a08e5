internal import PusherCore
internal import PusherPlatform

/// The file of `--output-file`, private to its owner since it holds data of private channels.
final class OutputFile {
  let path: String
  let terminator: UInt8
  let descriptor: Int32

  /// Opens or creates the file; ends a line that an earlier run left incomplete, and warns.
  ///
  /// - Parameter terminator: Byte after each line.
  /// - Throws: ``FileFault`` for a path that cannot be written, and for pipes and devices, for
  ///   which the shell has `>`. `isOfDisk` is set if the disk has no room to end the line.
  init(_ path: String, terminator: UInt8, warn: (String) -> Void) throws(FileFault) {
    (self.path, self.terminator) = (path, terminator)
    switch FileReplacement.writablePlace(path) {
    case .failure(let fault): throw fault
    case .success(.nothing), .success(.file): break
    case .success: throw FileFault(reason: "it is not a file; use the shell's > instead")
    }
    // A pipe may have replaced the file by now, and its open would wait for a reader.
    let flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
    descriptor = unsafe open(path, flags, 0o600)
    guard descriptor >= 0 else { throw FileFault(reason: FileReplacement.reasonOfPipe(errno)) }
    switch IncompleteLine.end(of: descriptor, terminator: terminator) {
    case .whole: return
    case .unknown(let reason):
      warn(
        "cannot read '\(path)' (\(reason)): if its last line is incomplete, the next line joins it")
    case .torn:
      warn(IncompleteLine.words(for: path))
      if let fault = SystemCalls.writeWhole([terminator], to: descriptor) {
        throw FileFault(reason: "\(fault)", isOfDisk: true)
      }
    }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }
}
