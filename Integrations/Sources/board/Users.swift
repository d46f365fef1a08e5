/// A user of the program.
struct User: Sendable {
  var id: String
  var name: String

  /// Everybody may read orders and enter rooms, but not the vault.
  func mayRead(_ channel: String) -> Bool { channel != "private-vault" }
}

/// Users by the token that their clients send as `Authorization: Bearer TOKEN`.
///
/// Your program asks its sessions or its identity provider here.
struct Users: Sendable {
  var byToken: [String: User]

  /// Returns the user of a request; `nil` without a known token.
  func user(authorization: String?) -> User? {
    guard let authorization, authorization.hasPrefix("Bearer ") else { return nil }
    return byToken[String(authorization.dropFirst("Bearer ".count))]
  }
}
