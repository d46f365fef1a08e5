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
  static func run(_ page: HelpPage, status: ExitStatus, _ diagnostics: Diagnostics) -> ExitStatus {
    print(page.text, status, diagnostics)
  }

  /// Writes the version line.
  static func version(_ diagnostics: Diagnostics) -> ExitStatus {
    print(Version.line, .success, diagnostics)
  }

  private static func print(
    _ text: String, _ status: ExitStatus, _ diagnostics: Diagnostics
  ) -> ExitStatus {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { unsafe write(1, $0.baseAddress, $0.count) }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        var waiting = pollfd(fd: 1, events: Int16(POLLOUT), revents: 0)
        _ = unsafe poll(&waiting, 1, -1)
      } else if errno != EINTR {
        let reason = unsafe String(cString: strerror(errno)).lowercased()
        diagnostics.error("cannot write to standard output: \(reason)")
        return .output
      }
    }
    return status
  }
}
