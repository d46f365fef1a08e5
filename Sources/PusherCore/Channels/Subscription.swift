/// One channel that is wanted, and how far it has come on the present connection.
struct Subscription: Equatable {
  enum State: Equatable {
    /// There is no connection, or its turn has not come.
    case waiting
    /// A signature was asked for.
    case authorizing
    /// A signature will be asked for again at this time.
    case delayed(until: Instant)
    /// The server was asked, and should have answered by this time.
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
  /// What the server said about it while its answer was due, and what may be a refusal.
  var remark: String?
  /// The key of an encrypted channel, as the last authorisation brought it.
  var key: ChannelKey?
  /// Set while a key that failed is asked for anew.
  var rekeying: Rekeying?
  /// When that was last done without success.
  var rekeyedAt: Instant?
  /// Who is there, on presence channels; kept over a loss, to tell who came and went meanwhile.
  var roster: PresenceRoster?

  init(channel: String) {
    self.channel = channel
    kind = ChannelKind(channelName: channel)
  }

  /// Whether nothing more is expected for now.
  var isSettled: Bool { state.isSettled }
}
