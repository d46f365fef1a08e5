/// One call of the HTTP API on its way; any thread may end it, and the first end counts.
final class APICall: Sendable {
  typealias Outcome = Result<APIAnswer, PusherAPIError>

  let request: HTTPExchange.Request
  let options: PusherAPI.Options
  /// When there must be an answer.
  let deadline: Instant
  private let status = Locked(Status())

  private struct Status {
    var continuation: CheckedContinuation<Outcome, Never>?
    var outcome: Outcome?
  }

  init(_ request: HTTPExchange.Request, _ options: PusherAPI.Options) {
    self.request = request
    self.options = options
    deadline = SystemClock.now().advanced(by: options.timeout)
  }

  /// Whether there is nothing more to be done.
  var isOver: Bool { status.withLock { $0.outcome != nil } }

  /// Sets the task that waits; false when the call has already ended, and then no task waits.
  func attach(_ continuation: CheckedContinuation<Outcome, Never>) -> Bool {
    let outcome = status.withLock { status -> Outcome? in
      if status.outcome == nil { status.continuation = continuation }
      return status.outcome
    }
    guard let outcome else { return true }
    continuation.resume(returning: outcome)
    return false
  }

  func end(_ outcome: Outcome) {
    let continuation = status.withLock { status -> CheckedContinuation<Outcome, Never>? in
      guard status.outcome == nil else { return nil }
      status.outcome = outcome
      defer { status.continuation = nil }
      return status.continuation
    }
    continuation?.resume(returning: outcome)
  }
}

/// Carries out all calls of the process on one thread, which lives as long as there are any.
final class APICalls: Sendable {
  /// The calls of every ``PusherAPI``.
  static let shared = APICalls()

  /// How many calls have a connection at a time; others wait for one, and the wait counts as part of their time.
  static let limit = 64

  enum Order: Sendable {
    case begin(APICall)
    case stop(APICall)
  }

  private let thread = Locked(ThreadOrders<Order>())

  /// Whether there is a thread at the moment.
  var hasThread: Bool { thread.withLock { $0.hasThread } }

  /// The result of a call; ``PusherAPIError/cancelled`` at once when the task is cancelled.
  func outcome(of call: APICall) async -> APICall.Outcome {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        if call.attach(continuation) { post(.begin(call)) }
      }
    } onCancel: {
      call.end(.failure(.cancelled))
      post(.stop(call))
    }
  }

  private func post(_ order: Order) {
    let (wakeUp, needsThread) = thread.withLock { thread -> (WakeUp?, Bool) in
      if case .stop = order, !thread.hasThread { return (nil, false) }
      defer { thread.hasThread = true }
      return (thread.post(order), !thread.hasThread)
    }
    wakeUp?.signal()
    guard needsThread else { return }
    LoopThread.start { [self] loop in
      thread.withLock { $0.wakeUp = loop.wakeUp }
      APICallDriver(loop: loop, calls: self).run()
    } failed: { [self] in
      fail(.unreachable($0))
    }
  }

  /// There is no thread: the calls made meanwhile fail.
  private func fail(_ error: PusherAPIError) {
    let orders = thread.withLock { thread in
      defer { thread = ThreadOrders() }
      return thread.take()
    }
    for case .begin(let call) in orders { call.end(.failure(error)) }
  }

  /// Takes what was posted; `nil` when there was nothing and the thread, being idle, shall end.
  func takeOrders(isIdle: Bool) -> [Order]? {
    thread.withLock { thread in
      if thread.isEmpty, isIdle {
        thread = ThreadOrders()
        return nil
      }
      return thread.take()
    }
  }
}
