internal import PusherCore

/// The figures of one process of a run, which add up to those of the whole run.
struct PartFigures: Equatable, Codable {
  var connections = ConnectionFigures()
  /// Only of runs with events.
  var events: EventFigures?
  var cost = CostFigures()
  var errors = ErrorCounts()
  var rows: [BenchSeconds.Row] = []

  mutating func add(_ other: PartFigures) {
    connections.add(other.connections)
    if let more = other.events {
      var sum = events ?? EventFigures()
      sum.add(more)
      events = sum
    }
    cost.add(other.cost)
    errors.add(other.errors)
    for (second, row) in other.rows.enumerated() {
      if second < rows.count { rows[second].add(row) } else { rows.append(row) }
    }
  }
}

/// Figures of the subscribers' connections.
struct ConnectionFigures: Equatable, Codable {
  struct Failure: Equatable, Codable {
    let cause: Cause
    let reason: String
  }

  var subscribers = 0
  /// Subscribers that were subscribed when the run ended.
  var connected = 0
  /// Subscribers that were subscribed at least once, and the time of the last of them.
  var firstJoins = 0
  var lastFirstJoin: Nanoseconds?
  /// One for each of ``BenchFigure/steps``.
  var steps = BenchFigure.steps.map { _ in DelayHistogram() }
  /// From the cut until the subscriber is back.
  var back = DelayHistogram()
  var reconnects = 0
  var gaps = 0
  var firstFailure: Failure?

  mutating func add(_ other: ConnectionFigures) {
    subscribers += other.subscribers
    connected += other.connected
    firstJoins += other.firstJoins
    lastFirstJoin = .largest(lastFirstJoin, other.lastFirstJoin)
    for (index, step) in zip(steps.indices, other.steps) { steps[index].add(step) }
    back.add(other.back)
    reconnects += other.reconnects
    gaps += other.gaps
    firstFailure = firstFailure ?? other.firstFailure
  }
}

/// Figures of the events, from the sending to the delivery.
struct EventFigures: Equatable, Codable {
  var sent = 0
  /// Events of calls that were refused, not answered or not sent.
  var failed = 0
  var losses = BenchLosses()
  var delivered = 0
  var doubled = 0
  var outOfOrder = 0
  var wrong = 0
  var lastAccepted: Nanoseconds?
  var lastDelivery: Nanoseconds?
  var delays = DelayHistogram()
  /// Time from the intended sending to the sending.
  var late = DelayHistogram()

  mutating func add(_ other: EventFigures) {
    sent += other.sent
    failed += other.failed
    losses.add(other.losses)
    delivered += other.delivered
    doubled += other.doubled
    outOfOrder += other.outOfOrder
    wrong += other.wrong
    lastAccepted = .largest(lastAccepted, other.lastAccepted)
    lastDelivery = .largest(lastDelivery, other.lastDelivery)
    delays.add(other.delays)
    late.add(other.late)
  }
}

/// CPU time and memory of the program itself.
struct CostFigures: Equatable, Codable {
  /// CPU time as a share of one core, in percent; `nil` before the end of the measured part.
  var share: Double?
  /// The share of the busiest process.
  var busiest: Double?
  var processes = 1
  /// Memory that the sockets take, in bytes.
  var memory = 0
  /// 0 on systems that do not report memory.
  var sockets = 0

  var memoryPerSocket: Int? { sockets > 0 ? memory / sockets : nil }

  mutating func add(_ other: CostFigures) {
    if let more = other.share { share = (share ?? 0) + more }
    if let more = other.busiest { busiest = max(busiest ?? 0, more) }
    processes += other.processes
    memory += other.memory
    sockets += other.sockets
  }
}

/// An instant as a number; all processes of a machine have the same clock.
typealias Nanoseconds = Int64

extension Optional where Wrapped: Comparable {
  /// Returns the larger value; a missing one does not count.
  static func largest(_ left: Wrapped?, _ right: Wrapped?) -> Wrapped? {
    guard let left, let right else { return left ?? right }
    return max(left, right)
  }
}
