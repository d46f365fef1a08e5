internal import PusherCore

/// The sources of a run's settings, for reading them again.
struct SettingsOrigin: Sendable {
  /// As typed, without the options of files.
  let typed: TypedArguments
  let environment: [String: String]
  /// The files that contain settings, in the order of reading.
  let files: [String]
  /// Content of standard input, pipes and devices, which can be read only once, by path.
  let kept: [String: [UInt8]]

  /// Reads everything again, as at the start.
  func read<Settings: CommandSettings>(_: Settings.Type) throws(UsageError) -> Settings {
    try Settings(typed, environment: environment, files: .running(kept: kept))
  }
}

extension SubscribeSettings {
  /// Returns the differences from `former` that a run can apply: app, server and credentials.
  func changes(since former: SubscribeSettings) -> [String] {
    let (new, old) = (connection, former.connection)
    let changes: [(name: String, isChanged: Bool)] = [
      ("host", new.host != old.host), ("port", new.port != old.port),
      ("scheme", new.isSecure != old.isSecure), ("path", new.path != old.path),
      ("key", new.key != old.key), ("credentials", authorization != former.authorization),
      ("user", userSignIn != former.userSignIn), ("network", new.network != old.network),
      ("header", fields != former.fields), ("discovery", discovery != former.discovery),
    ]
    return changes.filter(\.isChanged).map(\.name)
  }

  /// Returns these settings with the changeable parts of `other`.
  func moved(to other: SubscribeSettings) -> SubscribeSettings {
    var settings = self
    settings.connection = other.connection
    settings.authorization = other.authorization
    settings.userSignIn = other.userSignIn
    settings.fields = other.fields
    settings.discovery = other.discovery
    return settings
  }

  func differsInPlace(than other: SubscribeSettings) -> Bool {
    let (new, old) = (connection, other.connection)
    return !new.key.isSame(as: old.key) || !new.host.isSame(as: old.host) || new.port != old.port
  }

  /// Returns true if all but the warnings is equal.
  func isSame(as other: SubscribeSettings) -> Bool {
    var other = other
    other.feed.common.warnings = feed.common.warnings
    return self == other
  }
}
