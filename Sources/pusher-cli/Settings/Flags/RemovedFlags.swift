extension Flags {
  /// Flags of earlier versions, and their replacements.
  static let removed = [
    "api-host": "use --api-url URL", "api-port": "use --api-url URL",
    "health-file": "use /healthz of --metrics",
    "netrc-file": "put the URL, with user and password, into a file and give @FILE",
    "presence": "use --channel presence-NAME", "private": "use --channel private-NAME",
    "retry-delay": "use --reconnect-delay",
    "threads": "run several servers with --reuse-port and one --redis; see docs/cluster.md",
    "to-user": "use --channel '#server-to-user-ID'",
  ]

  static func refusal(ofRemoved name: String) -> String? {
    removed[name].map { "option --\(name) was removed: \($0)" }
  }
}
