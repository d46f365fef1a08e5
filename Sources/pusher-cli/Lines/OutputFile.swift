internal import PusherCore
internal import PusherPlatform

/// The file of `--output-file`, open for adding at its end.
///
/// A file that is made may be read by its owner alone, since it holds the data of private channels.
final class OutputFile {
  let path: String
  let terminator: UInt8
  let descriptor: Int32

  /// Opens the file, or makes it, and ends a line that an earlier run could not write to its end.
  ///
  /// - Parameters:
  ///   - terminator: The byte after each line.
  ///   - warn: Is told of such a line.
  /// - Throws: ``FileFault`` with the reason when it cannot be written, and for pipes and devices, which a shell's `>` is for;
  ///   it is one of the disk when that has no room to end the line.
  init(_ path: String, terminator: UInt8, warn: (String) -> Void) throws(FileFault) {
    (self.path, self.terminator) = (path, terminator)
    switch FileReplacement.writablePlace(path) {
    case .failure(let fault): throw fault
    case .success(.nothing), .success(.file): break
    case .success: throw FileFault(reason: "it is not a file; write > before its name instead")
    }
    // A pipe may have taken the file's place by now, and opening one waits for its reader.
    let flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
    descriptor = unsafe open(path, flags, 0o600)
    guard descriptor >= 0 else {
      throw FileFault(reason: FileReplacement.reasonOfPipe(errno))
    }
    switch TornLine.end(of: descriptor, terminator: terminator) {
    case .whole: return
    case .unknown(let reason):
      warn(
        "'\(path)' cannot be read (\(reason)): an earlier line may be torn, and the next one with it"
      )
    case .torn:
      warn(TornLine.words(for: path))
      if let fault = SystemCalls.writeWhole([terminator], to: descriptor) {
        throw FileFault(reason: "\(fault)", isOfDisk: true)
      }
    }
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }
}
