internal import PusherConsole
internal import PusherCore
internal import PusherServer

/// The console page of `serve`, and the record of a run.
struct ConsoleSettings: Equatable, Sendable {
  /// `nil` if not given.
  var isOn: Bool?
  var record: String?
  var recording: String?
  /// File with the token of all runs; `nil` for a new token.
  var tokenFile: String?
  /// Number of entries for pages that open later.
  var history = 0
  /// The page of this run; `nil` for none.
  var page: ConsoleOptions?

  /// Returns the page's options; `nil` for no page.
  ///
  /// Other machines and proxied requests get the page only with `--console`.
  ///
  /// - Parameter token: Evaluated only for a page.
  func options(
    isUsual: Bool, token: @autoclosure () throws(UsageError) -> String
  ) throws(UsageError) -> ConsoleOptions? {
    guard isOn ?? (isUsual || recording != nil || tokenFile != nil) else { return nil }
    return ConsoleOptions(
      token: try token(), keepsToken: tokenFile != nil, version: Version.current,
      recording: recording, reach: isOn == true ? .everybody : .thisMachine, history: history)
  }
}

extension SettingsReader {
  func console() throws(UsageError) -> ConsoleSettings {
    let settings = ConsoleSettings(
      isOn: typed.choice(.console), record: typed.text(.record),
      recording: typed.text(.openRecording), tokenFile: typed.text(.consoleTokenFile),
      history: typed.number(.consoleHistory))
    if settings.recording != nil, settings.isOn == false {
      throw UsageError("--open-recording needs the console: leave out --no-console")
    }
    // A file of options may name the token for the runs that have a console.
    if settings.tokenFile != nil, settings.isOn == false, typed.origin(.consoleTokenFile) == nil {
      throw UsageError("--console-token-file needs the console: leave out --no-console")
    }
    if settings.tokenFile == "-" {
      throw UsageError("--console-token-file needs a file: standard input cannot keep a token")
    }
    return settings
  }
}
