internal import PusherCore
internal import PusherServer

/// Reports the webhooks of `webhook send`, and knows whether any was lost.
final class WebhookLedger {
  private let diagnostics: Diagnostics
  private(set) var sent = 0
  private(set) var hasLost = false
  /// Called for each report of lost webhooks.
  var onLoss: (() -> Void)?

  init(_ diagnostics: Diagnostics) { self.diagnostics = diagnostics }

  func note(_ event: ServerLogEvent) {
    if case .webhookSent = event { sent += 1 }
    if event.isProblem {
      diagnostics.warning("\(event)")
    } else {
      diagnostics.info("\(event)")
    }
    switch event {
    case .webhookDropped, .webhooksDiscarded:
      hasLost = true
      onLoss?()
    default: break
    }
  }
}
