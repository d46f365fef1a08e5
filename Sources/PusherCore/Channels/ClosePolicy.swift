/// Close codes of the protocol page, section "Connection closure".
enum ClosePolicy {
  /// Chooses the reaction to `loss`; a stable connection is dialled again at once, as in libPusher.
  ///
  /// - Parameter lastError: Code of the last `pusher:error`. It counts if no close frame brings a
  ///   4xxx code: Reverb sends only the error, and drops the socket or leaves it open without a
  ///   greeting.
  static func decide(_ loss: ConnectionLoss, lastError: Int?) -> ReconnectDecision {
    if let code = effectiveCode(loss, lastError: lastError) {
      return switch code {
      case 4000..<4100: .refused
      case 4200..<4300: .atOnce
      default: .backOff
      }
    }
    return switch loss {
    case .refused(let status, _, _): HTTPStatus.isTemporary(status) ? .backOff : .refused
    case .dropped, .handshakeTimeout: .backOff
    default: .atOnce
    }
  }

  /// Returns the 4xxx code that explains the loss.
  static func effectiveCode(_ loss: ConnectionLoss, lastError: Int?) -> Int? {
    switch loss {
    case .closed(let code?, _) where (4000..<5000).contains(code): code
    case .closed, .network, .handshakeTimeout:
      lastError.flatMap { (4000..<4300).contains($0) ? $0 : nil }
    default: nil
    }
  }
}
