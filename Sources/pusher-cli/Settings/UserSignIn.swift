internal import PusherCore

/// How the user of the connection signs in.
enum UserSignIn: Equatable, Sendable {
  /// No sign-in.
  case unwanted
  /// Signed here: the user's JSON.
  case secret(Secret, userData: String)
  /// Asked from the application, as pusher-js does.
  case endpoint(AuthorizationEndpoint)
  /// Printed by a shell command.
  case command(String)
}

extension SettingsReader {
  /// The most users that servers take in a watchlist.
  private static let watchlistLimit = 100

  /// The way to sign in that options name, else the source's secret with `--user-id`.
  ///
  /// - Throws: ``UsageError`` for `--sign-in` without any.
  mutating func userSignIn(_ source: CredentialSource) throws(UsageError) -> UserSignIn {
    if let url = typed.text(.userAuthEndpoint) {
      return .endpoint(try endpoint(url, .userAuthEndpoint))
    }
    if let command = typed.text(.userAuthCommand) { return .command(command) }
    guard typed.isOn(.signIn) else { return .unwanted }
    guard let member = try member() else {
      throw UsageError(
        "--sign-in needs --user-id, or --user-auth-endpoint or --user-auth-command")
    }
    guard let secret = try secret(source) else {
      throw UsageError(
        "--sign-in needs a signature: give --secret-file, PUSHER_APP_SECRET, "
          + "--user-auth-endpoint or --user-auth-command")
    }
    return .secret(secret, userData: try userData(member))
  }

  /// `{"id":…,"user_info":…,"watchlist":[…]}`.
  private func userData(_ member: PresenceMember) throws(UsageError) -> String {
    let watched = typed.texts(.watch)
    guard watched.count <= Self.watchlistLimit else {
      throw UsageError(
        "--watch: a watchlist has at most \(Self.watchlistLimit) users, this one \(watched.count)")
    }
    let user = JSONValue.object(present: [
      "id": .string(member.userID),
      "user_info": member.userInfo.flatMap { try? JSONParser.parse($0) },
      "watchlist": watched.isEmpty ? .none : .array(watched.map(JSONValue.string)),
    ])
    return JSONWriter.text(user)
  }
}
