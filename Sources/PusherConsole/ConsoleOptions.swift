package import PusherServer

package struct ConsoleOptions: Sendable, Equatable, CustomReflectable {
  /// Secret that a browser must send; never logged.
  package let token: String
  /// True if later runs have the same token.
  package let keepsToken: Bool
  package let version: String
  /// File of a past run, shown instead of current events.
  package let recording: String?
  package let reach: Reach
  /// Number of current entries that are kept for later readers.
  package let history: Int

  /// - Parameters:
  ///   - token: Only letters, digits, `-`, `.`, `_` and `~`; new for each run unless it is kept.
  ///   - history: Has no effect on a recording.
  package init(
    token: String, keepsToken: Bool = false, version: String, recording: String? = nil,
    reach: Reach = .thisMachine, history: Int = 0
  ) {
    (self.token, self.keepsToken, self.version) = (token, keepsToken, version)
    (self.recording, self.reach) = (recording, reach)
    self.history = recording == nil ? history : 0
  }

  /// Empty, so that `dump` shows no secret.
  package var customMirror: Mirror { Mirror(self, children: []) }
}
