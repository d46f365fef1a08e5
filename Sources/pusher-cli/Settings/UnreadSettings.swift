internal import PusherCore

/// Variables of another server that change how it behaves, and that `serve` does not read.
///
/// Limits must not disappear silently when an app moves here; docs/moving.md translates them.
private struct OtherServer {
  static let all = [
    OtherServer(
      key: "SOKETI_DEFAULT_APP_KEY", prefixes: ["SOKETI_"],
      read: [
        "SOKETI_DEFAULT_APP_ID", "SOKETI_DEFAULT_APP_KEY", "SOKETI_DEFAULT_APP_SECRET",
        "SOKETI_PORT", "SOKETI_DEBUG",
      ]),
    OtherServer(
      key: "REVERB_APP_KEY",
      prefixes: ["REVERB_APP_", "REVERB_MAX_", "REVERB_PATH", "REVERB_SERVER_PATH"],
      read: ["REVERB_APP_ID", "REVERB_APP_KEY", "REVERB_APP_SECRET"] + RateLimitVariables.names),
  ]

  let key: String
  let prefixes: [String]
  /// Variables that `serve` reads, and those without an effect on clients.
  let read: [String]

  func has(_ name: String) -> Bool {
    prefixes.contains { name.begins(with: $0) } && !read.contains { name.isSame(as: $0) }
  }
}

extension SettingsReader {
  /// Number of variables that a warning names.
  private static let namedAtMost = 3

  /// Warns of settings in the app's file that `serve` does not read.
  ///
  /// The process's own environment is not searched: the program reads known variables only.
  mutating func warnOfUnreadSettings(beside source: CredentialSource) {
    guard let file = namedFile ?? fallbackFile, let name = file.file,
      let server = OtherServer.all.first(where: {
        source.key?.origin.isSame(as: "\($0.key) in \(name)") ?? false
      })
    else { return }
    let unread = file.variables.keys.sorted().filter {
      server.has($0) && file.first($0) != nil && $0.isVisible(without: "")
    }
    guard !unread.isEmpty else { return }
    let more = unread.count - Self.namedAtMost
    let names = unread.prefix(Self.namedAtMost).joined(separator: ", ")
    warn(
      "\(name): serve does not read \(names)\(more > 0 ? " and \(more) more" : ""); "
        + "docs/moving.md says what to set")
  }
}
