internal import PusherCore

/// A file whose time of change says when the server was last heard, with `--health-file`.
///
/// It is touched once a second at most.
final class HealthFile {
  private let path: String
  private let diagnostics: Diagnostics
  /// When the server had been heard at the last touch.
  private var touchedFor: Instant?
  private var hasFailed = false
  private static let interval = Duration.seconds(1)

  init(_ path: String, diagnostics: Diagnostics) {
    self.path = path
    self.diagnostics = diagnostics
  }

  /// Touches the file when the server was heard since.
  func note(_ heardAt: Instant?) {
    guard let heardAt, heardAt != touchedFor,
      touchedFor.map({ $0.duration(to: heardAt) >= Self.interval }) ?? true
    else { return }
    touchedFor = heardAt
    let failure = SystemCalls.touch(path)
    if let failure, !hasFailed {
      diagnostics.warning("--health-file: cannot touch '\(path)': \(failure)")
    }
    hasFailed = failure != nil
  }
}
