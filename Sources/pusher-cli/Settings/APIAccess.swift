internal import PusherCore

struct APIAccess: Equatable, Sendable {
  var connection: ConnectionSettings
  var appID: String
  var secret: Secret
  var headers: [NamedValue] = []

  /// The app's API, which signs the calls and reads the answers.
  var client: APIClient { client(nil) }

  /// - Parameter newer: The secret in place of the one of the start; `nil` for that one.
  func client(_ newer: Secret?) -> APIClient {
    APIClient(
      appID: appID, key: connection.key, secret: (newer ?? secret).revealed, url: connection.apiURL,
      prefix: connection.path, headers: HTTPHeaders(headers.map { ($0.name, $0.value) }))
  }
}

extension SettingsReader {
  mutating func apiAccess() throws(UsageError) -> APIAccess {
    let source = try source(.api)
    let connection = try connection(.api, source)
    guard let appID = typed.setting(.appID) ?? source.appID else {
      throw UsageError("no app id: give --app-id or PUSHER_APP_ID")
    }
    try requireWord(appID, what: "app id")
    return APIAccess(
      connection: connection, appID: appID.value, secret: try requiredSecret(source),
      headers: try headers(.header))
  }

  mutating func signer() throws(UsageError) -> (key: String, secret: Secret) {
    let source = try source(.api)
    return (try key(source).value, try requiredSecret(source))
  }

  private mutating func requiredSecret(_ source: CredentialSource) throws(UsageError) -> Secret {
    guard let secret = try secret(source) else {
      throw UsageError("no secret: give --secret-file or PUSHER_APP_SECRET")
    }
    return secret
  }

  func socketID() throws(UsageError) -> String? {
    guard let id = typed.text(.socketID) else { return nil }
    let parts = id.split(separator: ".", omittingEmptySubsequences: false)
    let areNumbers = parts.allSatisfy { !$0.isEmpty && Quantities.integer(String($0)) != nil }
    guard parts.count == 2, areNumbers else {
      throw UsageError("--socket-id: '\(id)' is not a socket id such as 123.456")
    }
    return id
  }

  /// Returns the words of `--info` without duplicates; an option may have several, with commas.
  func info() throws(UsageError) -> [String] {
    let known = ["user_count", "subscription_count", "cache"]
    var words: [String] = []
    for text in typed.texts(.info) {
      for word in text.split(separator: ",").map(String.init) where !words.contains(word) {
        guard known.contains(word) else {
          let clause = Suggestion.clause(for: word, in: known)
          throw UsageError(
            "--info: '\(word)' is not one of \(known.joined(separator: ", "))\(clause)")
        }
        words.append(word)
      }
    }
    return words
  }
}
