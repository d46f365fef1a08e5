/// One request on its way to an answer.
final class HTTPCall: Sendable {
  typealias Outcome = Result<HTTPExchange.Response, Failure>

  /// Why there is no answer.
  enum Failure: Error, Equatable {
    /// The request cannot be sent, or its answer cannot be read.
    case http(HTTPError)
    /// The server could not be reached, or was lost.
    case unreachable(String)
    /// There was no answer in time.
    case late(Duration)
    /// The task was cancelled before there was an answer.
    case cancelled
  }

  /// The way to a server: calls of the same way share connections.
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
  /// When there must be an answer.
  let deadline: Instant
  /// The end of the call, which any thread may set.
  let answer = FirstAnswer<Outcome>()

  /// - Parameter timeout: Counts from now, the wait for a connection included.
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

/// Carries out calls from any thread on one loop's thread, over connections that are kept for a while.
final class HTTPCalls: Sendable {
  enum Order: Sendable {
    case begin(HTTPCall)
    case stop(HTTPCall)
  }

  /// How connections are shared.
  struct Limits: Sendable {
    /// How many connections there are at a time; more calls wait for one, and the wait counts as part of their time.
    var connections = 64
    /// How long a connection without a call is kept.
    ///
    /// It is below the five seconds of the shortest-lived common servers, so that no call meets one that is closing.
    var idleTime = Duration.seconds(4)
  }

  let limits: Limits
  let desk: ThreadDesk<Order>

  /// - Parameter thread: What the calls run on; they join while there are any, and leave afterwards.
  init(on thread: LoopThread, limits: Limits = Limits()) {
    desk = ThreadDesk(thread)
    self.limits = limits
  }

  /// Whether there are calls, or connections that are kept for others.
  var isWorking: Bool { desk.isWorking }

  /// The result of a call; ``HTTPCall/Failure/cancelled`` at once when the task is cancelled.
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
