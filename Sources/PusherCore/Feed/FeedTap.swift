/// Takes events off a feed before anybody else reads them: the hot path.
///
/// A tap must not refer to the feed it is given to; the feed keeps it. Each protocol has its own kind of event, and the
/// other is never asked about.
package protocol FeedTap: AnyObject {
  /// Looks at one text message of a channels' connection; the view lasts for this call.
  func take(message: ByteView) -> TapVerdict

  /// Looks at one event of an event stream; its views last for this call.
  func take(event: EventStreamEvent) -> TapVerdict
}

extension FeedTap {
  package func take(message: ByteView) -> TapVerdict { .declined }
  package func take(event: EventStreamEvent) -> TapVerdict { .declined }
}

/// What a tap did with an event.
package enum TapVerdict {
  /// It was an application's event, and is dealt with.
  case taken
  /// The same, and no more should be handed out until the feed's owner says so.
  case takenAndFull
  /// A message goes the general way; an event of an event stream is dropped.
  case declined
}
