internal import PusherCore
internal import PusherPlatform

/// File operations of settings, which tests replace.
struct FileAccess: Sendable {
  /// Opens a file of at most `limit` bytes once, and reads it; `-` is standard input.
  var read: @Sendable (_ path: String, _ limit: Int) -> Result<FileContent, FileFault>
  /// Returns the permission bits of a regular file; `nil` for anything else.
  var permissions: @Sendable (_ path: String) -> UInt32?
  /// Returns true if the content is that of the start, since the file cannot be read twice.
  var isKept: @Sendable (_ path: String) -> Bool = { _ in false }
  var isOpen: @Sendable (_ descriptor: Int32) -> Bool = { _ in false }
  var listeningSocket: @Sendable (_ descriptor: Int32) -> Result<HandedSocket, HandedSocket.Fault> =
    { _ in .failure(.notOpen) }
  var processID: @Sendable () -> Int32 = { 0 }

  /// Returns the content of a file without secrets.
  func contents(_ path: String, _ limit: Int) -> Result<[UInt8], FileFault> {
    read(path, limit).map(\.bytes)
  }

  /// Real files at the start of the program: waits for pipes.
  static let system = starting { _ in }

  /// Real files at the start; `tell` gets the path of a pipe that stays silent.
  static func starting(tell: @escaping @Sendable (_ path: String) -> Void) -> FileAccess {
    real { path, limit in
      FileContent.of(path, limit: limit) { tell(path) }
    }
  }

  /// Real files during the run, without waiting; `kept` has those that can be read only once.
  static func running(kept: [String: [UInt8]] = [:]) -> FileAccess {
    var files = real { path, limit in
      kept[path].map { .success(FileContent(bytes: $0)) }
        ?? FileContent.of(path, limit: limit)
    }
    files.isKept = { kept[$0] != nil }
    return files
  }

  private static func real(
    _ read: @escaping @Sendable (_ path: String, _ limit: Int) -> Result<FileContent, FileFault>
  ) -> FileAccess {
    FileAccess(
      read: read, permissions: regularPermissions, isOpen: { fcntl($0, F_GETFD) >= 0 },
      listeningSocket: { descriptor in
        Result { () throws(HandedSocket.Fault) in try HandedSocket(descriptor: descriptor) }
      }, processID: { getpid() })
  }

  private static func regularPermissions(_ path: String) -> UInt32? {
    var status = stat()
    guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    return UInt32(status.st_mode & 0o777)
  }
}

struct FileContent: Equatable, Sendable {
  var bytes: [UInt8]
  /// `nil` for standard input, a pipe or a device, which other users cannot open by a name.
  var holders: FileHolders?

  /// Silence of a pipe before the notice, in milliseconds.
  private static let patience: Int32 = 1_000
  private static let chunkSize = 16_384

  fileprivate static func of(
    _ path: String, limit: Int, whenWaiting: (() -> Void)? = nil
  ) -> Result<FileContent, FileFault> {
    if path == "-" {
      return bytes(ofDescriptor: 0, limit: limit, whenWaiting: whenWaiting).map {
        FileContent(bytes: $0)
      }
    }
    // A blocking open of a pipe waits for its writer.
    let flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
    let descriptor = unsafe open(path, flags)
    guard descriptor >= 0 else {
      // The system's text for a socket is "No such device or address".
      let reason = errno == ENXIO ? "it is a socket" : "\(SystemError(code: errno))"
      return .failure(FileFault(reason: reason))
    }
    defer { close(descriptor) }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { return .failure(currentFault()) }
    let holders =
      status.st_mode & S_IFMT == S_IFREG
      ? FileHolders(status, of: descriptor, path: path) : nil
    return bytes(ofDescriptor: descriptor, limit: limit, whenWaiting: whenWaiting).map {
      FileContent(bytes: $0, holders: holders)
    }
  }

  /// Reads a whole file.
  ///
  /// The size of a regular file is checked first. A pipe, terminal or device is read only at the
  /// start of the program, when the caller can wait. A signal then ends the wait.
  ///
  /// - Parameter whenWaiting: Called once if a pipe is silent; `nil` refuses all but regular files.
  static func bytes(
    ofDescriptor descriptor: Int32, limit: Int, whenWaiting: (() -> Void)? = nil
  ) -> Result<[UInt8], FileFault> {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { return .failure(currentFault()) }
    switch status.st_mode & S_IFMT {
    case S_IFREG:
      guard status.st_size <= off_t(limit) else { return .failure(tooLarge(limit)) }
      return readAll(descriptor, limit: limit) {}
    case S_IFDIR: return .failure(FileFault(reason: "\(SystemError(code: EISDIR))"))
    case let kind:
      guard let whenWaiting else {
        return .failure(FileFault(reason: "it is \(name(kind)), not a file", isOtherKind: true))
      }
      // No notice for a user at a terminal, nor for standard input, which the caller provides.
      var mayTell = descriptor != 0 && kind == S_IFIFO
      return readAll(descriptor, limit: limit) {
        if mayTell, !isReady(descriptor, milliseconds: patience) { whenWaiting() }
        mayTell = false
        _ = isReady(descriptor, milliseconds: -1)
      }
    }
  }

