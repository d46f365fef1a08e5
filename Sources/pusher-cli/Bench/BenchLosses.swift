internal import PusherCore

/// The deliveries that did not come, counted once at the end.
struct BenchLosses: Equatable {
  private(set) var expected = 0
  private(set) var lost = 0
  private(set) var subscribers = 0
  /// Losses of the subscriber that lost the most.
  private(set) var most = 0

  init() {}

  /// Counts the losses, and notes each in the second in which its event was meant to be sent.
  ///
  /// - Parameter accepted: The accepted events, by channel.
  init(_ fleet: BenchFleet, _ accepted: [EventSet], _ ledger: DeliveryLedger) {
    let plan = ledger.plan
    for subscriber in fleet.counted {
      let accepted = accepted[subscriber.channel]
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
