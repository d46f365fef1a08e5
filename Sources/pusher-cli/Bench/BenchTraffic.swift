internal import PusherCore

/// The calls of a run.
final class BenchTraffic {
  private let plan: BenchPlan
  private let loop: EventLoop
  private let sender: any BenchSender
  private let visitors: MemberSender?
  private let api: APISender?
  private var pacer: BenchPacer?

  /// - Throws: ``TLSError`` for invalid certificates.
  init(
    _ settings: BenchSettings, _ fleet: BenchFleet, _ message: BenchMessage, _ sends: SendLedger,
    _ crew: BenchCrew
  ) throws {
    (plan, loop) = (sends.plan, crew.loop)
    var api: APISender?
    var visitors: MemberSender?
    if settings.mode == .client {
      // The first subscriber of each channel has the channel's number.
      let senders = Array(fleet.subscribers.prefix(sends.plan.channels))
      sender = ClientSender(senders, message, sends, loop: loop)
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
  var onRefusal: (() -> Void)? {
    get { api?.onRefusal }
    set { api?.onRefusal = newValue }
  }

  var isReady: Bool { visitors?.isReady ?? true }

  /// Channels of the mode `presence` whose visitor lost its connection.
  var closedVisitors: [String] { visitors?.closedVisitors ?? [] }

  /// Starts the plan.
  func begin(at begin: Instant) { pacer = BenchPacer(plan, from: begin, sender, loop: loop) }

  /// True if every call was handed to the network.
  var isDone: Bool { pacer?.isDone ?? false }
  /// True if no call waits for an answer.
  var isIdle: Bool { sender.isIdle }

  /// Sends no more; calls without an answer count as failed.
  func stop() {
    pacer?.stop()
    sender.stop()
  }

  func close() { sender.close() }
}
