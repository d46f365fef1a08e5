internal import PusherCore

#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// The file of `--state-file`: the ID of the last event that was printed, so that the next run goes on behind it.
///
/// It is replaced as a whole, at most once a second and at the end of a run. A run that is killed in between may
/// print again what came in that second; it never leaves anything out.
final class StateFile {
  private let path: String
  private let diagnostics: Diagnostics
  private var saved: String
  private var savedAt: Instant?
  private var hasFailed = false

  private static let interval: Duration = .seconds(1)

  init(_ path: String, holds id: String, diagnostics: Diagnostics) {
    self.path = path
    saved = id
    self.diagnostics = diagnostics
  }

  /// Saves the ID, unless the file was written a moment ago.
  func note(_ id: @autoclosure () -> String, at now: Instant) {
    if let savedAt, savedAt.duration(to: now) < Self.interval { return }
    savedAt = now
    save(id())
  }

  /// Saves the ID now.
  func save(_ id: String) {
    guard id != saved, !hasFailed else { return }
    saved = id
    let temporary = "\(path).\(getpid()).tmp"
    let descriptor = unsafe open(
      temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return fail() }
    let bytes = Array((id + "\n").utf8)
    let count = unsafe bytes.withUnsafeBytes {
      unsafe write(descriptor, $0.baseAddress, $0.count)
    }
    let isClosed = close(descriptor) == 0
    guard count == bytes.count, isClosed, unsafe rename(temporary, path) == 0 else {
      fail()
      unsafe unlink(temporary)
      return
    }
  }

  private func fail() {
    hasFailed = true
    let reason = unsafe String(cString: strerror(errno)).lowercased()
    diagnostics.warning("cannot keep the last event's id in '\(path)': \(reason)")
  }
}