  private static func readAll(
    _ descriptor: Int32, limit: Int, beforeEach wait: () -> Void
  ) -> Result<[UInt8], FileFault> {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: chunkSize)
    while bytes.count <= limit {
      wait()
      let count = unsafe chunk.withUnsafeMutableBytes { free in
        unsafe read(descriptor, free.baseAddress, free.count)
      }
      if count == 0 { return .success(bytes) }
      if count < 0 {
        guard errno == EINTR || errno == EAGAIN else { return .failure(currentFault()) }
      } else {
        bytes.append(contentsOf: chunk[..<count])
      }
    }
    return .failure(tooLarge(limit))
  }

  /// Waits for bytes, the end or an error; -1 means no limit.
  ///
  /// A pipe without a writer is not ready, although a read would return its end.
  private static func isReady(_ descriptor: Int32, milliseconds: Int32) -> Bool {
    var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&waiting, 1, milliseconds) != 0
  }

  private static func name(_ kind: mode_t) -> String {
    switch kind {
    case S_IFIFO: "a pipe"
    case S_IFSOCK: "a socket"
    default: "a device"
    }
  }

  private static func tooLarge(_ limit: Int) -> FileFault {
    FileFault(reason: "it is larger than \(limit >> 10) KiB")
  }

  private static func currentFault() -> FileFault {
    FileFault(reason: "\(SystemError(code: errno))")
  }
}

struct FileFault: Error, Equatable {
  let reason: String
  /// True if the disk refused the write, which may succeed later.
  var isOfDisk = false
  /// True for a pipe or device instead of a regular file.
  var isOtherKind = false
}

/// The users who can use a regular file with secrets.
///
/// Comes from the open file that is read, so that no other file can take its place in between.
struct FileHolders: Equatable, Sendable {
  /// Permission bits.
  var mode: UInt32
  /// True if neither this user nor root owns the file.
  var isForeign = false
  /// True if this user is root, who must not depend on other users.
  var isReadByRoot = geteuid() == 0
  /// True if the mode says nothing about other users.
  ///
  /// The file is on a read-only file system, as the secrets of Kubernetes and Docker are. Or it has
  /// no name. Or it is a credential that systemd gives to this process with an access list.
  var isSettled = false

  /// What other users can do with a file.
  enum Doubt: Equatable, Sendable {
    /// The owner can change it.
    case ownedByOther
    /// Everybody can change it.
    case writable
    case readable

    /// Returns the problem of the file at `path`, with the next step; `name` stands for the file.
    func words(_ name: String, at path: String) -> String {
      switch self {
      case .ownedByOther:
        "\(name) belongs to another user, who can change it; give a file of your own"
      case .writable: "other users can change \(name); run chmod 600 \(path)"
      case .readable: "other users can read \(name); run chmod 600 \(path)"
      }
    }
  }

  /// The gravest doubt about the file; `nil` if only this user and root can use it.
  var doubt: Doubt? {
    if isSettled { return nil }
    if isForeign { return .ownedByOther }
    if mode & 0o002 != 0 { return .writable }
    return mode & 0o077 != 0 ? .readable : nil
  }

  /// True if others may decide what the file holds, and not only read it.
  var isDecidedByOthers: Bool {
    switch doubt {
    case .ownedByOther: isReadByRoot || mode & 0o002 != 0
    case .writable: true
    case .readable, nil: false
    }
  }
}

extension FileHolders {
  /// Reads an open file's status; `path` is the name that it was opened by.
  init(_ status: stat, of descriptor: Int32, path: String) {
    self.init(mode: UInt32(status.st_mode & 0o777))
    isForeign = status.st_uid != 0 && status.st_uid != geteuid()
    var system = statvfs()
    let isReadOnly =
      unsafe fstatvfs(descriptor, &system) == 0 && UInt(system.f_flag) & UInt(ST_RDONLY) != 0
    isSettled = isReadOnly || status.st_nlink == 0 || isCredential(path)
  }

  private func isCredential(_ path: String) -> Bool {
    guard let folder = Environment.variableOfProcess(Environment.serviceCredentials),
      !folder.isEmpty, path.begins(with: folder + "/")
    else { return false }
    return !isForeign && mode & 0o007 == 0
  }
}
