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

  /// Who waits; false when the call was ended before, and then nobody waits any more.
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
  /// Those of every ``PusherAPI``.
  static let shared = APICalls()

  /// How many calls have a connection at a time; others wait for one, and the wait counts as part of their time.
  static let limit = 64

  enum Order: Sendable {
    case begin(APICall)
    case stop(APICall)
  }

  private struct Status {
    var orders: [Order] = []
    var hasThread = false
    /// Set once the thread's loop runs.
    var wakeUp: WakeUp?
  }

  private let status = Locked(Status())

  /// Whether there is a thread at the moment.
  var hasThread: Bool { status.withLock { $0.hasThread } }

  /// What comes of a call; when the task is cancelled that is ``PusherAPIError/cancelled``, at once.
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
    let (wakeUp, needsThread) = status.withLock { status -> (WakeUp?, Bool) in
      if case .stop = order, !status.hasThread { return (nil, false) }
      status.orders.append(order)
      defer { status.hasThread = true }
      // Who finds orders waiting need not wake anybody again.
      return (status.orders.count == 1 ? status.wakeUp : nil, !status.hasThread)
    }
    wakeUp?.signal()
    if needsThread, !DetachedThread.start({ [self] in run() }) {
      fail(.unreachable("the system gave no thread"))
    }
  }

  /// The whole life of the thread.
  private func run() {
    do throws(TransportError) {
      let driver = APICallDriver(loop: try EventLoop(), calls: self)
      status.withLock { $0.wakeUp = driver.loop.wakeUp }
      driver.run()
    } catch {
      fail(.unreachable("\(error)"))
    }
  }

  /// There is no thread: what was asked meanwhile fails.
  private func fail(_ error: PusherAPIError) {
    let orders = status.withLock { status -> [Order] in
      let orders = status.orders
      status = Status()
      return orders
    }
    for case .begin(let call) in orders { call.end(.failure(error)) }
  }

  /// Takes what was posted; `nil` when there was nothing and the thread, being idle, shall end.
  func takeOrders(isIdle: Bool) -> [Order]? {
    status.withLock { status in
      if status.orders.isEmpty, isIdle {
        status = Status()
        return nil
      }
      defer { status.orders = [] }
      return status.orders
    }
  }
}
