#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// The file that tells a script which port a server has taken, and by being there that it takes connections.
enum PortFile {
  /// Writes the port; answers in words why it could not, or nil.
  ///
  /// It is written under another name first, so that a script that waits for the file finds it whole.
  static func write(_ port: UInt16, to path: String) -> String? {
    let draft = "\(path).\(getpid())"
    let descriptor = unsafe open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    var isWritten = false
    if descriptor >= 0 {
      let text = Array("\(port)\n".utf8)
      isWritten = unsafe SystemCalls.write(descriptor, text, text.count) == text.count
      isWritten = close(descriptor) == 0 && isWritten
    }
    if isWritten, unsafe rename(draft, path) == 0 { return nil }
    let reason = unsafe String(cString: strerror(errno)).lowercased()
    unsafe unlink(draft)
    return reason
  }
}
