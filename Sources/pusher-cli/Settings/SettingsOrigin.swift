internal import PusherCore

/// The sources of a run's settings, for reading them again.
struct SettingsOrigin: Sendable {
  /// As typed, without the options of files.
  let typed: TypedArguments
  let environment: [String: String]
  /// Content of standard input, pipes and devices, which can be read only once, by path.
  let kept: [String: [UInt8]]

  /// Reads the app's secret again, with the checks of the start.
  func secret(in file: SecretFile) throws(UsageError) -> Secret {
    var reader = SettingsReader(unread: typed, environment: environment, files: .running())
    return try reader.secret(in: file)
  }
}
