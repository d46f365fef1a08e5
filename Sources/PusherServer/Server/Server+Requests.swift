internal import PusherCore

extension Server: ConnectionAcceptorOwner {
  func answer(
    _ request: HTTPRequestReader.Request, on connection: ServerConnection, at now: Instant
  ) -> ConnectionAnswer {
    let route = ServerRoute(request.head, options)
    if let refusal = refusal(of: request.head, for: route, from: connection.peer) {
      report(refusal.answer, to: request.head)
      return .answer(refusal.answer, isLast: route == .socket)
    }
    if route == .socket { return upgrade(request.head, on: connection, at: now) }
    if route == .console, let stream = console?.stream(for: request, on: connection, at: now) {
      return .socket(stream)
    }
    let caller = Caller(head: request.head, connection: connection)
    guard let answer = begin(request, for: route, caller, at: now) else { return .later }
    report(answer, to: request.head)
    return .answer(answer, isLast: false)
  }

  func finish(_ done: [(caller: Caller, answer: HTTPAnswer)]) {
    for (caller, answer) in done {
      report(answer, to: caller.head)
      caller.connection.answerNow(answer, at: loop.now)
    }
  }

  private func report(_ answer: HTTPAnswer, to head: HTTPRequestHead) {
    report(head, answer.status, answer.status < 300 ? "" : answer.body)
  }

  private func report(_ head: HTTPRequestHead, _ status: Int, _ reason: String) {
    let end = head.target.utf8.firstIndex(of: UInt8(ascii: "?")) ?? head.target.endIndex
    report(
      .request(
        method: head.method, path: String(head.target[..<end]), status: status, reason: reason))
  }

  /// Checks the `Origin`, the `Host` and the caller's machine; `nil` if the request is allowed.
  private func refusal(
    of head: HTTPRequestHead, for route: ServerRoute, from peer: SocketAddress?
  ) -> AccessRefusal? {
    var refusal = access.refusal(head)
    if refusal == nil, options.reach(of: route) == .thisMachine,
      let sign = RemoteSign(head, peer: peer)
    {
      refusal = .remote(part: route.name, sign: sign.description)
    }
    guard let refusal else { return nil }
    if let isLast = refusals.note(refusal) { report(.accessRefused(refusal, isLast: isLast)) }
    return refusal
  }

  /// Starts to answer a request that is not an upgrade; `nil` if the answer comes later.
  private func begin(
    _ request: HTTPRequestReader.Request, for route: ServerRoute, _ caller: Caller, at now: Instant
  ) -> HTTPAnswer? {
    switch route {
    case .console: if let console { return keep(console.begin(request, at: now), caller) }
    case .faults: return answerFaults(request, at: now)
    case .authorization:
      let endpoint = AuthEndpoint(applications, refusal: context.faults.endpointFailure)
      if let authorized = endpoint.answer(request) { return authorized }
    // A console that only this machine may use leaves the path to the dialect.
    case .api where options.console == .everybody && request.head.isForRoot:
      return .redirect(to: ConsolePath.page)
    case .socket, .api: break
    }
    let seconds = SystemClock.wall().secondsSince1970
    let isHeld = pendingWork != nil
    let beginning = APIRouter(applications).begin(
      request, seconds: seconds, isHeld: isHeld, at: now)
    guard isHeld, case .call(let call, _) = beginning else { return keep(beginning, caller) }
    pendingWork?.calls.append((call, caller))
    return nil
  }

  private func keep(_ beginning: CallBeginning, _ caller: Caller) -> HTTPAnswer? {
    switch beginning {
    case .answer(let answer): answer
    case .call(let call, let progress): calls.keep(call, progress, for: caller)
    }
  }

  private func answerFaults(_ request: HTTPRequestReader.Request, at now: Instant) -> HTTPAnswer {
    let count = context.faults.faults.count
    let answer = FaultControl(script: context.faults).answer(request)
    if context.faults.faults.count > count { stageGreetings(at: now) }
    return answer
  }

  /// Continues held calls, now that the reachability of other nodes is known.
  func settle(at now: Instant) {
    guard let waiting = pendingWork else { return }
    pendingWork = nil
    if !isStopping { waiting.done() }
    for (call, caller) in waiting.calls {
      var call = call
      let progress = call.proceed(at: now)
      if let answer = calls.keep(call, progress, for: caller) { finish([(caller, answer)]) }
    }
  }

  private func upgrade(
    _ request: HTTPRequestHead, on carrier: ServerConnection, at now: Instant
  ) -> ConnectionAnswer {
    let connection: WebSocketConnection
    do throws(ServerHandshake.Refusal) {
      let (head, negotiated) = try ServerHandshake.respond(
        to: request, supportedSubprotocol: { $0.begins(with: "pusher-channels-protocol-") },
        deflate: options.acceptsCompression && options.dialect.has(.knowsCompression))
      connection = WebSocketConnection(
        role: .server, deflate: negotiated.deflate, limits: options.limits.webSocket,
        random: NoRandom(), input: carrier.input)
      guard let bytes = try? head.encode() else { return .head(head) }
      connection.output.append(bytes)
    } catch {
      var head = error.response
      head.headers.append("Connection", "close")
      report(request, head.status, "not a valid WebSocket handshake")
      return .head(head)
    }
    switch SocketAdmission(request, applications: applications) {
    case .accepted(let hub):
      let session = ClientSession(
        connection, socketID: applications.newSocketID(),
        from: ClientAddress(of: carrier.peer, sending: request), hub: hub, context: context,
        at: now)
      session.carrier = carrier
      return .socket(session)
    case .refused(let code, let reason):
      report(.refused(code: code.rawValue, reason: reason))
      return .socket(
        RefusedSocket(connection, code: code, reason: reason, applications: applications, at: now))
    }
  }

  func refused(_ answer: HTTPAnswer) { report(.dropped(reason: answer.body)) }
  func dropped(_ reason: String) { report(.dropped(reason: reason)) }
  func forgot(_ connection: ServerConnection) { checkStopped() }
  func scanned(at now: Instant) { for hub in applications.hubs { hub.tick(at: now) } }
}

/// Servers do not mask frames, so nothing draws from it.
private struct NoRandom: RandomNumberGenerator { mutating func next() -> UInt64 { 0 } }
