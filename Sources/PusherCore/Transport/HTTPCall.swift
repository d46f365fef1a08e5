final class HTTPCall: Sendable {
  typealias Outcome = Result<HTTPExchange.Response, Failure>

  enum Failure: Error, Equatable {
    case http(HTTPError)
    case unreachable(String)
    case late(Duration)
    case cancelled
  }

  struct Way: Equatable {
    var isSecure: Bool
    var authority: String
    var routing: Routing
    var tls: TLSConfiguration
    var trust: TLSEnvironment
  }

  let request: HTTPExchange.Request
  let way: Way
  let timeout: Duration
  let deadline: Instant
  let answer = FirstAnswer<Outcome>()

  /// - Parameter timeout: Starts now and includes the wait for a connection.
  init(
    _ request: HTTPExchange.Request, routing: Routing = Routing(),
    tls: TLSConfiguration = TLSConfiguration(), trust: TLSEnvironment = TLSEnvironment(),
    timeout: Duration
  ) {
    self.request = request
    way = Way(
      isSecure: request.url.isSecure, authority: request.url.authority, routing: routing, tls: tls,
      trust: trust)
    self.timeout = timeout
    deadline = SystemClock.now().advanced(by: timeout)
  }
}

/// Carries out calls from any thread on one loop's thread, over kept connections.
final class HTTPCalls: Sendable {
  enum Order: Sendable {
    case begin(HTTPCall)
    case stop(HTTPCall)
  }

  struct Limits: Sendable {
    /// Maximum number of connections; the wait for one counts towards a call's timeout.
    var connections = 64
    /// Lifetime of an idle connection; common servers close theirs after 5 s or more.
    var idleTime = Duration.seconds(4)
  }

  let limits: Limits
  let desk: OnDemandThread<Order>

  init(on thread: LoopThread, limits: Limits = Limits()) {
    desk = OnDemandThread(thread)
    self.limits = limits
  }

  var isWorking: Bool { desk.isWorking }

  /// Returns the result of a call; ``HTTPCall/Failure/cancelled`` at once if the task is cancelled.
  func outcome(of call: HTTPCall) async -> HTTPCall.Outcome {
    await withTaskCancellationHandler {
      await call.answer.value { post(.begin(call), isFirst: true) }
    } onCancel: {
      call.answer.give(.failure(.cancelled))
      post(.stop(call), isFirst: false)
    }
  }

  private func post(_ order: Order, isFirst: Bool) {
    desk.post(order, isFirst: isFirst) { [self] loop in
      HTTPCallDriver(loop: loop, calls: self)
    } failed: { reason, lost in
      for case .begin(let call) in lost { call.answer.give(.failure(.unreachable(reason))) }
    }
  }
}

/// An answer that one task awaits and any thread may give; later answers are ignored.
final class FirstAnswer<Value: Sendable>: Sendable {
  private struct Progress {
    var continuation: CheckedContinuation<Value, Never>?
    var value: Value?
  }

  private let progress = Locked(Progress())

  var isGiven: Bool { progress.withLock { $0.value != nil } }

  /// Waits for the answer; calls `ask` first if there is none yet.
  func value(asking ask: () -> Void) async -> Value {
    await withCheckedContinuation { continuation in
      let value = progress.withLock { progress -> Value? in
        if progress.value == nil { progress.continuation = continuation }
        return progress.value
      }
      if let value { continuation.resume(returning: value) } else { ask() }
    }
  }

  func give(_ value: Value) {
    let continuation = progress.withLock { progress -> CheckedContinuation<Value, Never>? in
      guard progress.value == nil else { return nil }
      progress.value = value
      defer { progress.continuation = nil }
      return progress.continuation
    }
    continuation?.resume(returning: value)
  }
}
