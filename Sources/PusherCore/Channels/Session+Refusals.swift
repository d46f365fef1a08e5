/// Finds the channel that a server's error refuses.
///
/// Servers differ: soketi names the channel in a separate message, sockudo beside the error, Pusher
/// and ipe somewhere in its text, Reverb not at all.
extension Session {
  /// Maximum number of punctuation marks after a channel's name in an error's text.
  private static let longestPunctuation = 3

  /// Handles a `pusher:error` that is a refusal; returns `false` for any other error.
  ///
  /// The error has a channel's name beside it; or it is about a signature, and belongs to the first
  /// unanswered channel if it names none; or it names an unanswered channel and speaks of a
  /// refusal. An error that may be a refusal is kept, since it can explain a missing answer.
  mutating func refused(code: Int?, message: String, channel: String?, at now: Instant) -> Bool {
    let named = channel ?? channelNamed(in: message)
    let isAboutSignature = code == 4009 || message.holds("ignature")
    let refused: String?
    if channel != nil {
      refused = named
    } else if isAboutSignature {
      refused = named ?? subscriptions.firstGuardedRequest
    } else {
      refused = Self.isRefusal(message) ? named : nil
    }
    guard let refused, subscriptions.isGuardedRequest(refused) else {
      noteRemark(message, about: named)
      return false
    }
    let failure = SubscriptionFailure(
      type: "AuthError", message: message.isEmpty ? Self.noReason : message, status: 401)
    fail(refused, failure, at: now)
    return true
  }

  static let noReason = "the server gives no reason"

  /// Leaves out first letters, which may be in upper or lower case.
  private static func isRefusal(_ message: String) -> Bool {
    message.holds("uth") || message.holds("orbidden") || message.holds("enied")
      || message.holds("nvalid") || message.holds("allowed")
  }

  /// Keeps an error that may answer the named channel, or the only unanswered one.
  private mutating func noteRemark(_ message: String, about channel: String?) {
    guard !message.isEmpty, let channel = channel ?? subscriptions.onlyRequest,
      subscriptions.isRequest(channel)
    else { return }
    subscriptions[channel]?.remark = message
  }

  /// A name counts only as a whole word, because one name may be part of another.
  private func channelNamed(in message: String) -> String? {
    let words = message.utf8.split { !ChannelName.isLegal($0) }
    var longest: String?
    for word in words where word.count <= ChannelName.maximumLength + Self.longestPunctuation {
      guard let name = unansweredChannel(in: word) else { continue }
      if name.utf8.count > longest?.utf8.count ?? 0 { longest = name }
    }
    return longest
  }

  /// Punctuation that is legal in names may follow the channel.
  private func unansweredChannel(in word: Substring.UTF8View) -> String? {
    var word = word
    for _ in 0...Self.longestPunctuation {
      let name = String(Substring(word))
      if subscriptions.isRequest(name) { return name }
      guard let last = word.last, [0x2C, 0x2E, 0x3B].contains(last) else { return nil }
      word.removeLast()
    }
    return nil
  }
}
