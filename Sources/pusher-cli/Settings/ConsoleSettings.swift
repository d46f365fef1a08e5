internal import PusherConsole
internal import PusherCore
internal import PusherServer

/// The console page of `serve`, and the record of a run.
struct ConsoleSettings: Equatable, Sendable {
  /// `nil` if not given.
  var isOn: Bool?
  var record: String?
  var recording: String?
  /// The page of this run; `nil` for none.
  var page: ConsoleOptions?

  /// Returns the page's options, with a token for this run; `nil` for no page.
  ///
  /// Other machines and proxied requests get the page only with `--console`.
  func options(isUsual: Bool, token: @autoclosure () -> String) -> ConsoleOptions? {
    guard isOn ?? (isUsual || recording != nil) else { return nil }
    return ConsoleOptions(
      token: token(), version: Version.current, recording: recording,
      reach: isOn == true ? .everybody : .thisMachine)
  }
}

extension SettingsReader {
  func console() throws(UsageError) -> ConsoleSettings {
    let settings = ConsoleSettings(
      isOn: typed.choice(.console), record: typed.text(.record),
      recording: typed.text(.openRecording))
    if settings.recording != nil, settings.isOn == false {
      throw UsageError("--open-recording needs the console: leave out --no-console")
    }
    return settings
  }
}
