internal import PusherCore
internal import PusherPlatform

/// Replaces files atomically: a reader finds the old or the new content, never a part.
///
/// The new content is written to another file beside it, which is then renamed. Only a regular file
/// may be replaced: a rename would also replace a device, a pipe or a link.
enum FileReplacement {
  enum Place: Equatable {
    case nothing
    case file
    case link
    /// A device, pipe or socket: bytes are written through it.
    case channel(String)
    case folder
  }

  static func place(_ path: String, followsLinks: Bool = false) -> Result<Place, FileFault> {
    var status = stat()
    let code = followsLinks ? unsafe stat(path, &status) : unsafe lstat(path, &status)
    guard code == 0 else {
      if errno == ENOENT { return .success(.nothing) }
      return .failure(FileFault(reason: "\(SystemError(code: errno))"))
    }
    switch status.st_mode & S_IFMT {
    case S_IFREG: return .success(.file)
    case S_IFLNK: return .success(.link)
    case S_IFDIR: return .success(.folder)
    case S_IFIFO: return .success(.channel("a pipe"))
    case S_IFSOCK: return .success(.channel("a socket"))
    default: return .success(.channel("a device"))
    }
  }

  /// Returns the kind of a writable file; a link to a channel counts as the channel.
  static func writablePlace(_ path: String) -> Result<Place, FileFault> {
    switch place(path) {
    case .success(.folder): return .failure(FileFault(reason: "it is a folder"))
    case .success(.link):
      if case .success(.channel(let kind)) = place(path, followsLinks: true) {
        return .success(.channel(kind))
      }
      return .failure(FileFault(reason: "it is a symbolic link; give the name of the file itself"))
    case let found: return found
    }
  }

  /// Replaces or creates the file at `path`; after a crash `draft` may remain.
  ///
  /// - Parameters:
  ///   - draft: A unique name in the same folder.
  ///   - prepare: Prepares the new file before the rename; returns false, with `errno`, to give up.
  /// - Returns: The new file's descriptor, which the caller must close.
  static func replace(
    _ path: String, by bytes: [UInt8], draft: String, prepare: (Int32) -> Bool
  ) -> Result<Int32, SystemError> {
    let written = write(bytes, draft: draft, prepare)
    guard case .success(let descriptor) = written else { return written }
    guard unsafe rename(draft, path) == 0 else {
      let fault = SystemError(code: errno)
      close(descriptor)
      unsafe unlink(draft)
      return .failure(fault)
    }
    return written
  }

  /// Creates the file at `path` unless the name is taken; other processes see only the whole file.
  ///
  /// `draft` and `prepare` are as for ``replace(_:by:draft:prepare:)``. The error is `EEXIST` if
  /// the name is taken, and one of `link(2)` if the file system has no links.
  static func establish(
    _ path: String, with bytes: [UInt8], draft: String, prepare: (Int32) -> Bool
  ) -> Result<Int32, SystemError> {
    let written = write(bytes, draft: draft, prepare)
    guard case .success(let descriptor) = written else { return written }
    // Unlike a rename, a link does not replace a file that another process just made.
    let fault = unsafe link(draft, path) == 0 ? nil : SystemError(code: errno)
    unsafe unlink(draft)
    guard let fault else { return written }
    close(descriptor)
    return .failure(fault)
  }

  private static func write(
    _ bytes: [UInt8], draft: String, _ prepare: (Int32) -> Bool
  ) -> Result<Int32, SystemError> {
    var descriptor = create(draft)
    if descriptor < 0, errno == EEXIST {
      // Left by a process that was killed at this point.
      unsafe unlink(draft)
      descriptor = create(draft)
    }
    guard descriptor >= 0 else { return .failure(SystemError(code: errno)) }
    guard SystemCalls.writeWhole(bytes, to: descriptor) == nil, prepare(descriptor) else {
      let fault = SystemError(code: errno)
      close(descriptor)
      unsafe unlink(draft)
      return .failure(fault)
    }
    return .success(descriptor)
  }

  static func reasonOfPipe(_ number: Int32) -> String {
    // The system's text for a pipe without a reader is "No such device or address".
    switch number {
    case ENXIO: "it is a pipe that nobody reads"
    case EAGAIN: "it is a pipe whose reader is too slow"
    default: "\(SystemError(code: number))"
    }
  }

  /// Opens or creates a file of lines, private to its owner: it holds data of private channels.
  ///
  /// - Parameter takesChannels: Also opens a pipe or device, without waiting for a reader.
  static func openLines(_ path: String, takesChannels: Bool) -> Result<Int32, FileFault> {
    var flags = O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
    switch writablePlace(path) {
    case .failure(let fault): return .failure(fault)
    // A pipe may have replaced the file by now.
    case .success(.nothing), .success(.file): flags |= O_CREAT | O_NOFOLLOW
    case .success where takesChannels: break
    case .success:
      return .failure(FileFault(reason: "it is not a file; use the shell's > instead"))
    }
    let descriptor = unsafe open(path, flags, 0o600)
    return descriptor < 0
      ? .failure(FileFault(reason: reasonOfPipe(errno))) : .success(descriptor)
  }

  /// Creates a file with mode 0600; returns -1, with `errno`, if the name is taken.
  static func create(_ path: String) -> Int32 {
    unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
  }
}

/// The file of `--port-file`; its existence shows that the server accepts connections.
enum PortFile {
  /// Writes the port; returns the reason for a failure.
  static func write(_ port: UInt16, to path: String) -> String? {
    WrittenFile.write(Array("\(port)\n".utf8), to: path)
  }
}

/// A file that is written once, as a whole.
enum WrittenFile {
  /// Writes the content; returns the reason for a failure.
  ///
  /// A file is replaced atomically for scripts that wait for it. A pipe or device is written, also
  /// through a link such as `/dev/fd/3`. A link to a file is refused.
  static func write(_ bytes: [UInt8], to path: String) -> String? {
    switch FileReplacement.writablePlace(path) {
    case .failure(let fault): return fault.reason
    case .success(.nothing), .success(.file): return replace(path, by: bytes)
    case .success: return send(bytes, through: path)
    }
  }

  private static func replace(_ path: String, by bytes: [UInt8]) -> String? {
    let replaced = FileReplacement.replace(path, by: bytes, draft: "\(path).\(getpid())") { draft in
      // The content is not secret: the umask sets the mode.
      let mask = umask(0)
      umask(mask)
      return fchmod(draft, 0o644 & ~mask) == 0
    }
    switch replaced {
    case .success(let descriptor):
      close(descriptor)
      return nil
    case .failure(let error): return "\(error)"
    }
  }

  private static func send(_ bytes: [UInt8], through path: String) -> String? {
    let descriptor = unsafe open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    guard descriptor >= 0 else { return FileReplacement.reasonOfPipe(errno) }
    defer { close(descriptor) }
    return SystemCalls.writeWhole(bytes, to: descriptor).map {
      FileReplacement.reasonOfPipe($0.code)
    }
  }
}
