package import PusherCore
package import PusherServer

/// The app and the address to which a snippet leads.
package struct SnippetTarget: Sendable {
  package let app: Application
  /// Address of the server, without a path.
  package let url: HTTPURL
  /// True if the server signs subscriptions to private channels.
  package let signsChannels: Bool

  package init(_ app: Application, at url: HTTPURL, signsChannels: Bool) {
    (self.app, self.url, self.signsChannels) = (app, url, signsChannels)
  }

  /// Secret of `serve` without options; no other secret is part of a snippet.
  private static let publishedSecret = "local"

  var hasPublishedSecret: Bool { app.secret.isSame(as: Self.publishedSecret) }

  /// Says which secret a reader has to fill in; `nil` if the snippets have it.
  package var missingSecret: String? {
    guard !hasPublishedSecret else { return nil }
    return "PUSHER_APP_SECRET is the secret of app '\(app.id)': serve has it from --secret-file, "
      + "--apps, --env-file or its environment"
  }

  var scheme: String { url.isSecure ? "https" : "http" }
  /// IPv6 with brackets, as most libraries join it with the port.
  var host: String { url.host.utf8.contains(UInt8(ascii: ":")) ? "[\(url.host)]" : url.host }
  var place: String { "\(scheme)://\(host):\(url.port)" }

  // MARK: Texts of the languages

  /// A string of JavaScript, Python or Swift, for visible ASCII.
  func doubleQuoted(_ text: String) -> String { JSONWriter.text(.string(text)) }

  /// A string of PHP or Ruby that replaces nothing in the text.
  func singleQuoted(_ text: String) -> String {
    "'" + text.escaping("\\'") + "'"
  }

  /// A word for a POSIX shell.
  func shellWord(_ text: String) -> String {
    "'" + text.pieces(separatedBy: "'").joined(separator: #"'\''"#) + "'"
  }

  /// The published secret, or the expression that reads another secret from the environment.
  func expression(quotedBy quoted: (String) -> String, orFrom variable: String) -> String {
    hasPublishedSecret ? quoted(app.secret) : variable
  }

  // MARK: A .env file

  /// Lines of a `.env` file that point an application at this server, with Laravel's names.
  ///
  /// - Parameter secret: `nil` to leave it to the reader.
  package func environment(secret: String?) -> String {
    let values = [
      ("BROADCAST_CONNECTION", "pusher"), ("PUSHER_APP_ID", app.id), ("PUSHER_APP_KEY", app.key),
      ("PUSHER_APP_SECRET", secret ?? ""), ("PUSHER_HOST", url.host),
      ("PUSHER_PORT", String(url.port)), ("PUSHER_SCHEME", scheme), ("PUSHER_APP_CLUSTER", "mt1"),
    ]
    return values.map { "\($0.0)=\(Self.quoted($0.1))\n" }.joined()
  }

  /// Quotes a value for shells and for readers of `.env` files.
  private static func quoted(_ value: String) -> String {
    let isPlain = value.utf8.allSatisfy { byte in
      byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 26 || "-._:/@%+,".utf8.contains(byte)
    }
    return isPlain ? value : "\"" + value.escaping("\\\"$`") + "\""
  }
}
