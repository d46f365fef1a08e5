/// What the thread of ``APICalls`` does: opens a connection for each call, and closes that of a call that was cancelled.
final class APICallDriver {
  let loop: EventLoop
  private let calls: APICalls
  private var open: [ObjectIdentifier: HTTPExchange] = [:]
  /// Calls that wait for a connection, in their order.
  private var waiting: [Waiting] = []
  /// The certificate authorities that were read last, and for which options.
  private var trust: (tls: TLSConfiguration, environment: TLSEnvironment, context: TLSContext)?

  private struct Waiting {
    let call: APICall
    let timer: LoopTimer
  }

  init(loop: EventLoop, calls: APICalls) {
    self.loop = loop
    self.calls = calls
  }

  /// Works until there is nothing left to do.
  func run() {
    loop.beforeWait { [unowned self] in beginRound() }
    loop.run()
  }

  private func beginRound() {
    while true {
      guard let orders = calls.takeOrders(isIdle: open.isEmpty && waiting.isEmpty) else {
        return loop.stop()
      }
      if orders.isEmpty { return }
      for order in orders { carryOut(order) }
    }
  }

  private func carryOut(_ order: APICalls.Order) {
    switch order {
    case .begin(let call):
      if call.isOver { return }
      if open.count < APICalls.limit { begin(call) } else { wait(call) }
    case .stop(let call):
      drop(call)
      open.removeValue(forKey: ObjectIdentifier(call))?.cancel()
      fill()
    }
  }

  // MARK: Waiting

  private func wait(_ call: APICall) {
    let timer = LoopTimer(deadline: call.deadline) { [unowned self] in
      drop(call)
      call.end(.failure(Self.late(call)))
    }
    waiting.append(Waiting(call: call, timer: timer))
    loop.add(timer)
  }

  private func drop(_ call: APICall) {
    guard let place = waiting.firstIndex(where: { $0.call === call }) else { return }
    loop.remove(waiting.remove(at: place).timer)
  }

  /// Begins calls that wait, as far as there is room.
  private func fill() {
    while open.count < APICalls.limit, let next = waiting.first {
      drop(next.call)
      begin(next.call)
    }
  }

  // MARK: Calling

  private func begin(_ call: APICall) {
    let key = ObjectIdentifier(call)
    do {
      open[key] = try HTTPExchange(
        loop: loop, request: call.request, routing: try call.options.network.routing(),
        tls: try context(for: call), timeout: loop.now.duration(to: call.deadline)
      ) { [unowned self] result, _ in
        open[key] = nil
        call.end(Self.outcome(result, of: call))
        fill()
      }
    } catch let error as HTTPError {
      call.end(.failure(.invalid("\(error)")))
    } catch let error as PusherConfigurationError {
      call.end(.failure(.invalid("\(error)")))
    } catch {
      call.end(.failure(.unreachable("\(error)")))
    }
  }

  private func context(for call: APICall) throws(TLSError) -> TLSContext? {
    guard call.request.url.isSecure else { return nil }
    let (tls, environment) = (call.options.tls, call.options.network.trust)
    if let trust, trust.tls == tls, trust.environment == environment { return trust.context }
    let context = try TLSContext.client(tls, environment: environment)
    trust = (tls, environment, context)
    return context
  }

  private static func outcome(
    _ result: Result<HTTPExchange.Response, HTTPExchange.Failure>, of call: APICall
  ) -> APICall.Outcome {
    switch result {
    case .success(let response):
      .success(APIAnswer(status: response.head.status, body: response.body))
    case .failure(.timeout): .failure(late(call))
    case .failure(let failure): .failure(.unreachable("\(failure)"))
    }
  }

  private static func late(_ call: APICall) -> PusherAPIError {
    .unreachable("\(HTTPExchange.Failure.timeout(call.options.timeout))")
  }
}
