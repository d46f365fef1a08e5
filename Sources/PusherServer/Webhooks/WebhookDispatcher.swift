package import PusherCore

/// Delays departure notices, because a member who returns soon has not left.
package struct DelayedNotices {
  private struct Key: Hashable {
    let channel: Name
    /// `nil` for the channel itself.
    let userID: Name?
  }

  private struct Departure {
    let key: Key
    let notice: WebhookNotice
    let due: Instant
    let number: Int
  }

  /// Maximum number of delayed departures; further ones are sent at once.
  package static let limit = 10_000

  private let delay: Duration
  private var departures: [Departure] = []
  /// Numbers of departures that no arrival has cancelled.
  private var standing: [Key: Int] = [:]
  private var count = 0

  package init(delay: Duration) { self.delay = delay }

  package var deadline: Instant? { departures.first?.due }

  /// Returns the notice if it should be sent at once.
  ///
  /// An arrival that cancels a departure is not sent.
  package mutating func take(_ notice: WebhookNotice, at now: Instant) -> WebhookNotice? {
    let key = Key(channel: Name(notice.channel), userID: notice.userID.map { Name($0) })
    switch notice.kind {
    case .channelOccupied, .memberAdded:
      return standing.removeValue(forKey: key) == nil ? notice : nil
    case .clientEvent, .cacheMiss, .subscriptionCount: return notice
    case .channelVacated, .memberRemoved:
      guard delay > .zero, departures.count < Self.limit else { return notice }
      count += 1
      standing[key] = count
      departures.append(
        Departure(key: key, notice: notice, due: now.advanced(by: delay), number: count))
      return nil
    }
  }

  /// Returns the departures whose delay has passed.
  package mutating func takeDue(at now: Instant) -> [WebhookNotice] {
    let due = departures.prefix { $0.due <= now }
    departures.removeFirst(due.count)
    return due.compactMap { departure in
      guard standing[departure.key] == departure.number else { return nil }
      standing[departure.key] = nil
      return departure.notice
    }
  }
}

/// Sends an app's webhooks to all of its receivers, departures after a delay.
///
/// Only the loop's thread may use it.
package final class WebhookDispatcher {
  private var delayed: DelayedNotices
  private let senders: [WebhookSender]
  private let loop: EventLoop
  private let policy: WebhookPolicy
  private lazy var timer = LoopTimer(deadline: nil) { [weak self] in self?.sendDue() }

  /// Returns `nil` for an app without receivers.
  ///
  /// - Parameters:
  ///   - report: Gets an entry for each webhook that was sent, failed or is lost.
  ///   - onIdle: Called when a receiver has taken its last webhook.
  package init?(
    _ application: Application, loop: EventLoop, tls: TLSContext?, policy: WebhookPolicy,
    report: @escaping (ServerLogEvent) -> Void, onIdle: @escaping () -> Void
  ) {
    guard !application.webhooks.isEmpty else { return nil }
    (self.loop, self.policy) = (loop, policy)
    delayed = DelayedNotices(delay: policy.delay)
    senders = application.webhooks.map { url in
      WebhookSender(
        loop: loop, url: url, application: application, tls: tls, policy: policy, report: report,
        onIdle: onIdle)
    }
    loop.add(timer)
  }

  package func take(_ notices: [WebhookNotice], at now: Instant) {
    guard !notices.isEmpty else { return }
    send(notices.compactMap { $0.audience == .console ? nil : delayed.take($0, at: now) })
    timer.deadline = delayed.deadline
  }

  package var isIdle: Bool { delayed.deadline == nil && senders.allSatisfy(\.isIdle) }

  /// Number of webhooks that a receiver has not taken yet, without delayed notices.
  package var openCount: Int { senders.reduce(0) { $0 + $1.openCount } }

  /// Sends delayed notices, because no more notices come; failed webhooks are retried as before.
  func retire() {
    send(delayed.takeDue(at: Instant(nanoseconds: .max)))
    timer.deadline = nil
  }

  /// Sends all waiting and delayed notices when the server ends.
  package func finish() {
    retire()
    for sender in senders { sender.finish() }
  }

  /// Gives up all waiting webhooks, and reports their number.
  package func close() {
    loop.remove(timer)
    for sender in senders { sender.close() }
  }

  func send(_ name: String, _ body: [UInt8]) { for sender in senders { sender.send(name, body) } }

  private func sendDue() {
    send(delayed.takeDue(at: loop.now))
    timer.deadline = delayed.deadline
  }

  private func send(_ notices: [WebhookNotice]) {
    let wanted = notices.filter { policy.kinds.contains($0.kind) }
    guard !wanted.isEmpty else { return }
    let milliseconds = SystemClock.wall().millisecondsSince1970
    var rest = wanted[...]
    while let first = rest.first {
      let batch = rest.prefix(max(policy.batch, 1))
      rest = rest.dropFirst(batch.count)
      let name = batch.count == 1 ? first.kind.rawValue : "\(batch.count) events"
      send(name, WebhookNotice.body(batch, milliseconds: milliseconds))
    }
  }
}
