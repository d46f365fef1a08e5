internal import PusherCore

/// The figures of a run.
struct RunFigures {
  var connections = ConnectionFigures()
  /// Only of runs with events.
  var events: EventFigures?
  var cost = CostFigures()
  var errors = ErrorCounts()
  var rows: [BenchSeconds.Row] = []
}

/// Figures of the subscribers' connections.
struct ConnectionFigures {
  var subscribers = 0
  /// Subscribers that were subscribed when the run ended.
  var connected = 0
  /// Subscribers that were subscribed at least once, and the time of the last of them.
  var firstJoins = 0
  var lastFirstJoin: Instant?
  /// One for each of ``BenchFigure/steps``.
  var steps = BenchFigure.steps.map { _ in DelayHistogram() }
  /// From the cut until the subscriber is back.
  var back = DelayHistogram()
  var reconnects = 0
  var gaps = 0
  /// Errors before a subscriber was ever subscribed.
  var refusals = ErrorCounts()
}

/// Figures of the events, from the sending to the delivery.
struct EventFigures {
  var sent = 0
  /// Events of calls that were refused, not answered or not sent.
  var failed = 0
  /// Subscribers that must get the events of their channel.
  var receivers = 0
  var losses = BenchLosses()
  var delivered = 0
  var doubled = 0
  var outOfOrder = 0
  var wrong = 0
  var lastAccepted: Instant?
  var lastDelivery: Instant?
  var delays = DelayHistogram()
  /// Time from the intended sending to the sending.
  var late = DelayHistogram()
  /// Errors of the calls.
  var errors = ErrorCounts()
  /// Channels of the mode `presence` whose visitor lost its connection.
  var closedVisitors: [String] = []
}

/// CPU time and memory of the program itself.
struct CostFigures: Equatable {
  /// CPU time as a share of one core, in percent; `nil` before the end of the measured part.
  var share: Double?
  /// Memory that the sockets take, in bytes.
  var memory = 0
  /// 0 on systems that do not report memory.
  var sockets = 0

  var memoryPerSocket: Int? { sockets > 0 ? memory / sockets : nil }
}

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
