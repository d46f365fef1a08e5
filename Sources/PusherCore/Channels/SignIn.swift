/// The authentication of a sign-in.
public struct PusherUserAuth: Sendable, Equatable {
  /// `KEY:HEX`, sent byte for byte as signed.
  public var auth: String
  /// The user's JSON, `id` in it, sent byte for byte as signed.
  public var userData: String

  /// The parts as the signer gave them.
  public init(auth: String, userData: String) {
    self.auth = auth
    self.userData = userData
  }
}

/// The channel on which a user's own events come.
public enum UserChannel {
  /// How the names of such channels begin.
  public static let prefix = "#server-to-user-"
  /// The longest user id that Pusher takes, in characters.
  public static let maximumIDLength = 128

  /// The channel of a user.
  public static func name(userID: String) -> String { prefix + userID }

  /// The user whose channel this is; `nil` for every other channel.
  public static func userID(channelName name: String) -> String? {
    guard let id = name.dropping(prefix: prefix), !id.isEmpty else { return nil }
    return id
  }
}

/// The state of the user's sign-in on this connection.
struct SignIn: Equatable {
  enum State: Equatable {
    case unwanted
    /// There is no connection.
    case waiting
    /// A signature was asked for.
    case authenticating
    /// A signature will be asked for again at this time.
    case delayed(until: Instant)
    /// The server's rate limit allows no request now; the server may have dropped an earlier one.
    case held(Authorization)
    /// The server was asked, and has until this time to answer.
    case requested(until: Instant)
    case done(userID: String)
    case failed
  }

  var state = State.unwanted
  /// The signature of the last request.
  var authorization: Authorization?
  var signatures = SignatureAttempts()
  /// The channel that was subscribed to for the user.
  var channel: String?

  /// Whether channels wait for it: some are only for users who are signed in.
  var isPending: Bool {
    switch state {
    case .waiting, .authenticating, .delayed, .held, .requested: true
    case .unwanted, .done, .failed: false
    }
  }

  var userID: String? {
    if case .done(let userID) = state { userID } else { nil }
  }

  /// Whether it waits for the server's rate limit.
  var isHeld: Bool {
    if case .held = state { true } else { false }
  }

  /// When something is due; answers are not late while nothing is read.
  func deadline(ignoringRequests: Bool) -> Instant? {
    switch state {
    case .delayed(let until): until
    case .requested(let until): ignoringRequests ? nil : until
    case .unwanted, .waiting, .authenticating, .held, .done, .failed: nil
    }
  }
}
