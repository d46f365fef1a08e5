struct MonitorSettings: Equatable, Sendable {
  var listen: ListenSettings
  /// Maximum number of channels with a counter of their own.
  var channels: Int
}

extension SettingsReader {
  func monitoring() throws(UsageError) -> MonitorSettings? {
    guard let text = typed.text(.metrics) else { return nil }
    return MonitorSettings(
      listen: try ListenSettings(parsing: text, of: .metrics, example: 9464),
      channels: typed.integer(.metricsChannels) ?? 0)
  }
}
