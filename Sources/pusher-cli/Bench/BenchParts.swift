internal import PusherCore

/// All parts of a run: the part of this process, and those of its workers.
///
/// Each step is taken here and ordered from every worker. States and figures are sums.
final class BenchParts {
  private let own: BenchPart
  private let links: [WorkerLink]
  private let loop: EventLoop

  /// Looks without a report after which a worker is given up: 30 s, at 50 looks a second.
  private static let silentLooks = 1500
  /// Time for the workers to end before they are killed.
  private static let endingTime = Duration.seconds(2)

  init(_ own: BenchPart, _ workers: [ForkedProcess], loop: EventLoop) {
    (self.own, self.loop) = (own, loop)
    links = workers.enumerated().map { WorkerLink($0.offset + 1, $0.element, loop: loop) }
    own.onSettled = { [loop] in loop.stop() }
    for link in links {
      link.onSecond = { [own] second, delays in own.ledger.seconds.add(delays, of: second) }
    }
  }

  /// Why a worker's figures are lost; `nil` while all workers report.
  var failure: String? {
    for link in links {
      if let failure = link.failure { return failure }
    }
    return nil
  }

  /// Looks after the workers; called every 20 ms.
  func look() {
    for link in links { link.look(limit: Self.silentLooks) }
    guard let second = links.map(\.state.second).min() else { return }
    own.ledger.seconds.end(before: second)
  }

  // MARK: Steps

  var traffic: BenchTraffic? { own.traffic }

  private func order(_ order: WorkerOrder) { for link in links { link.send(order) } }

  /// True if every worker has followed the last order.
  var areCurrent: Bool { links.allSatisfy(\.isCurrent) }

  func open(at begin: Instant) {
    own.open(at: begin)
    order(.open(at: begin.nanoseconds))
  }

  func settle() {
    own.settle()
    order(.settle)
  }

  func cut() {
    own.cut()
    order(.cut)
  }

  func prepare() throws { try own.prepare() }

  func count() -> [Int] {
    order(.count)
    return own.count()
  }

  /// The subscribers that must get each event, by channel; `nil` until every worker has counted.
  func receivers(with own: [Int]) -> [Int]? {
    var sum = own
    for link in links {
      guard let counts = link.receivers, counts.count == sum.count else { return nil }
      for (channel, count) in counts.enumerated() { sum[channel] += count }
    }
    return sum
  }

  func begin(at begin: Instant, receivers: [Int]) {
    order(.begin(at: begin.nanoseconds, receivers: receivers))
    own.begin(at: begin, receivers: receivers)
  }

  func stop() -> [EventSet] {
    order(.stop)
    return own.stop()
  }

  /// True if every worker has told which events were accepted.
  var haveStopped: Bool { links.allSatisfy { $0.accepted != nil } }

  /// - Parameter accepted: The accepted events of this process.
  func judge(with accepted: [EventSet]) {
    var all = accepted
    for sets in links.compactMap(\.accepted) where !sets.isEmpty {
      if all.isEmpty {
        all = sets
      } else {
        for (channel, set) in zip(all.indices, sets) { all[channel].formUnion(set) }
      }
    }
    own.judge(all)
    order(.judge(all))
  }

  func finish() {
    own.finish()
    order(.finish)
  }

  var areClosed: Bool { own.isClosed && links.allSatisfy { $0.figures != nil } }

  // MARK: State and figures

  var state: PartState { links.reduce(into: own.state) { $0.add($1.state) } }

  /// Time of the last outcome of an attempt; a fleet without changes has nothing to wait for.
  var lastChange: Instant? { state.lastChange.map(Instant.init(nanoseconds:)) }

  var seconds: BenchSeconds { own.ledger.seconds }

  /// Beginning of the plan; `nil` before it.
  var began: Instant? { own.ledger.begin }

  /// Returns the figures of the whole run; called once, at the end.
  func figures() -> PartFigures {
    own.abort()
    own.ledger.seconds.end(before: .max)
    return links.compactMap(\.figures).reduce(into: own.figures()) { $0.add($1) }
  }

  /// Ends the workers, and waits for that.
  ///
  /// - Parameter pause: Runs the loop for a moment.
  func end(_ pause: () -> Void) {
    for link in links { link.close() }
    let deadline = loop.now.advanced(by: Self.endingTime)
    while !links.allSatisfy(\.isGone), loop.now < deadline { pause() }
    for link in links where !link.isGone { link.end() }
  }
}
