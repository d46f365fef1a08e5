internal import PusherCore

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Darwin
#endif

/// The questions settings ask about files, so that tests answer them without a disk.
struct FileAccess: Sendable {
  /// The bytes of a file, `-` being standard input; the reason in words when there are none.
  ///
  /// The second argument is the largest size taken; the reason then names it.
  var contents: @Sendable (_ path: String, _ limit: Int) -> Result<[UInt8], FileFault>
  /// The permission bits of a regular file; nil for anything else, pipes included.
  var permissions: @Sendable (_ path: String) -> UInt32?
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
}

extension FileAccess {
  /// The real files.
  static let system = FileAccess(
    contents: readAll, permissions: regularPermissions,
    isOpen: { fcntl($0, F_GETFD) >= 0 },
    listeningSocket: { descriptor in
      Result { () throws(HandedSocket.Fault) in try HandedSocket(descriptor: descriptor) }
    }, processID: { getpid() }, isProvided: isOfPlatform)

  private static func readAll(_ path: String, _ limit: Int) -> Result<[UInt8], FileFault> {
    let descriptor = unsafe path == "-" ? 0 : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return .failure(currentFault()) }
    defer { if path != "-" { _ = close(descriptor) } }
    return contents(of: descriptor, limit: limit)
  }

  /// The bytes that can be read from a descriptor, as ``contents`` gives those of a path.
  static func contents(of descriptor: Int32, limit: Int) -> Result<[UInt8], FileFault> {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16_384)
    while bytes.count <= limit {
      let count = unsafe chunk.withUnsafeMutableBytes { free in
        unsafe read(descriptor, free.baseAddress, free.count)
      }
      if count == 0 { return .success(bytes) }
      if count < 0 {
        guard errno == EINTR else { return .failure(currentFault()) }
      } else {
        bytes.append(contentsOf: chunk[..<count])
      }
    }
    return .failure(FileFault(reason: "it is larger than \(limit >> 10) KiB"))
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

  private static func currentFault() -> FileFault {
    FileFault(reason: "\(SystemError(code: errno))")
  }
}
