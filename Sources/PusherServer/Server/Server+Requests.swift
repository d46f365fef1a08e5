internal import PusherCore

// What a connection asks for: a call, an authorization, or to be a socket.
extension Server: ReceptionOwner {
  func answer(
    _ request: HTTPRequestReader.Request, on connection: ServerConnection, at now: Instant
  ) -> ConnectionAnswer {
    let route = ServerRoute(request.head, options)
    let refusal = refusal(of: request.head, for: route, from: connection.peer)
    if refusal == nil {
      if route == .socket { return upgrade(request.head, on: connection, at: now) }
      if route == .console, let stream = console?.stream(for: request, on: connection, at: now) {
        return .socket(stream)
      }
    }
    return connection.answer(isLast: route == .socket) { give in
      let take = { [weak self] (answer: HTTPAnswer) in
        self?.report(request.head, answer.status, answer.status < 300 ? "" : answer.body)
        give(answer)
      }
      if let refusal {
        take(refusal.answer)
      } else {
        self.answer(request, for: route, at: now, take)
      }
    }
  }

  private func report(_ head: HTTPRequestHead, _ status: Int, _ reason: String) {
    let end = head.target.utf8.firstIndex(of: UInt8(ascii: "?")) ?? head.target.endIndex
    report(
      .request(
        method: head.method, path: String(head.target[..<end]), status: status, reason: reason))
  }

  /// Why a request is refused: its `Origin`, its `Host`, or that it comes from elsewhere; `nil` when it is allowed.
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
    if let isLast = share.refusals.withLock({ $0.note(refusal) }) {
      report(.accessRefused(refusal, isLast: isLast))
    }
    return refusal
  }

  /// Answers a request that is not an upgrade.
  private func answer(
    _ request: HTTPRequestReader.Request, for route: ServerRoute, at now: Instant,
    _ answer: @escaping (HTTPAnswer) -> Void
  ) {
    let faults = context.faults
    switch route {
    case .console: if let console { return console.answer(request, at: now, answer) }
    case .faults:
      let count = faults.faults.count
      answer(FaultControl(script: faults).answer(request))
      // Those that were added may end connections now.
      if faults.faults.count > count { share.stageGreetings() }
      return
    case .authorization:
      let endpoint = AuthEndpoint(applications, refusal: faults.endpointFailure)
      if let authorized = endpoint.answer(request) { return answer(authorized) }
    case .socket, .api: break
    }
    let seconds = SystemClock.wall().secondsSince1970
    APIRouter(applications).answer(request, seconds: seconds, at: now, answer)
  }

  /// Calls `work` in the loop's next turn.
  func onNextTurn(_ work: @escaping (Instant) -> Void) {
    var timer: LoopTimer?
    timer = LoopTimer(deadline: LoopInterest.immediately) { [weak self] in
      guard let self, let own = timer else { return }
      timer = nil
      loop.remove(own)
      work(loop.now)
    }
    timer.map(loop.add)
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
      report(request, head.status, "no valid WebSocket handshake")
      return .head(head)
    }
    switch SocketAdmission(request, applications: applications) {
    case .accepted(let hub):
      let session = ClientSession(
        connection, socketID: applications.newSocketID(), hub: hub, context: context, at: now)
      session.carrier = carrier
      return .socket(session)
    case .refused(let code, let reason):
      report(.refused(code: code.rawValue, reason: reason))
      return .socket(
        RefusedSocket(
          connection, code: code, reason: reason, applications: applications, at: now))
    }
  }

  func refused(_ answer: HTTPAnswer) { report(.dropped(reason: answer.body)) }

  func dropped(_ reason: String) { report(.dropped(reason: reason)) }

  func forgot(_ connection: ServerConnection) { checkStopped() }

  func scanned(at now: Instant) {
    for hub in applications.hubs { hub.tick(at: now) }
  }
}

/// A server masks no frames, so that nothing is ever drawn.
private struct NoRandom: RandomNumberGenerator {
  mutating func next() -> UInt64 { 0 }
}
