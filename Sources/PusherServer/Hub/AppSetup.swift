internal import PusherCore
internal import Synchronization

/// Settings of an app, equal on all its nodes.
package struct AppSetup: Sendable {
  package let application: Application
  /// The app's own limits where set, else the server's.
  package let limits: ServerLimits
  package let text: MessageText
  package let naming: any ChannelNaming
  /// Observers of the app; `nil` if there can be none.
  var watch: Watch?

  /// Notices need a webhook or an observer; users' own channels have none.
  package func notes(_ notice: @autoclosure () -> WebhookNotice) -> Bool {
    guard !application.webhooks.isEmpty || watch?.isWatched == true else { return false }
    return !notice().channel.begins(with: "#")
  }

  package func tellsCount(of channel: String) -> Bool {
    application.sendsSubscriptionCounts && naming.kind(of: channel) != .presence
      && !channel.begins(with: "#")
  }
}

/// Number of observers.
///
/// Observers get notices that otherwise only webhooks get. Any thread may use it.
package final class Watch: Sendable {
  private let count = Atomic(0)

  var watchers: Int {
    get { count.load(ordering: .relaxed) }
    set { count.store(newValue, ordering: .relaxed) }
  }

  var isWatched: Bool { watchers > 0 }
}
