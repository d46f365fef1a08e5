internal import PusherCore

/// Advice about an app whose events do not come; a given `.env` makes it specific.
enum AppAdvice {
  private static let page = "more: docs/when-nothing-arrives.md"

  /// Returns the advice after an event came back: the server delivers, so the rest is the app's.
  ///
  /// - Parameter channel: Channel of the command line; `nil` for one of the program's own.
  static func afterSuccess(_ app: BroadcastingApp, on channel: String?) -> [String] {
    [
      "the server delivers; if events of the app do not come, look at the app:",
      app.detour ?? broadcaster(app), queue(app), name(channel),
      "Laravel Echo wants a leading dot before a name of broadcastAs(): listen('.order.created')",
      page,
    ]
  }

  /// Returns the advice after an event was refused or did not come.
  static func afterFailure(_ app: BroadcastingApp) -> [String] {
    ["events of the app go the same way: repair this first"] + [app.detour].compactMap { $0 }
      + [page]
  }

  private static func broadcaster(_ app: BroadcastingApp) -> String {
    if let setting = app.broadcaster {
      return "\(setting.origin) is '\(setting.value)': is it so where the app runs?"
    }
    guard let file = app.file else {
      return "Laravel sends only if BROADCAST_CONNECTION is reverb or pusher: give its .env with "
        + "--env-file"
    }
    return "\(file) has no BROADCAST_CONNECTION: set it to reverb or pusher"
  }

  private static func queue(_ app: BroadcastingApp) -> String {
    switch app.queue {
    case let queue? where queue.value.isSame(as: "sync"):
      "\(queue.origin) is 'sync': events need no queue worker"
    case let queue?:
      "\(queue.origin) is '\(queue.value)': does a queue worker run (php artisan queue:work)? "
        + "only ShouldBroadcastNow needs none"
    case nil:
      "does a queue worker run (php artisan queue:work)? only ShouldBroadcastNow needs none"
    }
  }

  private static func name(_ channel: String?) -> String {
    guard let channel else {
      return "does the app send to the channel of your subscriber, with private- or presence-?"
    }
    guard ChannelKind(channelName: channel) == .public else {
      return "does the app send to \(channel)? "
        + "PrivateChannel and PresenceChannel of Laravel add the prefix"
    }
    return "does the app send to \(channel)? private-\(channel) and presence-\(channel) are "
      + "different channels"
  }
}
