internal import PusherCore

/// A second feed with new settings, which replaces the first once every channel is subscribed.
///
/// A lost or failed connection is retried. A refusal ends the trial.
final class SettingsTrial {
  let settings: SubscribeSettings
  let feed: ChannelsFeed
  private let sink: TrialSink
  private let diagnostics: Diagnostics
  private var missing: NameSet
  private var isSignedIn: Bool
  private(set) var held = HeldEvents()
  private let limit: Int
  private var isOver = false
  var onSuccess: (() -> Void)?
  /// Called with the reason after the settings failed and the feed ended.
  var onFailure: ((String) -> Void)?

  init(
    _ settings: SubscribeSettings, channels: [String], printer: EventPrinter, loop: EventLoop,
    longestSilence: Duration?, diagnostics: Diagnostics
  ) throws {
    (self.settings, self.diagnostics) = (settings, diagnostics)
    limit = settings.printing.bufferSize
    missing = NameSet(channels)
    isSignedIn = settings.userSignIn == .unwanted
    sink = TrialSink(printer)
    var options = settings.sessionOptions(longestSilence: longestSilence)
    // Also retry the first connection.
    if options.reconnect.mode == .automatic { options.reconnect.mode = .always }
    options.reconnect.retriesRefusals = false
    feed = try settings.makeFeed(options, sink: sink, loop: loop)
    feed.fieldSource = settings.refreshedHeaders(loop, diagnostics)
    feed.delegate = self
    if !isSignedIn { feed.signIn() }
    for channel in channels { feed.subscribe(channel) }
  }

  func start() {
    feed.connect()
    succeedIfComplete()
  }

  func cancel() {
    isOver = true
    feed.retire()
  }

  /// Hands the feed over to `owner`; the printer gets all later messages.
  func handOver(to owner: any ChannelsFeedDelegate) {
    isOver = true
    sink.isLive = true
    feed.delegate = owner
  }

  private var host: String { settings.connection.host }

  private func fail(_ reason: String) {
    guard !isOver else { return }
    cancel()
    onFailure?("\(host): \(reason)")
  }

  private func succeedIfComplete() {
    guard !isOver, feed.session.isConnected, isSignedIn, missing.isEmpty else { return }
    onSuccess?()
  }

  private func hold(_ item: HeldEvents.Item) {
    held.add(item)
    failIfFull()
  }

  private func failIfFull() {
    guard held.cost > limit else { return }
    fail(
      "more than \(Quantities.words(size: limit)) of events came before all channels were "
        + "subscribed (--buffer sets the limit)")
  }
}

extension SettingsTrial: ChannelsFeedDelegate {
  func feed(received event: Envelope, named name: String?, at now: Instant) {
    guard !isOver else { return }
    held.add(event, named: name)
    failIfFull()
  }

  func feed(reports event: SessionEvent, at now: Instant) {
    guard !isOver else { return }
    switch event {
    case .connected: held.removeAll()
    case .subscribed(let channel, _): missing.remove(channel)
    case .signedIn: isSignedIn = true
    case .subscriptionFailed(let channel, let failure):
      return fail("\(channel) refused: \(Redaction.redact(failure.message))")
    case .signInFailed(let failure):
      return fail("sign-in refused: \(Redaction.redact(failure.message))")
    default: break
    }
    hold(.session(event))
    succeedIfComplete()
  }

  func feed(reports event: ConnectionEvent, at now: Instant) {
    guard !isOver else { return }
    switch event {
    case .disconnected(let loss, let code, let delay?, _):
      missing = NameSet(feed.session.channels.filter { UserChannel.userID(channelName: $0) == nil })
      isSignedIn = settings.userSignIn == .unwanted
      held.removeAll()
      diagnostics.warning(
        "SIGHUP: \(host): \(words(loss, code)); keeping the current connection and retrying in "
          + delay.inWords)
    case .ended(.lost(let loss, let code)), .ended(.retriesExhausted(let loss, let code, _)):
      fail(words(loss, code))
    default: break
    }
  }

  private func words(_ loss: ConnectionLoss, _ code: Int?) -> String {
    Redaction.redact("\(loss)") + settings.hints.hint(loss, code: code)
  }

  func feed(exchanged text: @autoclosure () -> String, isSent: Bool) {
    diagnostics.debug("\(isSent ? ">" : "<") \(Redaction.redact(text()))")
  }

  func feedSinkIsFull() {}
  func feedClosed() {}
}

/// Passes messages to the session until it is live, then to the printer.
private final class TrialSink: EventSink {
  private let printer: EventPrinter
  var isLive = false

  init(_ printer: EventPrinter) { self.printer = printer }
  func take(message: ByteView) -> SinkVerdict {
    isLive ? printer.take(message: message) : .declined
  }
}
