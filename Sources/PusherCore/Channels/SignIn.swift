/// Authentication of a sign-in.
public struct PusherUserAuth: Sendable, Equatable {
  /// `KEY:HEX`, sent byte for byte as signed.
  public var auth: String
  /// The user's JSON with its `id`, sent byte for byte as signed.
  public var userData: String

  /// Creates an authentication from the signer's parts.
  public init(auth: String, userData: String) { (self.auth, self.userData) = (auth, userData) }
}

/// The channel for a user's own events.
public enum UserChannel {
  /// Prefix of such channels.
  public static let prefix = "#server-to-user-"
  /// Maximum length of a user ID on Pusher, in characters.
  public static let maximumIDLength = 128

  /// Returns the channel of a user.
  public static func name(userID: String) -> String { prefix + userID }

  /// Returns the user of such a channel; `nil` for every other channel.
  public static func userID(channelName name: String) -> String? {
    guard let id = name.dropping(prefix: prefix), !id.isEmpty else { return nil }
    return id
  }
}

struct SignIn: Equatable {
  enum State: Equatable {
    case unwanted
    case waiting
    /// The signer was asked.
    case authenticating
    /// The signer is asked again at this time.
    case delayed(until: Instant)
    /// The server's rate limit allows no request now; the server may have dropped an earlier one.
    case held(Authorization)
    /// The server was asked, and must answer by this time.
    case requested(until: Instant)
    case done(userID: String)
    case failed
  }

  var state = State.unwanted
  var authorization: Authorization?
  var signatures = SignatureAttempts()
  /// The user's own channel, once subscribed.
  var channel: String?

  /// Some channels are only for users who are signed in.
  var isPending: Bool {
    switch state {
    case .waiting, .authenticating, .delayed, .held, .requested: true
    case .unwanted, .done, .failed: false
    }
  }

  var userID: String? {
    if case .done(let userID) = state { userID } else { nil }
  }

  var isHeld: Bool {
    if case .held = state { true } else { false }
  }

  var isRequested: Bool {
    if case .requested = state { true } else { false }
  }

  /// Answers are not late while nothing is read.
  func deadline(ignoringRequests: Bool) -> Instant? {
    switch state {
    case .delayed(let until): until
    case .requested(let until): ignoringRequests ? nil : until
    case .unwanted, .waiting, .authenticating, .held, .done, .failed: nil
    }
  }
}
