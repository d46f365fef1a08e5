internal import PusherCore

/// The end of a worker's socket in the process that started it.
final class WorkerLink {
  /// From 1, for messages.
  private let number: Int
  private let process: ForkedProcess
  private let socket: LineSocket
  private(set) var state = PartState()
  private(set) var receivers: [Int]?
  private(set) var accepted: [EventSet]?
  private(set) var figures: PartFigures?
  /// Why the worker's figures are lost, in words.
  private(set) var failure: String?
  private var hasEnded = false
  private var orders = 0
  /// Looks without a report.
  ///
  /// Unlike the time, they stand still while this process does.
  private var silentLooks = 0

  var onSecond: ((_ second: Int, _ delays: DelayHistogram) -> Void)?

  init(_ number: Int, _ process: ForkedProcess, loop: EventLoop) {
    (self.number, self.process) = (number, process)
    socket = LineSocket(loop: loop, descriptor: process.socket)
    socket.onLine = { [unowned self] line in take(line) }
    socket.onEnd = { [unowned self] in ended() }
  }

  /// True if the state is later than the last order.
  var isCurrent: Bool { state.orders == orders }

  func send(_ order: WorkerOrder) {
    guard let value = try? JSONValue(encoding: order) else { return }
    orders += 1
    socket.send(value.jsonText)
  }

  /// Gives a worker up that has reported nothing for `limit` looks.
  func look(limit: Int) {
    guard !hasEnded, figures == nil else { return }
    silentLooks += 1
    if silentLooks > limit { fail("does not report") }
  }

  private func take(_ line: ByteView) {
    silentLooks = 0
    guard let report = try? JSONParser.parse(line).decode(WorkerReport.self) else {
      return fail("reports nonsense")
    }
    switch report {
    case .state(let new): state = new
    case .receivers(let counts): receivers = counts
    case .second(let second, let delays): onSecond?(second, delays)
    case .accepted(let sets): accepted = sets
    case .figures(let found): figures = found
    }
  }

  private func ended() {
    hasEnded = true
    let ending = process.waitForEnd()
    if figures == nil { fail(ending) }
  }

  private func fail(_ what: String) {
    failure = failure ?? "worker \(number) (process \(process.id)) \(what): its figures are lost"
  }

  // MARK: The end

  /// Closes the socket, which ends the worker.
  func close() { socket.close() }

  /// True if the worker is gone, and the system has forgotten it.
  var isGone: Bool { process.collect() != nil }

  /// Ends the worker at once.
  func end() {
    process.end()
    _ = process.waitForEnd()
  }
}
