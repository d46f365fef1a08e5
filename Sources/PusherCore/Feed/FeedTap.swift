/// Takes events off a feed before the session reads them: the hot path.
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
  /// It was an application's event, and is done.
  case taken
  /// The same, and the feed must pause until its owner resumes it.
  case takenAndFull
  /// A message takes the general path; an event of an event stream is dropped.
  case declined
}
