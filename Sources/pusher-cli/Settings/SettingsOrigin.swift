internal import PusherCore

/// Where the settings of a run come from, so that a run can read them again.
struct SettingsOrigin: Sendable {
  /// As typed, without what files add.
  let typed: TypedArguments
  let environment: [String: String]
  /// The files that say something, in the order in which they are read; empty when none does.
  let files: [String]
  /// The bytes of standard input, and of pipes and devices, which can be read only once; by their paths.
  let kept: [String: [UInt8]]

  /// Reads everything again, as at the start.
  ///
  /// - Throws: ``UsageError`` for a file that cannot be read, and for anything that is missing or wrong.
  func read<Settings: CommandSettings>(_: Settings.Type) throws(UsageError) -> Settings {
    try Settings(typed, environment: environment, files: .running(kept: kept))
  }
}

extension SubscribeSettings {
  /// What differs from `former` and can change while a run goes on: which app, where, and who signs.
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

  /// These settings with what can change taken from `other`.
  func moved(to other: SubscribeSettings) -> SubscribeSettings {
    var settings = self
    settings.connection = other.connection
    settings.authorization = other.authorization
    settings.userSignIn = other.userSignIn
    settings.fields = other.fields
    settings.discovery = other.discovery
    return settings
  }

  /// Whether the events are those of another app or server.
  func isElsewhere(than other: SubscribeSettings) -> Bool {
    let (new, old) = (connection, other.connection)
    return !new.key.isSame(as: old.key) || !new.host.isSame(as: old.host) || new.port != old.port
  }

  /// Whether nothing differs but what was warned of.
  func isSame(as other: SubscribeSettings) -> Bool {
    var other = other
    other.feed.common.warnings = feed.common.warnings
    return self == other
  }
}
