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
