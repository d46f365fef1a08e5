/// Events as sequences: plain, or with marks where events are missing.
extension PusherEventBindings {
  /// All events as a sequence, across reconnects, until the client disconnects.
  ///
  /// ```swift
  /// for await event in channel.events() { show(event) }
  /// ```
  ///
  /// <doc:ThreadsAndLifetime> says what ends the sequence. By default a slow reader loses events
  /// and never stops its client; with ``PusherBuffering/suspending`` no event is dropped.
  ///
  /// The sequence skips the places where events are missing. The client reports both kinds:
  /// - dropped events to ``PusherDelegate/connectionDroppedEvents(_:count:)``
  /// - gaps to ``PusherDelegate/connectionMayHaveMissedEvents(_:during:)``
  ///
  /// The logger gets a warning for each, and the metrics count them. ``feed(buffering:)`` marks
  /// both at their place among the events.
  public func events(buffering: PusherBuffering = .newest(1024)) -> PusherEvents {
    PusherEvents(read(buffering, reportsDrops: true) { _ in true })
  }

  /// Events of this name as a sequence; otherwise the same as ``events(buffering:)``.
  ///
  /// The buffer holds events of this name only.
  public func events(
    named eventName: String, buffering: PusherBuffering = .newest(1024)
  ) -> PusherEvents {
    PusherEvents(
      read(buffering, reportsDrops: true) { $0.eventName.isSame(as: eventName) })
  }

  /// All events as a sequence that also marks losses and gaps, at the place of the missing events.
  ///
  /// ```swift
  /// for await element in channel.feed() {
  ///   switch element {
  ///   case .event(let event): show(event)
  ///   case .lost(let count): warn("\(count) events were dropped")
  ///   case .gap(let gap): await reload(since: gap.from)
  ///   }
  /// }
  /// ```
  ///
  /// It begins, buffers and ends as ``events(buffering:)`` does. Delegate, logger and metrics are
  /// not told of losses in a feed, but of gaps.
  public func feed(buffering: PusherBuffering = .newest(1024)) -> PusherEventFeed {
    PusherEventFeed(read(buffering, reportsDrops: false) { _ in true })
  }

  private func read(
    _ buffering: PusherBuffering, reportsDrops: Bool,
    where isWanted: @escaping @Sendable (PusherEvent) -> Bool
  ) -> StreamReader<PusherEvent> {
    let binding = PusherBinding()
    let drops = reportsDrops ? handlers.connection.drops : nil
    let queue = EventQueue<PusherEvent>(buffering) { [weak connection = handlers.connection] in
      connection?.hold(reading: $0)
    } whenDropped: {
      drops?.add()
    } whenCancelled: { [weak list = handlers.list] _, _ in
      list?.unbind(binding)
    }
    let take: @Sendable (PusherEvent) -> Void = { if isWanted($0) { queue.add($0) } }
    handlers.list.insert(EventHandler(binding, call: take, queue: queue), for: nil)
    return StreamReader(queue)
  }
}
