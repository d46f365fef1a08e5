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
}

struct FileContent: Equatable, Sendable {
  var bytes: [UInt8]
  /// `nil` for standard input, a pipe or a device, which other users cannot open by a name.
  var holders: FileHolders?
}

struct FileFault: Error, Equatable {
  let reason: String
  /// True if the disk refused the write, which may succeed later.
  var isOfDisk = false
  /// True for a pipe or device instead of a regular file.
  var isOtherKind = false
}

extension FileAccess {
  /// Real files at the start of the program: waits for pipes.
  static let system = starting { _ in }

  /// Real files at the start; `tell` gets the path of a pipe that stays silent.
  static func starting(tell: @escaping @Sendable (_ path: String) -> Void) -> FileAccess {
    real { path, limit in
      WholeFile.content(of: path, limit: limit, .all(whenWaiting: { tell(path) }))
    }
  }

  /// Real files during the run, without waiting; `kept` has those that can be read only once.
  static func running(kept: [String: [UInt8]] = [:]) -> FileAccess {
    var files = real { path, limit in
      kept[path].map { .success(FileContent(bytes: $0)) }
        ?? WholeFile.content(of: path, limit: limit, .regular)
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
