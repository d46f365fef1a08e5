internal import PusherCore

/// A process that does a share of a run, as the process that started it orders.
final class BenchWorker {
  private let part: BenchPart
  private let loop: EventLoop
  private let socket: LineSocket
  private var timer: LoopTimer?
  private var orders = 0
  private var isFinished = false

  /// Time between two reports of the state.
  private static let pulse = Duration.milliseconds(100)
  /// Time between two looks while the sockets close.
  private static let look = Duration.milliseconds(10)

  /// Starts the workers of a run; none for one process.
  ///
  /// - Throws: ``TransportError`` if the system has no room for them.
  static func start(
    _ settings: BenchSettings, run: String, _ diagnostics: Diagnostics
  ) throws(TransportError) -> [ForkedProcess] {
    let count = settings.load.processes
    var workers: [ForkedProcess] = []
    guard count > 1 else { return workers }
    for number in 0..<count {
      let share = BenchShare.worker(number, of: count)
      workers.append(
        try ForkedProcess.start(closing: workers.map(\.socket)) { socket in
          // A terminal signals every process, but the order to end comes over the socket.
          Signals.leaveToParent()
          guard let loop = try? EventLoop() else { return ExitStatus.internalError.rawValue }
          let part = BenchPart(settings, share, run: run, loop: loop, diagnostics: diagnostics)
          BenchWorker(part, socket: socket, loop: loop).work()
          return ExitStatus.success.rawValue
        })
    }
    return workers
  }

  private init(_ part: BenchPart, socket: Int32, loop: EventLoop) {
    (self.part, self.loop) = (part, loop)
    self.socket = LineSocket(loop: loop, descriptor: socket)
  }

  private func work() {
    socket.onLine = { [unowned self] line in
      // Both ends are the same program.
      guard let order = try? JSONParser.parse(line).decode(WorkerOrder.self) else {
        return loop.stop()
      }
      follow(order)
      orders += 1
      reportState()
    }
    // Without its parent, nobody wants the worker's figures.
    socket.onEnd = { [loop] in loop.stop() }
    part.ledger.seconds.onSecond = { [unowned self] second, delays in
      report(.second(second, delays: delays))
    }
    part.onSettled = { [unowned self] in reportState() }
    let timer = LoopTimer(deadline: loop.now.advanced(by: Self.pulse)) { [unowned self] in beat() }
    self.timer = timer
    loop.add(timer)
    loop.run()
  }

  private func follow(_ order: WorkerOrder) {
    switch order {
    case .open(let begin): part.open(at: Instant(nanoseconds: begin))
    case .settle: part.settle()
    case .cut: part.cut()
    case .count:
      // A worker sends client events at most, which need nothing that can be missing.
      try? part.prepare()
      report(.receivers(part.count()))
    case .begin(let begin, let receivers):
      part.begin(at: Instant(nanoseconds: begin), receivers: receivers)
    case .stop: report(.accepted(part.stop()))
    case .judge(let accepted): part.judge(accepted)
    case .finish:
      part.finish()
      isFinished = true
      timer?.deadline = loop.now
    }
  }

  private func beat() {
    if isFinished, part.isClosed { return reportFigures() }
    part.endSeconds()
    reportState()
    timer?.deadline = loop.now.advanced(by: isFinished ? Self.look : Self.pulse)
  }

  /// Reports the figures, and ends once they are on their way.
  private func reportFigures() {
    part.abort()
    var figures = part.figures()
    while let last = figures.rows.last, last.isEmpty { figures.rows.removeLast() }
    report(.figures(figures))
    loop.beforeWait { [loop, socket] in if socket.isFlushed { loop.stop() } }
  }

  private func reportState() {
    var state = part.state
    state.orders = orders
    report(.state(state))
  }

  private func report(_ report: WorkerReport) {
    guard let value = try? JSONValue(encoding: report) else { return loop.stop() }
    socket.send(value.jsonText)
  }
}
