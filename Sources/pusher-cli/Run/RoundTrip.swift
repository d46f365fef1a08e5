internal import PusherCore

/// The event of `check --publish`; its data tells it from the event of every other run.
struct CheckEvent: Equatable, Sendable {
  static let name = "pusher-cli-check"

  let channel: String
  /// 32 hexadecimal digits.
  let token: String

  init(on channel: String, token: String = Hex.encode(SecureRandom.bytes(16))) {
    (self.channel, self.token) = (channel, token)
  }

  /// Returns the name of a public channel that no app uses.
  static func ownChannel() -> String { "\(name)-\(Hex.encode(SecureRandom.bytes(4)))" }

  var data: String { #"{"token":"\#(token)"}"# }

  func isCarried(by event: Envelope) -> Bool {
    event.eventName.isSame(as: Self.name) && event.channelName?.isSame(as: channel) == true
      && event.dataText?.holds(Array(token.utf8)) == true
  }
}

/// The last stage of `check --publish`: an event goes to the HTTP API and comes back on the
/// subscription.
struct RoundTrip {
  private let settings: RoundTripSettings
  private let calls: CheckCalls
  private let conversation: CheckConversation
  private let loop: EventLoop
  private let diagnostics: Diagnostics

  /// A server on another continent needs less.
  static let usual = Duration.seconds(1)

  init(
    _ settings: RoundTripSettings, calls: CheckCalls, conversation: CheckConversation,
    loop: EventLoop, diagnostics: Diagnostics
  ) {
    (self.settings, self.calls, self.conversation) = (settings, calls, conversation)
    (self.loop, self.diagnostics) = (loop, diagnostics)
  }

  /// Publishes on a subscribed channel; `nil` means a channel of the program's own.
  func run(on channel: String?) throws(CheckFailure) -> CheckOutcome {
    do throws(CheckFailure) {
      let time = try time(on: channel)
      if let warning = Self.warning(after: time) { diagnostics.warning(warning) }
      return .returned(
        after: time, on: channel, advice: AppAdvice.afterSuccess(settings.app, on: channel))
    } catch {
      var failure = error
      failure.advice += AppAdvice.afterFailure(settings.app)
      throw failure
    }
  }

  private func time(on channel: String?) throws(CheckFailure) -> Duration {
    let event = CheckEvent(on: channel ?? CheckEvent.ownChannel())
    if channel == nil { _ = try conversation.subscribe(to: event.channel) }
    conversation.expect(event)
    let start = loop.now
    try calls.publish(event, encryptedWith: settings.encryptionKey)
    diagnostics.info("published \(CheckEvent.name) to \(event.channel)")
    guard let arrival = try conversation.arrival() else { throw missing(event) }
    return start.duration(to: arrival)
  }

  static func warning(after time: Duration) -> String? {
    guard time > usual else { return nil }
    return "round trip: the event came late, after \(time.inWords); "
      + "are the server, its Redis or a proxy on the way busy?"
  }

  /// Asks the HTTP API whether it knows the subscription, which tells two servers from one.
  private func missing(_ event: CheckEvent) -> CheckFailure {
    let connection = calls.access.connection
    var failure = CheckFailure(
      expected: "the event on \(event.channel)",
      came: "the HTTP API accepted the event, but nothing came within "
        + connection.connectTimeout.inWords,
      cause: .overloaded)
    switch calls.isOccupied(event.channel) {
    case false?:
      failure.isMismatch = true
      failure.advice = [
        "the HTTP API sees no subscriber: it serves another app or another node than the WebSocket",
        "check app id \(calls.access.appID) and --api-url; do all nodes share one Redis?",
      ]
    case true?:
      failure.advice = ["the HTTP API sees the subscriber, so the event got lost inside the server"]
    case nil:
      failure.advice = ["the HTTP API does not say whether it sees the subscriber"]
    }
    return failure
  }
}

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
