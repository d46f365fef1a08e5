/// One wanted channel, and its state on this connection.
struct Subscription: Equatable {
  enum State: Equatable {
    /// There is no connection, or the request waits its turn.
    case waiting
    /// A signature was asked for.
    case authorizing
    /// A signature will be asked for again at this time.
    case delayed(until: Instant)
    /// The server was asked, and has until this time to answer.
    case requested(until: Instant)
    /// The server confirmed it.
    case subscribed
    case failed

    /// Whether nothing more is expected for now.
    var isSettled: Bool { self == .subscribed || self == .failed }
  }

  let channel: String
  let kind: ChannelKind
  var state: State = .waiting
  var signatures = SignatureAttempts()
  /// An error that came while the answer was due, and may be the refusal.
  var remark: String?
  /// The key of an encrypted channel, as the last authorisation brought it.
  var key: ChannelKey?
  /// Set while a new key is asked for.
  var rekeying: Rekeying?
  /// When a new key last did not help.
  var rekeyedAt: Instant?
  /// The members of a presence channel; kept over a loss, to report changes afterwards.
  var roster: PresenceRoster?

  init(channel: String) {
    self.channel = channel
    kind = ChannelKind(channelName: channel)
  }

  /// Whether nothing more is expected for now.
  var isSettled: Bool { state.isSettled }
}
