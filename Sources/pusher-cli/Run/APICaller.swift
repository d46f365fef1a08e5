internal import PusherCore

/// Makes API calls one after another over one connection, and reports failures.
final class APICaller {
  private let access: APIAccess
  private let client: APIClient
  private let diagnostics: Diagnostics
  let loop: EventLoop
  private let calls: HTTPConnection
  private var signal: Int32?
  private let startedAt: Instant
  /// State of the run, for SIGUSR1; without it, the report names the server that must answer.
  var progress: (() -> String)?

  /// Waits for the server of `--local`.
  ///
  /// - Throws: ``TransportError`` without descriptors, ``TLSError`` for invalid certificates.
  init(_ access: APIAccess, diagnostics: Diagnostics) throws {
    (self.access, self.client, self.diagnostics) = (access, access.client, diagnostics)
    loop = try EventLoop()
    access.connection.waitForLocalServer(on: loop, diagnostics)
    startedAt = loop.now
    calls = try access.calls(on: loop)
    Signals.watch(loop) { [unowned self] in
      answerQuestion()
    } onSignal: { [unowned self] number in
      signal = number
      loop.stop()
    }
  }

  /// Runs the loop until it stops; a signal ends the program.
  func runLoop() {
    loop.run()
    guard let signal else { return }
    calls.close()
    Signals.die(of: signal)
  }

  private func answerQuestion() {
    let what = progress?() ?? "waiting for \(access.connection.host) to answer"
    diagnostics.answer("\(what), up \(startedAt.duration(to: loop.now).inWords)")
  }

  func pause(_ time: Duration) {
    guard time > .zero else { return }
    let timer = loop.schedule(after: time) { [loop] in loop.stop() }
    runLoop()
    loop.remove(timer)
  }

  var appID: String { access.appID }

  var reservedPrefixes: [String] {
    let service = access.connection.service
    return [service.eventPrefix, service.internalPrefix, "pusher-cli:"]
  }

  /// Returns the call as text: the request line with the whole URL, headers, body.
  func shown(_ call: APIRequest) -> String {
    let signed = client.signed(call)
    let fields = signed.headers.fields.map { "\($0.name): \($0.value)\n" }.joined()
    let body = signed.body.map { String(decoding: $0, as: UTF8.self) + "\n" } ?? ""
    let url = client.address(of: signed)
    return "\(signed.method) \(url.scheme)://\(url.authority)\(url.target)\n\(fields)\n\(body)"
  }

  /// - Throws: ``ExitStatus`` if no answer came.
  func send(_ call: APIRequest) throws(ExitStatus) -> APIAnswer {
    let request = client.request(call)
    diagnostics.debug("> \(request.method) \(request.url.path) on \(access.connection.host)")
    let outcome: APIOutcome
    do throws(HTTPError) {
      outcome = try calls.answer(to: request, of: client, on: loop, run: runLoop)
    } catch {
      diagnostics.error("cannot send the request: \(error)")
      throw .usage
    }
    switch outcome {
    case .success((let answer, let head)):
      diagnostics.debug("< HTTP \(head.status)")
      return answer
    case .failure(let failure):
      let text = Hints.explained(failure, access.connection, isFound: look(Hints.problem(failure)))
      let next =
        if case .transport(let error) = failure { Hints.tryCheck(.init(error)) } else { "" }
      diagnostics.error(text + next)
      throw Cause(failure).status
    }
  }

  /// Returns the body of an accepted answer, and reports any other answer.
  ///
  /// - Parameter remedy: Returns a remedy for a status, if there is one.
  /// - Throws: ``ExitStatus`` if the server did not accept the call.
  func accepted(
    _ answer: APIAnswer, about: String = "", remedy: (Int) -> String? = { _ in nil }
  ) throws(ExitStatus) -> String {
    if case .accepted(let body) = answer { return body }
    let (status, connection) = (answer.status, access.connection)
    let hint =
      remedy(status).map { " (\($0))" } ?? Hints.hint(answer, of: client, connection, look: look)
    let reason = answer.reason.isEmpty ? "" : ": \(answer.reason)"
    let subject = about.isEmpty ? "" : "\(about): "
    let proxy = Hints.hint(status: status, on: connection.routing.route(to: connection.apiURL))
    diagnostics.error("\(subject)the server answered HTTP \(status)\(reason)\(hint)\(proxy)")
    throw Cause(httpStatus: status).status
  }

  private func look(_ problem: NetworkProblem?) -> Bool {
    SecondLook(access.connection).find(problem, on: loop, run: runLoop)
  }
}

extension HTTPConnection {
  /// Sends a request and waits for the answer.
  ///
  /// - Parameter run: Runs the loop until it stops.
  func answer(
    to request: HTTPExchange.Request, of client: APIClient, on loop: EventLoop, run: () -> Void
  ) throws(HTTPError) -> APIOutcome {
    var outcome: APIOutcome?
    try send(request, of: client) {
      outcome = $0
      loop.stop()
    }
    while true {
      run()
      if let outcome { return outcome }
    }
  }
}

extension APIAccess {
  /// - Throws: ``TLSError`` for invalid certificates.
  func calls(on loop: EventLoop) throws(TLSError) -> HTTPConnection {
    let server = Destination(
      url: connection.apiURL, routing: connection.routing, tls: connection.tls,
      trust: connection.trust)
    return HTTPConnection(
      loop: loop, to: server, tls: try server.tlsContext(loop, to: server.url),
      timeout: connection.connectTimeout)
  }
}
