internal import PusherCore
internal import PusherPlatform

/// The questions settings ask about files, so that tests answer them without a disk.
struct FileAccess: Sendable {
  /// The bytes of a file, `-` being standard input; the reason in words when there are none.
  ///
  /// The second argument is the largest size taken; the reason then names it.
  var contents: @Sendable (_ path: String, _ limit: Int) -> Result<[UInt8], FileFault>
  /// The permission bits of a regular file; nil for anything else, pipes included.
  var permissions: @Sendable (_ path: String) -> UInt32?
  /// Whether the bytes are those of the start, since the file cannot be read twice.
  var isKept: @Sendable (_ path: String) -> Bool = { _ in false }
  /// Whether a descriptor is open.
  var isOpen: @Sendable (_ descriptor: Int32) -> Bool = { _ in false }
  /// The listening socket that a descriptor is.
  var listeningSocket: @Sendable (_ descriptor: Int32) -> Result<HandedSocket, HandedSocket.Fault> =
    { _ in .failure(.notOpen) }
  /// The number of this process.
  var processID: @Sendable () -> Int32 = { 0 }
  /// Whether a container's platform made the file, so that its mode cannot be changed inside.
  var isProvided: @Sendable (_ path: String) -> Bool = { _ in false }
}

/// Why a file could not be read or written, in words.
struct FileFault: Error, Equatable {
  let reason: String
  /// Whether the disk took nothing, which may be over the next time.
  var isOfDisk = false
  /// Whether it is a pipe or a device where only regular files are read.
  var isOtherKind = false
}

extension FileAccess {
  /// The real files when the program starts: a pipe is waited for.
  static let system = starting { _ in }

  /// The same; `tell` is given the path of a pipe that stays silent.
  static func starting(tell: @escaping @Sendable (_ path: String) -> Void) -> FileAccess {
    real { path, limit in
      WholeFile.contents(of: path, limit: limit, .all(whenWaiting: { tell(path) }))
    }
  }

  /// The real files while the program runs: nothing is waited for.
  ///
  /// - Parameter kept: The bytes of files that can be read only once, by their paths.
  static func running(kept: [String: [UInt8]] = [:]) -> FileAccess {
    var files = real { path, limit in
      kept[path].map { .success($0) } ?? WholeFile.contents(of: path, limit: limit, .regular)
    }
    files.isKept = { kept[$0] != nil }
    return files
  }

  private static func real(
    _ contents: @escaping @Sendable (_ path: String, _ limit: Int) -> Result<[UInt8], FileFault>
  ) -> FileAccess {
    FileAccess(
      contents: contents, permissions: regularPermissions,
      isOpen: { fcntl($0, F_GETFD) >= 0 },
      listeningSocket: { descriptor in
        Result { () throws(HandedSocket.Fault) in try HandedSocket(descriptor: descriptor) }
      }, processID: { getpid() }, isProvided: isOfPlatform)
  }

  private static func regularPermissions(_ path: String) -> UInt32? {
    var status = stat()
    guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    return UInt32(status.st_mode & 0o777)
  }

  /// Whether the file is a Kubernetes secret, which is a link through `..data` beside it, or stands where nothing can be
  /// written, as the secrets of Docker and Kubernetes do.
  private static func isOfPlatform(_ path: String) -> Bool {
    var target = [CChar](repeating: 0, count: Int(PATH_MAX))
    let length = unsafe readlink(path, &target, target.count)
    if length > 0, target.starts(with: "..data/".utf8.map(CChar.init)) { return true }
    var system = statvfs()
    return unsafe statvfs(path, &system) == 0 && UInt(system.f_flag) & UInt(ST_RDONLY) != 0
  }
}
