/// How the user of a socket is authenticated.
public enum UserAuthMethod: Sendable {
  /// A URL that is asked by `POST` with the form `socket_id=…`; a URL without a path gets the service's default,
  /// ``Service/userAuthenticationPath``.
  ///
  /// The answer is `{"auth":"KEY:HEX","user_data":"JSON"}`. The delegate can change the request:
  /// ``PusherDelegate/willAuthenticateUser(request:)``.
  case endpoint(authEndpoint: String)
  /// The app's secret: the user's data is signed in this process. Never ship the secret to users.
  ///
  /// The data is an object with `id` and, if wanted, `user_info` and `watchlist`.
  case inline(secret: String, userData: JSONValue)
  /// Any other way to a signature.
  case authenticator(authenticator: any Authenticator)
  /// No method: signing in fails with a clear error.
  case noMethod
}

extension UserAuthMethod: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The case's name; the secret is not shown.
  public var description: String {
    switch self {
    case .endpoint: "endpoint"
    case .inline: "inline"
    case .authenticator: "authenticator"
    case .noMethod: "noMethod"
    }
  }

  /// The same as ``description``.
  public var debugDescription: String { description }

  /// Empty, so that no dump shows the secret.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Gets a user's authentication by your own code.
public protocol Authenticator: Sendable {
  /// Answers with the user's authentication, or `nil` when there is no user.
  ///
  /// It is called on the callback thread for each sign-in and again after every reconnect. The completion handler may
  /// be called on any thread, at once or later; the first call counts, and one that comes after
  /// ``PusherClientOptions/connectTimeout`` or for an earlier socket is ignored.
  func fetchUserAuth(
    socketID: String, completionHandler: @escaping @Sendable (PusherUserAuth?) -> Void)
}
