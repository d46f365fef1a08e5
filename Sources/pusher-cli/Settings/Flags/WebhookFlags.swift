extension Flag {
  /// Options of `webhook send`.
  static let watching: [Flag] = [
    .webhookTo, .webhookEvent, .webhookChannel, .every, .initial, .webhookMaxChannels,
    .webhookUserID,
  ]

  /// Options of one word of `webhook`; all others apply to both.
  ///
  /// Only `send` connects. So it alone has the options that `channels` has for its connection, and
  /// `auth`, which signs without one, has not.
  static let ofWebhookSend: [Flag] =
    watching + [.webhookDelay, .maxMembers, .reconnect]
    + Flags.of(.webhook).filter {
      Flags.of(.channels).contains($0) && !Flags.of(.auth).contains($0)
    }
  static let ofWebhookListen: [Flag] = [
    .webhookListen, .portFile, .count, .timestamps, .whereExpression, .failWhere,
  ]

  static let webhookTo = Flag(
    "to", .text("URL"), isRepeatable: true, shows: .place, of: [.webhook], in: .serve,
    isCommon: true, summary: "send webhooks to URL",
    manual: """
      With `webhook send`, send webhooks to URL. May be repeated. Each URL has its own queue, as with --webhook of
      `serve`. Events that are known at the same moment share a webhook, up to 100 of them. A webhook that is lost
      changes status 0 to 4.
      """)

  static let webhookEvent = Flag(
    "event", letter: "e", .text("GLOB"), isRepeatable: true, of: [.webhook], in: .serve,
    isCommon: true, summary: "send only webhooks whose name matches",
    manual: """
      With `webhook send`, send only webhooks whose name matches GLOB. The names are `channel_occupied`,
      `channel_vacated`, `member_added`, `member_removed` and `client_event`. With `-e 'channel_*'` the program joins no
      channel, so nobody sees it as a member. May be repeated; one match is enough.
      """)

  static let webhookChannel = Flag(
    "channel", letter: "c", .text("NAME"), isRepeatable: true, of: [.webhook], in: .serve,
    isCommon: true, summary: "join NAME too, for its client events",
    manual: """
      With `webhook send`, join channel NAME too, for its client events. The program joins presence channels by itself,
      and other channels only if you name them. It is then a subscriber of NAME, and does not count itself. For that,
      the server must count subscriptions; otherwise nothing reports whether NAME is occupied, and a warning says so.
      May be repeated.
      """)

  static let every = Flag(
    "every", .duration, of: [.webhook], in: .serve, isCommon: true, default: "2s",
    summary: "look for occupied channels every TIME",
    manual: """
      With `webhook send`, list the occupied channels every TIME. The default is {default}. No webhook reports a channel
      that came and went between two lists.
      """)

  static let initial = Flag(
    "initial", isOnByDefault: true, of: [.webhook], in: .serve,
    summary: "leave out the channels and members of the start",
    manual: """
      Report the channels and members that are there when `webhook send` starts. This is the default, because a receiver
      may not know them. `--no-initial` reports only what changes after the start.
      """)

  static let webhookMaxChannels = Flag(
    "max-channels", .integer(1...1_000_000), of: [.webhook], in: .serve, default: "10000",
    summary: "join at most N presence channels",
    manual: """
      With `webhook send`, join at most N presence channels. The default is {default}. Nothing reports the members of
      further channels, and one warning says so.
      """)

  static let webhookUserID = Flag(
    "user-id", .text("ID"), of: [.webhook], in: .authorization, default: "pusher-cli-webhook",
    summary: "appear as this user",
    manual: """
      With `webhook send`, join presence channels as user ID. The default is `{default}`. The other members see this
      user come and go. Webhooks never report the user, so all programs that send webhooks of an app should have the
      same ID.
      """)
}
