/// Where a command tells how it is, with `--metrics`.
struct MonitorSettings: Equatable, Sendable {
  var listen: ListenSettings
  /// As many channels have a count of their own.
  var channels: Int
}

extension SettingsReader {
  /// What was typed about metrics; `nil` where none are wanted.
  func monitoring() throws(UsageError) -> MonitorSettings? {
    guard let text = typed.text(.metrics) else { return nil }
    return MonitorSettings(
      listen: try ListenSettings(parsing: text, of: .metrics, example: 9464),
      channels: typed.integer(.metricsChannels) ?? 0)
  }
}
