/// One request for ``HTTPCalls``, from any thread, and its one outcome.
final class HTTPCall: Sendable {
  typealias Outcome = Result<HTTPExchange.Response, Failure>

  enum Failure: Error, Equatable {
    case http(HTTPError)
    case unreachable(String)
    case cancelled
  }

  fileprivate let request: HTTPExchange.Request
  /// The server and the way to it; calls with the same one share connections.
  let way: Destination
  fileprivate let timeout: Duration
  fileprivate let deadline: Instant
  private let progress = Locked<
    (continuation: CheckedContinuation<Outcome, Never>?, outcome: Outcome?)
  >((nil, nil))

  /// - Parameter timeout: Starts now and includes the wait for a connection.
  init(
    _ request: HTTPExchange.Request, routing: Routing = Routing(),
    tls: TLSConfiguration = TLSConfiguration(), trust: TLSEnvironment = TLSEnvironment(),
    timeout: Duration
  ) {
    self.request = request
    let url = HTTPURL(scheme: request.url.scheme, host: request.url.host, port: request.url.port)
    way = Destination(url: url, routing: routing, tls: tls, trust: trust)
    self.timeout = timeout
    deadline = SystemClock.now().advanced(by: timeout)
  }

  /// The failure of a call whose time is over.
  fileprivate var lateness: Failure { .unreachable("\(HTTPExchange.Failure.timeout(timeout))") }
  fileprivate var isOver: Bool { progress.withLock { $0.outcome != nil } }

  /// Waits for the outcome; calls `ask` first if there is none yet.
  fileprivate func outcome(asking ask: () -> Void) async -> Outcome {
    await withCheckedContinuation { continuation in
      let outcome = progress.withLock { progress -> Outcome? in
        if progress.outcome == nil { progress.continuation = continuation }
        return progress.outcome
      }
      if let outcome { continuation.resume(returning: outcome) } else { ask() }
    }
  }

  /// Ends the call from any thread; a later end is ignored.
  fileprivate func end(_ outcome: Outcome) {
    let continuation = progress.withLock { progress -> CheckedContinuation<Outcome, Never>? in
      guard progress.outcome == nil else { return nil }
      progress.outcome = outcome
      defer { progress.continuation = nil }
      return progress.continuation
    }
    continuation?.resume(returning: outcome)
  }
}

/// Carries out calls from any thread on one loop's thread, over kept connections.
final class HTTPCalls: Sendable {
  fileprivate let limit: Int
  fileprivate let idleTime: Duration
  fileprivate let thread: OnDemandThread<HTTPCallDriver>

  /// - Parameters:
  ///   - limit: Maximum number of connections; the wait for one counts towards a call's timeout.
  ///   - idleTime: Lifetime of an idle connection; common servers close theirs after 5 s or more.
  init(on thread: LoopThread, limit: Int = 64, idleTime: Duration = .seconds(4)) {
    self.thread = OnDemandThread(thread)
    (self.limit, self.idleTime) = (limit, idleTime)
  }

  var isWorking: Bool { thread.isWorking }

  /// Returns the result of a call; ``HTTPCall/Failure/cancelled`` at once if the task is cancelled.
  func outcome(of call: HTTPCall) async -> HTTPCall.Outcome {
    await withTaskCancellationHandler {
      await call.outcome {
        thread.post {
          $0.begin(call)
        } begin: { [self] loop in
          HTTPCallDriver(loop: loop, calls: self)
        } failed: {
          call.end(.failure(.unreachable($0)))
        }
      }
    } onCancel: {
      call.end(.failure(.cancelled))
      thread.post { $0.stop(call) }
    }
  }
}

/// The part of ``HTTPCalls`` on the loop's thread: gives connections to calls and keeps idle ones.
private final class HTTPCallDriver: LoopMember {
  private final class Line {
    let way: Destination
    let connection: HTTPConnection
    var call: HTTPCall?
    var idleTimer: LoopTimer?

    init(_ way: Destination, _ connection: HTTPConnection) {
      (self.way, self.connection) = (way, connection)
    }
  }

  private let loop: EventLoop
  private let calls: HTTPCalls
  private var lines: [Line] = []
  private var waiting: [(call: HTTPCall, timer: LoopTimer)] = []
  private var isEnding = false

  init(loop: EventLoop, calls: HTTPCalls) { (self.loop, self.calls) = (loop, calls) }

  func beginRound() {
    calls.thread.serve(self, on: loop) { lines.isEmpty && waiting.isEmpty }
  }

  func end() {
    isEnding = true
    for line in lines { close(line) }
    for call in waiting.map(\.call) {
      drop(call)
      call.end(.failure(.cancelled))
    }
  }

  fileprivate func begin(_ call: HTTPCall) {
    if call.isOver { return }
    if isEnding { return call.end(.failure(.cancelled)) }
    if !send(call) { wait(call) }
  }

  /// Forgets a call that is over.
  fileprivate func stop(_ call: HTTPCall) {
    drop(call)
    guard let line = lines.first(where: { $0.call === call }) else { return }
    close(line)
    fill()
  }

  private func wait(_ call: HTTPCall) {
    let timer = LoopTimer(deadline: call.deadline) { [unowned self] in
      drop(call)
      call.end(.failure(call.lateness))
    }
    waiting.append((call, timer))
    loop.add(timer)
  }

  private func drop(_ call: HTTPCall) {
    guard let index = waiting.firstIndex(where: { $0.call === call }) else { return }
    loop.remove(waiting.remove(at: index).timer)
  }

  private func fill() { while let next = waiting.first, send(next.call) { drop(next.call) } }

  /// Sends `call` over a kept connection to its server or a new one; returns false without room.
  private func send(_ call: HTTPCall) -> Bool {
    // The last used connection has been idle for the shortest time.
    if let line = lines.last(where: { $0.call == nil && $0.way == call.way }) {
      send(call, over: line)
      return true
    }
    if lines.count >= calls.limit {
      // Make room: close a connection kept for another server.
      guard let idle = lines.first(where: { $0.call == nil }) else { return false }
      close(idle)
    }
    let line = Line(
      call.way,
      HTTPConnection(loop: loop, to: call.way, timeout: call.timeout, bodyLimit: 1 << 20))
    lines.append(line)
    send(call, over: line)
    return true
  }

  private func send(_ call: HTTPCall, over line: Line) {
    loop.cancel(&line.idleTimer)
    line.call = call
    do throws(HTTPError) {
      let left = loop.now.duration(to: call.deadline)
      try line.connection.send(call.request, timeout: left) {
        [unowned self, unowned line] result, _ in
        answered(call, over: line, result)
      }
    } catch {
      close(line)
      call.end(.failure(.http(error)))
    }
  }

  private func answered(
    _ call: HTTPCall, over line: Line, _ result: HTTPExchange.Outcome
  ) {
    line.call = nil
    if line.connection.isKept {
      lines.removeAll { $0 === line }
      lines.append(line)
      line.idleTimer = loop.schedule(after: calls.idleTime) {
        [unowned self, unowned line] in close(line)
      }
    } else {
      close(line)
    }
    call.end(
      result.mapError { failure in
        if case .timeout = failure { call.lateness } else { .unreachable("\(failure)") }
      })
    fill()
  }

  /// Closes the connection; its call, if any, ends with ``HTTPCall/Failure/cancelled``.
  private func close(_ line: Line) {
    loop.cancel(&line.idleTimer)
    line.connection.close()
    lines.removeAll { $0 === line }
    line.call?.end(.failure(.cancelled))
    line.call = nil
  }
}
