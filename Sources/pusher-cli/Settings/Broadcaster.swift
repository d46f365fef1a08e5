/// Settings of a Laravel app that decide where its events go.
struct BroadcastingApp: Equatable, Sendable {
  /// `BROADCAST_CONNECTION`, or the older `BROADCAST_DRIVER`.
  var broadcaster: Setting?
  /// `QUEUE_CONNECTION`, which only a `.env` file tells.
  var queue: Setting?
  /// Path of the `.env` file; `nil` without one.
  var file: String?

  private static let elsewhere = [
    "log": "writes its events to its log", "null": "drops its events",
    "redis": "publishes its events to Redis", "ably": "sends its events to Ably",
  ]

  /// Says that the app sends its events elsewhere, and what to do; `nil` if it does not, or if
  /// nobody knows.
  var detour: String? {
    guard let broadcaster else { return nil }
    let driver = Environment.isNothing(broadcaster.value) ? "null" : broadcaster.value
    guard let what = Self.elsewhere[driver] else { return nil }
    return "\(broadcaster.origin) is '\(broadcaster.value)': the app \(what), so none comes here; "
      + "set it to reverb or pusher"
  }
}

extension SettingsReader {
  var broadcastingApp: BroadcastingApp {
    // The settings of another app say nothing about the server of --local.
    guard !typed.isOn(.local) else { return BroadcastingApp() }
    let places = (namedFile == nil ? [environment, fallbackFile] : [namedFile]).compactMap { $0 }
    return BroadcastingApp(
      broadcaster: places.lazy.compactMap(\.broadcaster).first,
      queue: places.lazy.compactMap { $0.first("QUEUE_CONNECTION") }.first,
      file: places.lazy.compactMap(\.file).first)
  }

  /// Warns if the app sends its events elsewhere: a subscription would work, but get no events.
  ///
  /// A typed key or profile may be of another app.
  mutating func warnOfBroadcaster() {
    guard typed.text(.key) == nil, typed.text(.profile) == nil else { return }
    if let detour = broadcastingApp.detour { warn(detour) }
  }
}
