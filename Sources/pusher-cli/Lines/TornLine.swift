internal import PusherCore

#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// The end of a file that is added to: a full disk leaves half a line there, which would swallow the next one.
enum TornLine {
  /// What a file that is about to be added to ends with.
  enum End: Equatable {
    /// Nothing, or a line that is whole.
    case whole
    case torn
    /// It cannot be read back.
    case unknown(reason: String)
  }

  /// How the regular file at `descriptor` ends at the place of the next write, its lines ending with `terminator`.
  static func end(of descriptor: Int32, terminator: UInt8) -> End {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      return .whole
    }
    let isAppended = fcntl(descriptor, F_GETFL) & O_APPEND != 0
    let place = isAppended ? off_t(status.st_size) : lseek(descriptor, 0, SEEK_CUR)
    // Behind the file's end there are only zeros.
    guard place > 0, place <= off_t(status.st_size) else { return .whole }
    let readable = openForReading(descriptor)
    guard readable >= 0 else { return .unknown(reason: "\(SystemError(code: errno))") }
    defer { close(readable) }
    var byte: UInt8 = 0
    guard unsafe pread(readable, &byte, 1, place - 1) == 1 else {
      return .unknown(reason: "\(SystemError(code: errno))")
    }
    return byte == terminator ? .whole : .torn
  }

  /// The same file once more, since standard output is seldom open for reading.
  private static func openForReading(_ descriptor: Int32) -> Int32 {
    #if canImport(Darwin)
      var path = [CChar](repeating: 0, count: Int(PATH_MAX))
      guard unsafe fcntl(descriptor, F_GETPATH, &path) == 0 else { return -1 }
      return unsafe open(path, O_RDONLY | O_CLOEXEC)
    #else
      return ProcessMemory.whileShown {
        unsafe open("/proc/self/fd/\(descriptor)", O_RDONLY | O_CLOEXEC)
      }
    #endif
  }
}
