/// Takes application events off the stream before anybody else reads them: the hot path.
///
/// A tap must not refer to the client it is given to; the client keeps it.
package protocol MessageTap: AnyObject {
  /// Looks at one text message; the view lasts for this call.
  func take(_ message: ByteView) -> TapVerdict
}

/// What a tap did with a message.
package enum TapVerdict {
  /// It was an application event, and is dealt with.
  case taken
  /// The same, and no more should be handed out until the client's owner says so.
  case takenAndFull
  /// The message goes the general way.
  case declined
}
