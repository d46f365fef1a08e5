#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// The program's version.
enum Version {
  static let current = "0.1.0"
  /// What `--version` prints.
  static let line = "pusher-cli \(current)\n"
}

/// Prints a page or the version to standard output.
enum HelpCommand {
  /// Writes the page; answers `status`, or ``ExitStatus/output`` when the page could not be written.
  static func run(_ page: HelpPage, status: ExitStatus) -> ExitStatus {
    write(page.text) ? status : .output
  }

  /// Writes the version line.
  static func version() -> ExitStatus {
    write(Version.line) ? .success : .output
  }

  private static func write(_ text: String) -> Bool {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { bytes in
        #if canImport(Glibc)
          unsafe Glibc.write(1, bytes.baseAddress, bytes.count)
        #else
          unsafe Darwin.write(1, bytes.baseAddress, bytes.count)
        #endif
      }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        var waiting = pollfd(fd: 1, events: Int16(POLLOUT), revents: 0)
        _ = unsafe poll(&waiting, 1, -1)
      } else if errno != EINTR {
        return false
      }
    }
    return true
  }
}
