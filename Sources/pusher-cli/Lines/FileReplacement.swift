internal import PusherCore
internal import PusherPlatform

/// Replaces files as a whole: a reader finds the old bytes or the new ones, never a part.
///
/// The new bytes are written beside it under another name, which is then the file's. So only a regular file may stand
/// there: a device, a pipe or a link of that name would itself be replaced.
enum FileReplacement {
  /// The kind of file at a path; a symbolic link is not followed.
  enum Place: Equatable {
    case nothing
    case file
    case link
    /// Something that bytes are written through: a device, a pipe, a socket.
    case channel(String)
    case folder
  }

  /// What stands at `path`, followed through symbolic links when `followsLinks`; the reason in words when nobody can say.
  static func place(_ path: String, followsLinks: Bool = false) -> Result<Place, FileFault> {
    var status = stat()
    let code =
      followsLinks ? unsafe stat(path, &status) : unsafe lstat(path, &status)
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

  /// What stands at `path` when bytes may be written there, a link to a channel counting as that; else why not, in words.
  static func writablePlace(_ path: String) -> Result<Place, FileFault> {
    switch place(path) {
    case .success(.folder): return .failure(FileFault(reason: "it is a folder"))
    case .success(.link):
      if case .success(.channel(let kind)) = place(path, followsLinks: true) {
        return .success(.channel(kind))
      }
      return .failure(
        FileFault(reason: "it is a symbolic link; give the name of the file itself"))
    case let found: return found
    }
  }

  /// Puts `bytes` in the place of the file at `path`, or makes it; a crash may leave the file `draft`.
  ///
  /// - Parameters:
  ///   - draft: A name beside it that nobody else uses.
  ///   - prepare: What else is to happen to the new file before it takes its place; false, with `errno`, gives up.
  /// - Returns: The new file's descriptor, which the caller closes; or the system's error.
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

  /// Makes the file at `path` with `bytes` in it, unless anything has that name: nobody sees it before it is whole.
  ///
  /// - Parameters:
  ///   - draft: A name beside it that nobody else uses.
  ///   - prepare: What else is to happen to the new file before it has its name; false, with `errno`, gives up.
  /// - Returns: The new file's descriptor, which the caller closes; or the system's error, which is `EEXIST` where the name is
  ///   taken, and one of `link(2)` where the file system has no links.
  static func establish(
    _ path: String, with bytes: [UInt8], draft: String, prepare: (Int32) -> Bool
  ) -> Result<Int32, SystemError> {
    let written = write(bytes, draft: draft, prepare)
    guard case .success(let descriptor) = written else { return written }
    // Unlike a rename, a link replaces nothing that was made in the meantime.
    let fault = unsafe link(draft, path) == 0 ? nil : SystemError(code: errno)
    unsafe unlink(draft)
    guard let fault else { return written }
    close(descriptor)
    return .failure(fault)
  }

  /// A new file with these bytes; nothing is left of it where that fails.
  private static func write(
    _ bytes: [UInt8], draft: String, _ prepare: (Int32) -> Bool
  ) -> Result<Int32, SystemError> {
    var descriptor = create(draft)
    if descriptor < 0, errno == EEXIST {
      // Left by a process that was killed here.
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

  /// Why something that may be a pipe cannot be written to.
  static func reasonOfPipe(_ number: Int32) -> String {
    // "No such device or address" is what a pipe without a reader gives.
    switch number {
    case ENXIO: "it is a pipe that nobody reads"
    case EAGAIN: "it is a pipe whose reader is too slow"
    default: "\(SystemError(code: number))"
    }
  }

  /// A new file that only its owner may read; -1, with `errno`, when anything has that name.
  static func create(_ path: String) -> Int32 {
    unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
  }
}

/// The file that tells a script which port a server has taken, and by being there that it takes connections.
enum PortFile {
  /// Writes the port; answers in words why it could not, or nil.
  ///
  /// A file is replaced as a whole, so that a script that waits for it finds it whole. A pipe or device is written to, also
  /// through a link such as `/dev/fd/3`; a link to a file is refused, since the file it leads to is not the caller's word.
  static func write(_ port: UInt16, to path: String) -> String? {
    let bytes = Array("\(port)\n".utf8)
    switch FileReplacement.writablePlace(path) {
    case .failure(let fault): return fault.reason
    case .success(.nothing), .success(.file): return replace(path, by: bytes)
    case .success: return send(bytes, through: path)
    }
  }

  private static func replace(_ path: String, by bytes: [UInt8]) -> String? {
    let replaced = FileReplacement.replace(path, by: bytes, draft: "\(path).\(getpid())") { draft in
      // Not a secret: the umask decides who may read it.
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
