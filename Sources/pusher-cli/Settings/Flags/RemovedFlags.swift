extension Flags {
  /// Flags of earlier versions, and their replacements.
  static let removed = [
    "health-file": "use /healthz of --metrics",
    "netrc-file": "put the URL with user and password into a file and give @FILE",
    "presence": "use --channel presence-NAME", "private": "use --channel private-NAME",
    "retry-delay": "use --reconnect-delay",
    "threads": "use several servers with --reuse-port and one --redis, as docs/cluster.md says",
    "to-user": "use --channel '#server-to-user-ID'",
  ]

  static func refusal(ofRemoved name: String) -> String? {
    removed[name].map { "there is no option --\(name) any more: \($0)" }
  }
}
