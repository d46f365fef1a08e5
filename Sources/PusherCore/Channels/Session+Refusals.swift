/// The part of the session that finds out which channel an error of the server refuses.
///
/// No two servers say it alike: soketi names the channel in a message of its own, sockudo beside the error, Pusher and
/// ipe somewhere in its text, Reverb not at all.
extension Session {
  /// A channel's name in an error's text may be followed by so many signs that end sentences.
  private static let longestPunctuation = 3

  /// Takes a `pusher:error` for the refusal that it is; answers whether it is one.
  ///
  /// Certain are an error beside a channel's name, one about a signature, which answers the first question without an
  /// answer where it names no channel, and one that names an unanswered channel in words of a refusal. What may be one is
  /// kept: it explains why no answer comes.
  mutating func refused(
    code: Int?, message: String, channel: String?, at now: Instant
  ) -> Bool {
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

  /// What is said of a refusal without words.
  static let noReason = "the server gives no reason"

  /// The words of a refusal, as far as their letters are the same in upper and lower case.
  private static func isRefusal(_ message: String) -> Bool {
    message.holds("uth") || message.holds("orbidden") || message.holds("enied")
      || message.holds("nvalid") || message.holds("allowed")
  }

  /// Keeps what may be the answer about a channel: that named one, or the only one that is unanswered.
  private mutating func noteRemark(_ message: String, about channel: String?) {
    guard !message.isEmpty, let channel = channel ?? subscriptions.onlyRequest,
      subscriptions.isRequest(channel)
    else { return }
    subscriptions[channel]?.remark = message
  }

  /// The unanswered channel that a text names, the longest of several.
  ///
  /// A name counts only as a whole, since one channel's name may be a part of another's.
  private func channelNamed(in message: String) -> String? {
    let words = message.utf8.split { !ChannelName.isLegal($0) }
    var longest: String?
    for word in words where word.count <= ChannelName.maximumLength + Self.longestPunctuation {
      guard let name = unansweredChannel(in: word) else { continue }
      if name.utf8.count > longest?.utf8.count ?? 0 { longest = name }
    }
    return longest
  }

  /// The unanswered channel that a word is, perhaps with signs behind it that a name may hold too.
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

extension SubscriptionFailure {
  /// A refusal that cannot be read for sure.
  static func unclear(_ message: String) -> SubscriptionFailure {
    SubscriptionFailure(type: "SubscriptionError", message: message)
  }
}
