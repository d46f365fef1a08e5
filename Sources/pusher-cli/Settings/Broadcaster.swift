extension SettingsReader {
  private static let elsewhere = [
    "log": "writes its events to its log", "null": "drops its events",
    "redis": "publishes its events to Redis", "ably": "sends its events to Ably",
  ]

  /// Warns if the app sends its events elsewhere: a subscription would work, but get no events.
  mutating func warnOfBroadcaster() {
    guard !typed.isOn(.local) else { return }
    let places = namedFile == nil ? [environment, fallbackFile] : [namedFile]
    let settings = places.compactMap { $0?.first("BROADCAST_CONNECTION", "BROADCAST_DRIVER") }
    guard let setting = settings.first else { return }
    // Laravel reads both as null.
    let driver = setting.value == "(null)" ? "null" : setting.value
    guard let what = Self.elsewhere[driver] else { return }
    warn(
      "\(setting.origin) is '\(setting.value)': the app \(what), so none comes here; "
        + "set it to reverb or pusher")
  }
}
