internal import PusherConsole
internal import PusherCore
internal import PusherServer

/// The texts of `--print-env` and `--print-snippets`.
extension ServeSettings {
  func printedText(port: UInt16) -> String? {
    switch printed {
    case nil: nil
    case .environment: environmentBlock(port: port)
    case .snippets:
      lines(port: port, comment: "//") { target in Snippet.pusherJS.text(for: target) }
    }
  }

  /// Lines for a `.env` file that point an application at this server, with Laravel's names.
  func environmentBlock(port: UInt16) -> String {
    lines(port: port, comment: "#") { target in target.environment(secret: target.app.secret) }
  }

  /// Each app gets its lines; with several apps, a comment above them holds the id.
  private func lines(
    port: UInt16, comment: String, _ text: (SnippetTarget) -> String
  ) -> String {
    let url = HTTPURL(
      scheme: isSecure ? .https : .http, host: listen.reachable, port: Int(port))
    return server.applications.map { app in
      let target = SnippetTarget(app, at: url, signsChannels: server.authEndpoints != .nobody)
      let head = server.applications.count > 1 ? "\(comment) app \(app.id)\n" : ""
      return head + text(target)
    }.joined(separator: "\n")
  }
}
