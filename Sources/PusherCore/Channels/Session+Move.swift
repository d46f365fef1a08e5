extension Session {
  /// Continues with other options on a new connection; `reason` says why the present one ends.
  ///
  /// All channels and the user stay wanted and are requested again; attempts are counted from zero.
  /// The time from the last message to the last confirmation is a gap. Before the first
  /// ``connect(at:)``, only the options change. After the end, nothing changes.
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
