internal import PusherCore

enum UserSignIn: Equatable, Sendable {
  case unwanted
  /// Signs the user's JSON with the secret.
  case secret(Secret, userData: String)
  case endpoint(AuthorizationEndpoint)
  case command(String)
}

extension SettingsReader {
  private static let watchlistLimit = 100

  /// Returns the sign-in that options name, else the source's secret with `--user-id`.
  mutating func userSignIn(_ source: CredentialSource) throws(UsageError) -> UserSignIn {
    if let url = typed.text(.userAuthEndpoint) {
      return .endpoint(try endpoint(url, .userAuthEndpoint))
    }
    if let command = typed.text(.userAuthCommand) { return .command(command) }
    guard typed.isOn(.signIn) else { return .unwanted }
    guard let member = try member() else {
      throw UsageError("--sign-in needs --user-id, --user-auth-endpoint or --user-auth-command")
    }
    guard let secret = try secret(source) else {
      throw UsageError(
        "--sign-in needs a signature: give --secret-file, PUSHER_APP_SECRET, "
          + "--user-auth-endpoint or --user-auth-command")
    }
    return .secret(secret, userData: try userData(member))
  }

  /// Returns `{"id":…,"user_info":…,"watchlist":[…]}`.
  private func userData(_ member: PresenceMember) throws(UsageError) -> String {
    let watched = typed.texts(.watch)
    guard watched.count <= Self.watchlistLimit else {
      throw UsageError(
        "--watch: a watchlist has at most \(Self.watchlistLimit) users, not \(watched.count)")
    }
    let user = JSONValue.object(present: [
      "id": .string(member.userID),
      "user_info": member.userInfo.flatMap { try? JSONParser.parse($0) },
      "watchlist": watched.isEmpty ? .none : .array(watched.map(JSONValue.string)),
    ])
    return JSONWriter.text(user)
  }
}
