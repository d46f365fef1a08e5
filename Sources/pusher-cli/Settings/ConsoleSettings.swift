internal import PusherCore
internal import PusherServer

/// What `serve` shows of itself on a page.
struct ConsoleSettings: Equatable, Sendable {
  /// Whether there is a page; `nil` where nobody said.
  var isOn: Bool?
  /// Where all that happens is written.
  var record: String?
  /// The file of a past run to be shown.
  var recording: String?

  /// The page's options, with a token for this run; `nil` for no page.
  ///
  /// Other machines, and requests through a proxy, get it only where somebody asked for it.
  ///
  /// - Parameters:
  ///   - isUsual: Whether there is one where nobody said.
  ///   - token: Letters, digits, `-` and `_`.
  func options(isUsual: Bool, token: @autoclosure () -> String) -> ConsoleOptions? {
    guard isOn ?? (isUsual || recording != nil) else { return nil }
    return ConsoleOptions(
      token: token(), version: Version.current, recording: recording,
      reach: isOn == true ? .everybody : .thisMachine)
  }
}

extension SettingsReader {
  /// What was typed about the console.
  func console() throws(UsageError) -> ConsoleSettings {
    let settings = ConsoleSettings(
      isOn: typed.choice(.console), record: typed.text(.record),
      recording: typed.text(.openRecording))
    if settings.recording != nil, settings.isOn == false {
      throw UsageError("--open-recording shows a run on the console; leave out --no-console")
    }
    return settings
  }
}
