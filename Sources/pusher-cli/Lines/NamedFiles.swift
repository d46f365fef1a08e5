internal import PusherCore
internal import PusherPlatform

/// The files of `--output-file` with `%c` or `%e`: each line goes to the file of its name.
///
/// A peer chooses names, so their number is limited; lines of further names share a file.
final class NamedFiles {
  private let pattern: FilePattern
  private let terminator: UInt8
  /// Files are synced before they are closed, for `--sync`.
  private let isSynchronized: Bool
  private let warn: (String) -> Void
  /// The open files, the last used one at the end.
  private var open: [OutputFile] = []
  private var paths = NameSet()
  /// The waiting output, in order: the file of each part, and its size in bytes.
  private var parts = Fifo<(path: String, size: Int)>()
  private var waiting = 0

  /// - Throws: ``FileFault`` without a folder that can be written to.
  init(
    _ pattern: FilePattern, terminator: UInt8, isSynchronized: Bool,
    warn: @escaping (String) -> Void
  ) throws(FileFault) {
    (self.pattern, self.terminator, self.warn) = (pattern, terminator, warn)
    self.isSynchronized = isSynchronized
    guard unsafe access(pattern.folder + ".", W_OK | X_OK) == 0 else {
      let reason = "\(SystemError(code: errno))"
      throw FileFault(reason: "folder '\(pattern.folder)': \(reason); make it first")
    }
  }

  /// Assigns the output after the assigned part to the file of an event; the output has `size`.
  func assign(channel: String?, event: String, size: Int) {
    guard size > waiting else { return }
    var path = pattern.path(of: pattern.isOfChannel ? channel : event)
    if !paths.contains(path), paths.count >= pattern.fileLimit { path = pattern.shared }
    if paths.insert(path), path.isSame(as: pattern.shared) {
      warn(
        "--output-file: \(pattern.fileLimit) different files; events of further names go to "
          + "'\(path)' (--max-files raises the limit)")
    }
    parts.append((path, size - waiting))
    waiting = size
  }

  /// Writes the first part of the waiting output to its file.
  func write(_ bytes: UnsafeRawBufferPointer) -> OutputDescriptor.Outcome {
    let part = parts.popFirst() ?? (pattern.path(of: nil), bytes.count)
    let outcome: OutputDescriptor.Outcome
    do throws(FileFault) {
      let slice = unsafe UnsafeRawBufferPointer(rebasing: bytes.prefix(part.size))
      outcome = unsafe OutputDescriptor(try file(part.path)).write(slice)
    } catch {
      return .unopened(FileFault(reason: "'\(part.path)': \(error.reason)"))
    }
    guard case .written(let count) = outcome else { return outcome }
    waiting = max(waiting - count, 0)
    if count < part.size { parts.prepend((part.path, part.size - count)) }
    return outcome
  }

  /// Returns the open file of a path; above the limit, closes the file that was used longest ago.
  private func file(_ path: String) throws(FileFault) -> OutputFile {
    let place = open.indices.last { open[$0].path.isSame(as: path) }
    let found = place.map { open.remove(at: $0) }
    if found == nil, open.count >= pattern.openLimit {
      let oldest = open.removeFirst()
      if isSynchronized, let fault = OutputDescriptor(oldest).synchronize() {
        throw FileFault(reason: "\(fault)", isOfDisk: true)
      }
    }
    let file: OutputFile
    if let found {
      file = found
    } else {
      file = try OutputFile(path, terminator: terminator, warn: warn)
    }
    open.append(file)
    return file
  }

  /// Closes all files; the next line of each opens it again.
  func close() { open.removeAll() }

  func synchronize() -> SystemError? {
    open.lazy.compactMap { OutputDescriptor($0).synchronize() }.first
  }
}
