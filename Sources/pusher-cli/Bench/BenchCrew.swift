internal import PusherCore

/// Everything that the subscribers share: the loop, the server and the ledger.
final class BenchCrew {
  let loop: EventLoop
  let deadlines = DeadlineQueue()
  let ledger: DeliveryLedger
  let diagnostics: Diagnostics
  let channels: [String]
  weak var delegate: (any BenchSubscriberDelegate)?
  private let subscription: SubscribeSettings
  /// Made once: thousands of feeds share its texts.
  private let destination: Destination
  private let options: SessionOptions

  init(
    _ settings: BenchSettings, _ ledger: DeliveryLedger, loop: EventLoop, diagnostics: Diagnostics
  ) {
    (self.loop, self.ledger, self.diagnostics) = (loop, ledger, diagnostics)
    subscription = settings.subscription
    channels = subscription.channels
    destination = subscription.destination
    options = subscription.benchOptions
    loop.add(deadlines)
  }

  var isSecure: Bool { destination.url.isSecure }

  func makeFeed(_ subscriber: BenchSubscriber) throws -> ChannelsFeed {
    let sink = DeliverySink(
      ledger, subscriber: subscriber.number, channel: subscriber.channel,
      trace: diagnostics.showsMessages ? diagnostics : nil)
    return try ChannelsFeed(
      loop: loop, destination: destination, settings: subscription.webSocket, options: options,
      signer: subscription.signer(loop: loop), sink: sink)
  }
}

extension SubscribeSettings {
  /// Options of a session that keeps no list of members: a run may have a million of them.
  var benchOptions: SessionOptions {
    var options = sessionOptions()
    options.presence.members = 1
    return options
  }
}
