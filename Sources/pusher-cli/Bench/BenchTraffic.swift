internal import PusherCore

/// The calls that one process of a run sends.
final class BenchTraffic {
  private let plan: BenchPlan
  private let mode: BenchMode
  private let share: BenchShare
  private let loop: EventLoop
  private let sender: any BenchSender
  private let visitors: MemberSender?
  private let api: APISender?
  private var pacer: BenchPacer?

  /// - Throws: ``TLSError`` for invalid certificates.
  init(
    _ settings: BenchSettings, _ share: BenchShare, _ fleet: BenchFleet, _ message: BenchMessage,
    _ sends: SendLedger, _ crew: BenchCrew
  ) throws {
    (self.share, mode, plan, loop) = (share, settings.mode, sends.plan, crew.loop)
    var api: APISender?
    var visitors: MemberSender?
    if settings.mode == .client {
      let senders = fleet.subscribers.prefix { $0.number < sends.plan.channels }
      sender = ClientSender(
        Dictionary(uniqueKeysWithValues: senders.map { ($0.channel, $0) }), message, sends,
        loop: loop)
    } else if let access = settings.api {
      let calls = try APISender(settings, access, message, sends, loop: loop)
      (sender, api) = (calls, calls)
    } else {
      guard case .secret(let secret, _, _) = settings.subscription.authorization else {
        throw UsageError("the mode 'presence' needs the secret")
      }
      let members = try MemberSender(settings, secret: secret, message, sends, crew)
      (sender, visitors) = (members, members)
    }
    (self.api, self.visitors) = (api, visitors)
  }

  /// Called if the server does not accept the app's signature.
  var onRefusal: ((_ status: Int, _ reason: String) -> Void)? {
    get { api?.onRefusal }
    set { api?.onRefusal = newValue }
  }

  var isReady: Bool { visitors?.isReady ?? true }

  /// Starts the plan.
  func begin(at begin: Instant) {
    pacer = BenchPacer(plan, from: begin, sender, loop: loop) { [share, mode] channel in
      share.sends(on: channel, mode)
    }
  }

  /// True if every call was handed to the network.
  var isDone: Bool { pacer?.isDone ?? false }
  /// True if no call waits for an answer.
  var isIdle: Bool { sender.isIdle }

  /// Sends no more; calls without an answer count as failed.
  func stop() {
    pacer?.stop()
    // A visitor that leaves now would be one more event.
    if !sender.isIdle { sender.close() }
  }

  func close() { sender.close() }
}
