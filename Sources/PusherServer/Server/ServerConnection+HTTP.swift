internal import PusherCore

// Requests and their answers, up to the upgrade.
extension ServerConnection {
  /// Answers one request, if one is there and the answer before has gone.
  ///
  /// A client that sends many requests at once gets its next turn after the others, and none before it has read.
  func takeTurn(at now: Instant) {
    guard stream != nil, case .http(var reader) = phase else { return }
    guard answers.isEmpty && !closesWhenSent else {
      stream?.wantsRead = false
      return
    }
    do throws(HTTPError) {
      let request = try reader.next(from: input)
      // Nothing more is read while requests wait: reading is faster than answering.
      stream?.wantsRead = request == nil || input.isEmpty
      if let interim = reader.takeContinue() { answers.append(interim) }
      phase = .http(reader)
      guard let request else { return }
      httpDeadline = now.advanced(
        by: input.isEmpty ? server.limits.keepAliveTimeout : server.limits.requestTimeout)
      answer(request, at: now)
      if case .http = phase, !input.isEmpty { server.giveTurn(self) }
    } catch {
      let answer = HTTPAnswer(error)
      answer.write(to: answers, keepsAlive: false)
      server.report(.dropped(reason: answer.body))
      linger(at: now)
    }
  }

  private func answer(_ request: HTTPRequestReader.Request, at now: Instant) {
    let refusal = server.accessRefusal(request.head)
    let isUpgrade = ServerHandshake.isUpgrade(request.head)
    if isUpgrade, refusal == nil {
      upgrade(request, at: now)
      return
    }
    let answer = refusal ?? route(request, at: now)
    let keepsAlive = request.keepsAlive && !isUpgrade && !server.isStopping
    answer.write(
      to: answers, keepsAlive: keepsAlive, withoutBody: request.head.method == "HEAD")
    closesWhenSent = !keepsAlive
    let path = request.head.target.prefix { $0 != "?" }
    server.report(
      .request(
        method: request.head.method, path: String(path), status: answer.status,
        reason: answer.status < 300 ? "" : answer.body))
  }

  private func route(_ request: HTTPRequestReader.Request, at now: Instant) -> HTTPAnswer {
    guard request.head.target == FaultControl.path else {
      return server.answer(request)
    }
    let control = FaultControl(script: server.context.faults, peer: peer)
    let (answer, addsFaults) = control.answer(request)
    if addsFaults {
      for connection in server.allConnections {
        if case .socket(let session) = connection.phase { session.stageGreeting(at: now) }
      }
    }
    return answer
  }

  private func upgrade(_ request: HTTPRequestReader.Request, at now: Instant) {
    let head: HTTPResponseHead
    let negotiated: NegotiatedWebSocket
    do throws(ServerHandshake.Refusal) {
      (head, negotiated) = try ServerHandshake.respond(
        to: request.head, supportedSubprotocol: { $0.begins(with: "pusher-channels-protocol-") },
        deflate: server.options.acceptsCompression && server.options.dialect.knowsCompression)
    } catch {
      refuse(error.response, path: request.head.target)
      return
    }
    let connection = WebSocketConnection(
      role: .server, deflate: negotiated.deflate, limits: server.limits.webSocket,
      random: NoRandom(), input: input)
    do throws(HTTPError) {
      connection.output.append(try head.encode())
    } catch {
      server.report(.dropped(reason: error.description))
      closesWhenSent = true
      return
    }
    switch SocketAdmission(request.head, applications: server.applications) {
    case .accepted(let hub):
      let socketID = server.applications.newSocketID()
      let session = ClientSession(
        connection, socketID: socketID, hub: hub, context: server.context, at: now)
      phase = .socket(session)
      server.join(session, self)
      if server.isStopping { stop(at: now) }
      // What came right behind the handshake.
      session.receive(at: now)
    case .refused(let code, let reason):
      server.report(.refused(code: code.rawValue, reason: reason))
      phase = .refused(
        RefusedSocket(
          connection, code: code, reason: reason, applications: server.applications, at: now))
    }
  }

  private func refuse(_ response: HTTPResponseHead, path: String) {
    var response = response
    response.headers.append("Connection", "close")
    if let bytes = try? response.encode() { answers.append(bytes) }
    closesWhenSent = true
    server.report(
      .request(
        method: "GET", path: String(path.prefix { $0 != "?" }), status: response.status,
        reason: "no valid WebSocket handshake"))
  }
}

/// A server masks no frames, so that nothing is ever drawn.
private struct NoRandom: RandomNumberGenerator {
  mutating func next() -> UInt64 { 0 }
}
