internal import PusherCore

/// Everything that one app is told by webhook.
final class WebhookDispatcher {
  private var delayed: DelayedNotices
  private let senders: [WebhookSender]
  private let loop: EventLoop
  private var timer: LoopTimer?

  /// `nil` for an app without webhooks.
  init?(
    _ application: Application, loop: EventLoop, tls: TLSContext?, policy: WebhookPolicy,
    report: @escaping (ServerLogEvent) -> Void, onIdle: @escaping () -> Void
  ) {
    guard !application.webhooks.isEmpty else { return nil }
    self.loop = loop
    delayed = DelayedNotices(delay: policy.delay)
    senders = application.webhooks.map { url in
      WebhookSender(
        loop: loop, url: url, application: application, tls: tls, policy: policy, report: report,
        onIdle: onIdle)
    }
    let timer = LoopTimer(deadline: nil) { [weak self] in self?.sendDue() }
    self.timer = timer
    loop.add(timer)
  }

  /// Sends what is new, or holds it back.
  func take(_ notices: [WebhookNotice], at now: Instant) {
    guard !notices.isEmpty else { return }
    send(notices.compactMap { delayed.take($0, at: now) })
    timer?.deadline = delayed.deadline
  }

  /// Whether nothing waits; what is held back does.
  var isIdle: Bool { delayed.deadline == nil && senders.allSatisfy(\.isIdle) }

  /// Sends what waits and what is held back, for the server ends: nobody comes back any more.
  func finish() {
    send(delayed.takeDue(at: Instant(nanoseconds: .max)))
    timer?.deadline = nil
    for sender in senders { sender.finish() }
  }

  /// Gives up what waits, and tells how much that is.
  func close() {
    timer.map(loop.remove)
    for sender in senders { sender.close() }
  }

  private func sendDue() {
    send(delayed.takeDue(at: loop.now))
    timer?.deadline = delayed.deadline
  }

  private func send(_ notices: [WebhookNotice]) {
    guard !notices.isEmpty else { return }
    let milliseconds = SystemClock.wall().millisecondsSince1970
    for notice in notices {
      for sender in senders { sender.send(notice, milliseconds: milliseconds) }
    }
  }
}
