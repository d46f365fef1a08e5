/// The part of the session that sends client events, and lets the owner move a retry.
extension Session {
  /// Sends a client event; answers false, and sends nothing, while its channel is not subscribed.
  ///
  /// The owner queues events that wait, because the queue outlives the session, which serves one ``connect(at:)``.
  package mutating func trigger(_ event: ClientEvent) -> Bool {
    guard isConnected, subscriptions[event.channel]?.state == .subscribed else { return false }
    emit(.send(command.clientEvent(event)))
    return true
  }

  /// Moves the next attempt to connect; does nothing unless one is waited for.
  package mutating func retry(in delay: Duration, at now: Instant) {
    guard case .waiting = phase else { return }
    wait(until: now.advanced(by: max(delay, .zero)))
  }
}
