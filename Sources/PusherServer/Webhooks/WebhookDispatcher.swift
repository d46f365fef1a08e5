package import PusherCore

/// Holds back departures, because a member who comes back soon has not left.
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

  /// More departures than this are not held back.
  package static let limit = 10_000

  private let delay: Duration
  private var departures: [Departure] = []
  /// The numbers of those that have not been taken back.
  private var standing: [Key: Int] = [:]
  private var count = 0

  /// Holds back departures for `delay`.
  package init(delay: Duration) {
    self.delay = delay
  }

  /// When ``takeDue(at:)`` has something to give.
  package var deadline: Instant? { departures.first?.due }

  /// Takes a notice in; answers it when it is to be sent at once.
  ///
  /// An arrival that takes back a departure is not told either.
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

  /// The departures that have lasted.
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

/// Everything that one app is told by webhook.
final class WebhookDispatcher {
  private var delayed: DelayedNotices
  private let senders: [WebhookSender]
  private let loop: EventLoop
  private lazy var timer = LoopTimer(deadline: nil) { [weak self] in self?.sendDue() }

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
    loop.add(timer)
  }

  /// Sends what is new, or holds it back.
  func take(_ notices: [WebhookNotice], at now: Instant) {
    guard !notices.isEmpty else { return }
    send(notices.compactMap { $0.audience == .console ? nil : delayed.take($0, at: now) })
    timer.deadline = delayed.deadline
  }

  /// Whether nothing waits; what is held back does.
  var isIdle: Bool { delayed.deadline == nil && senders.allSatisfy(\.isIdle) }

  /// Sends what is held back, since nothing more comes; what is not accepted is tried again as before.
  func retire() {
    send(delayed.takeDue(at: Instant(nanoseconds: .max)))
    timer.deadline = nil
  }

  /// Sends all waiting and held-back notices when the server ends.
  func finish() {
    retire()
    for sender in senders { sender.finish() }
  }

  /// Drops the waiting webhooks.
  func close() {
    loop.remove(timer)
    for sender in senders { sender.close() }
  }

  /// Sends a webhook with this body to all receivers, signed now.
  func send(_ name: String, _ body: [UInt8]) {
    for sender in senders { sender.send(name, body) }
  }

  private func sendDue() {
    send(delayed.takeDue(at: loop.now))
    timer.deadline = delayed.deadline
  }

  private func send(_ notices: [WebhookNotice]) {
    guard !notices.isEmpty else { return }
    let milliseconds = SystemClock.wall().millisecondsSince1970
    for notice in notices { send(notice.kind.rawValue, notice.body(milliseconds: milliseconds)) }
  }
}
