extension ServeSettings {
  /// Lines for a `.env` file that lead an application here, under the names that Laravel and this program read.
  ///
  /// A block for each app; of several, each has its id as a comment above it.
  func environmentBlock(port: UInt16) -> String {
    apps.map { block($0, port: port) }.joined(separator: "\n")
  }

  private func block(_ app: ServedApp, port: UInt16) -> String {
    // Nobody can connect to "any address".
    let reachable = ["0.0.0.0": "127.0.0.1", "::": "::1"][host] ?? host
    let values = [
      ("BROADCAST_CONNECTION", "pusher"), ("PUSHER_APP_ID", app.id), ("PUSHER_APP_KEY", app.key),
      ("PUSHER_APP_SECRET", app.secret.revealed), ("PUSHER_HOST", reachable),
      ("PUSHER_PORT", String(port)), ("PUSHER_SCHEME", certificate == nil ? "http" : "https"),
      ("PUSHER_APP_CLUSTER", "mt1"),
    ]
    let lines = values.map { "\($0.0)=\(Self.quoted($0.1))\n" }.joined()
    return (apps.count > 1 ? "# app \(app.id)\n" : "") + lines
  }

  /// A value as shells and readers of `.env` files take it.
  private static func quoted(_ value: String) -> String {
    let isPlain = value.utf8.allSatisfy { byte in
      byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 26 || "-._:/@%+,".utf8.contains(byte)
    }
    guard !isPlain else { return value }
    var text = "\""
    for character in value {
      if "\\\"$`".contains(character) { text += "\\" }
      text.append(character)
    }
    return text + "\""
  }
}
