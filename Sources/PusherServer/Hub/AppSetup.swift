internal import PusherCore

/// An app as all its nodes serve it.
package struct AppSetup: Sendable {
  package let application: Application
  /// Those of the app where it has its own.
  package let limits: ServerLimits
  package let text: MessageText
  package let naming: any ChannelNaming
  /// Who looks on; `nil` where nobody can.
  var watch: Watch?

  /// Whether a notice is wanted: somebody looks on or gets webhooks, and it is not of a user's own channel.
  package func notes(_ notice: @autoclosure () -> WebhookNotice) -> Bool {
    guard !application.webhooks.isEmpty || watch?.isWatched == true else { return false }
    return !notice().channel.begins(with: "#")
  }

  /// Whether subscribers of a channel are told how many they are.
  package func tellsCount(of channel: String) -> Bool {
    application.sendsSubscriptionCounts && naming.kind(of: channel) != .presence
      && !channel.begins(with: "#")
  }
}
