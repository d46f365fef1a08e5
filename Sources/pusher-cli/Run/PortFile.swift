#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

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
      // No secret: whom the umask lets, may read it.
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
    return SystemCalls.writeWhole(bytes, to: descriptor)
      ? nil : FileReplacement.reasonOfPipe(errno)
  }
}
