internal import PusherCore

/// The events of a run, from the first call to the last delivery.
final class BenchTraffic {
  private let plan: BenchPlan
  private let sends: SendLedger
  private let ledger: DeliveryLedger
  private let fleet: BenchFleet
  private let loop: EventLoop
  private let sender: any BenchSender
  private let visitors: MemberSender?
  private let api: APISender?
  /// True if the first subscriber of each channel sends, and gets none of its own events.
  private let hasSenders: Bool
  private var pacer: BenchPacer?
  /// Subscribers that must get each event, by channel.
  private var receivers: [Int]

  /// Shortest time without a delivery after which the missing events count as lost.
  private static let patience = Duration.seconds(2)
  /// Time after the plan in which at least one of the waiting calls must be accepted.
  private static let callPatience = Duration.seconds(15)
  /// Time to sign the first call, so that it is not late.
  private static let preparation = Duration.milliseconds(100)

  init(
    _ settings: BenchSettings, _ fleet: BenchFleet, _ message: BenchMessage, _ sends: SendLedger,
    _ crew: BenchCrew
  ) throws {
    (self.fleet, self.sends, ledger, loop) = (fleet, sends, crew.ledger, crew.loop)
    plan = sends.plan
    hasSenders = settings.mode == .client
    receivers = [Int](repeating: 0, count: plan.channels)
    var api: APISender?
    var visitors: MemberSender?
    if settings.mode == .client {
      sender = ClientSender(
        Array(fleet.subscribers.prefix(plan.channels)), message, sends, loop: loop)
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
  ///
  /// Every subscriber that is subscribed now must get every event of its channel.
  func begin(at now: Instant) {
    for subscriber in fleet.subscribers where subscriber.isSubscribed {
      guard !hasSenders || subscriber.number >= plan.channels else { continue }
      subscriber.isCounted = true
      receivers[subscriber.channel] += 1
    }
    let begin = now.advanced(by: Self.preparation)
    ledger.begin = begin
    pacer = BenchPacer(plan, from: begin, sender, loop: loop)
  }

  /// Stops sending; does nothing if it has stopped.
  func stop() {
    pacer?.stop()
    sender.close()
  }

  /// Expected deliveries of the events that were accepted so far.
  private var expected: Int {
    zip(sends.accepted, receivers).reduce(0) { $0 + $1.0.count * $1.1 }
  }

  /// Deliveries that are under way or lost.
  var missing: Int { max(expected - ledger.account.delivered, 0) }

  /// True if everything was sent and came, or nothing has come for long.
  func isComplete(at now: Instant) -> Bool {
    guard pacer?.isDone == true else { return false }
    let last = [lastTime, ledger.lastDelivery, sends.lastAccepted].compactMap(\.self).max() ?? now
    let silence = last.duration(to: now)
    if !sender.isIdle { return silence > Self.callPatience }
    if missing == 0, fleet.counted.allSatisfy({ hasAll($0) }) { return true }
    return silence > max(Self.patience, ledger.delays.largest * 2)
  }

  /// Time of the last call of the plan.
  private var lastTime: Instant? {
    ledger.begin?.advanced(by: plan.time(of: plan.callCount - 1))
  }

  private func hasAll(_ subscriber: BenchSubscriber) -> Bool {
    let accepted = sends.accepted[subscriber.channel]
    return ledger.account.received(by: subscriber.number, of: accepted) == accepted.count
  }
}

/// The deliveries that did not come, counted once at the end.
struct BenchLosses: Equatable {
  private(set) var expected = 0
  private(set) var lost = 0
  private(set) var subscribers = 0
  /// Losses of the subscriber that lost the most.
  private(set) var most = 0

  /// Counts the losses, and notes each in the second in which its event was meant to be sent.
  init(_ fleet: BenchFleet, _ sends: SendLedger, _ ledger: DeliveryLedger) {
    let plan = sends.plan
    for subscriber in fleet.counted {
      let accepted = sends.accepted[subscriber.channel]
      expected += accepted.count
      let missing = ledger.account.missing(by: subscriber.number, of: accepted) { number in
        guard let call = plan.call(of: number, on: subscriber.channel) else { return }
        ledger.seconds.noteLost(intended: plan.time(of: call))
      }
      lost += missing
      if missing > 0 { subscribers += 1 }
      most = max(most, missing)
    }
  }
}
