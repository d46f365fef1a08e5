/// The close-code ranges of the protocol page, section "Connection closure".
enum ClosePolicy {
  /// Decides what follows from `loss`.
  ///
  /// - Parameters:
  ///   - lastError: The code of the last `pusher:error` on the connection. Some servers (Reverb) send only that and
  ///     drop the socket, or leave it open without a greeting, so it counts when no close frame brings a 4xxx code.
  ///   - lived: How long the connection was established; `nil` when it never was.
  static func decide(
    _ loss: ConnectionLoss, lastError: Int?, lived: Duration?
  ) -> ReconnectDecision {
    if let code = effectiveCode(loss, lastError: lastError) {
      return decide(code: code, lived: lived)
    }
    switch loss {
    case .refused(let status, _, _):
      return HTTPStatus.isTemporary(status) ? .backOff : .stop
    case .noPong: return isStable(lived) ? .atOnce : .backOff
    default: return .backOff
    }
  }

  /// The 4xxx code that explains the loss, if there is one.
  static func effectiveCode(_ loss: ConnectionLoss, lastError: Int?) -> Int? {
    switch loss {
    case .closed(let code?, _) where (4000..<5000).contains(code): code
    case .closed, .network, .handshakeTimeout:
      lastError.flatMap { (4000..<4300).contains($0) ? $0 : nil }
    default: nil
    }
  }

  private static func decide(code: Int, lived: Duration?) -> ReconnectDecision {
    switch code {
    case 4000..<4100: .stop
    case 4200..<4300: isStable(lived) ? .atOnce : .backOff
    default: .backOff
    }
  }

  static func isStable(_ lived: Duration?) -> Bool {
    guard let lived else { return false }
    return lived >= Reconnector.stableAfter
  }
}
