package import PusherServer

package struct ConsoleOptions: Sendable, Equatable, CustomReflectable {
  /// Secret that a browser must send; never logged.
  package let token: String
  package let version: String
  /// File of a past run, shown instead of current events.
  package let recording: String?
  package let reach: Reach

  /// - Parameter token: Only letters, digits, `-`, `.`, `_` and `~`; new for each run.
  package init(
    token: String, version: String, recording: String? = nil, reach: Reach = .thisMachine
  ) {
    (self.token, self.version, self.recording) = (token, version, recording)
    self.reach = reach
  }

  /// Empty, so that `dump` shows no secret.
  package var customMirror: Mirror { Mirror(self, children: []) }
}
