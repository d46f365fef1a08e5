/// The part of the session that goes from one server or app to another.
extension Session {
  /// Goes on with other options, on a connection of its own; `reason` says why the present one ends.
  ///
  /// The owner has another server, app or way of signing ready. All channels and the user stay wanted and are asked for
  /// anew; attempts are counted anew; the time from the last message to the last confirmation is a gap. Before the first
  /// ``connect(at:)`` only the options change, after the end nothing does.
  package mutating func move(to options: SessionOptions, reason: String, at now: Instant) {
    guard phase != .ended else { return }
    replace(options)
    switch phase {
    case .idle, .ended: return
    case .waiting: break
    case .connecting:
      forgetConnection(at: now)
      emit(.abort)
    case .connected:
      forgetConnection(at: now)
      emit(.close)
      emit(.abort)
      let loss = ConnectionLoss.dropped(reason)
      report(.connection(.disconnected(loss, code: nil, retryIn: .zero, attempt: 0)))
    }
    dialSoon(at: now)
  }
}
