internal import PusherCore

/// Runs `trigger`: one event through the HTTP API.
enum TriggerCommand {
  /// Sends the event; the status tells what became of it.
  static func run(_ settings: TriggerSettings, diagnostics: Diagnostics) -> ExitStatus {
    do {
      let loop = try EventLoop()
      let run = TriggerRun(settings, loop: loop, diagnostics: diagnostics)
      return try run.run()
    } catch {
      // Nothing has been sent yet: what fails here is what was given.
      diagnostics.error("\(error)")
      return error is TransportError ? .internalError : .usage
    }
  }
}

/// One run of `trigger`: a signed request, an answer or a signal.
private final class TriggerRun {
  private let settings: TriggerSettings
  private let diagnostics: Diagnostics
  private let loop: EventLoop
  private var status = ExitStatus.internalError
  private var signal: Int32?

  init(_ settings: TriggerSettings, loop: EventLoop, diagnostics: Diagnostics) {
    self.settings = settings
    self.loop = loop
    self.diagnostics = diagnostics
  }

  func run() throws -> ExitStatus {
    Signals.ignoreBrokenPipes()
    let signals = Signals { [unowned self] number in
      signal = number
      loop.stop()
    }
    if let signals { loop.add(signals) }
    let connection = settings.connection
    let tls =
      try connection.isSecure
      ? TLSContext.client(connection.tls, environment: connection.trust) : nil
    let exchange = try HTTPExchange(
      loop: loop, request: try request(), routing: connection.routing, tls: tls,
      timeout: connection.connectTimeout
    ) { [unowned self] result, _ in
      status = conclude(result)
      loop.stop()
    }
    loop.run()
    exchange.cancel()
    if let signal { Signals.die(of: signal) }
    return status
  }

  private func request() throws -> HTTPExchange.Request {
    let connection = settings.connection
    let trigger = TriggerRequest(
      name: settings.event, channels: settings.channels, data: settings.data,
      socketID: settings.socketID)
    let signed = try trigger.request(appID: settings.appID, prefix: connection.path).signed(
      key: connection.key, secret: settings.secret.revealed,
      timestamp: SystemClock.wall().secondsSince1970)
    let url = HTTPURL(
      scheme: connection.isSecure ? .https : .http, host: connection.host, port: connection.port,
      path: signed.path, query: signed.query)
    diagnostics.debug("> \(signed.method) \(signed.path) on \(connection.host)")
    return HTTPExchange.Request(
      method: signed.method, url: url, headers: signed.headers, body: signed.body ?? [])
  }

  private func conclude(
    _ result: Result<HTTPExchange.Response, HTTPExchange.Failure>
  ) -> ExitStatus {
    switch result {
    case .success(let response):
      diagnostics.debug("< HTTP \(response.head.status)")
      return conclude(APIAnswer(status: response.head.status, body: response.body))
    case .failure(let failure):
      diagnostics.error("\(failure)\(Hints.hint(failure))")
      if case .http = failure { return .rejected }
      return .network
    }
  }

  private func conclude(_ answer: APIAnswer) -> ExitStatus {
    let key = Diagnostics.shortened(key: settings.connection.key)
    switch answer {
    case .accepted:
      let channels = settings.channels.joined(separator: ", ")
      diagnostics.info("sent \(settings.event) to \(channels)")
      return .success
    case .refused(let status, let reason):
      return fail(
        .unauthorized, status, reason, hint: " (do secret and app id belong to key \(key)?)")
    case .rejected(413, let reason):
      let size = settings.data.utf8.count
      return fail(.rejected, 413, reason, hint: " (the data has \(size) bytes)")
    case .rejected(let status, let reason), .unavailable(let status, let reason),
      .unexpected(let status, let reason):
      return fail(.rejected, status, reason)
    }
  }

  private func fail(
    _ exit: ExitStatus, _ status: Int, _ reason: String, hint: String = ""
  ) -> ExitStatus {
    let reason = reason.isEmpty ? "" : ": \(Redaction.redact(reason))"
    diagnostics.error("the server answered HTTP \(status)\(reason)\(hint)")
    return exit
  }
}
