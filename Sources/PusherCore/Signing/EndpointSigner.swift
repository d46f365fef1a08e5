/// Asks the application's own endpoint like pusher-js: a form with `socket_id` and `channel_name`.
///
/// Source: Pusher's page "Authorizing users", and the official libraries.
package final class EndpointSigner: Signer {
  private let calls: EndpointCalls
  private let destination: Destination
  private let parameters: [(String, String)]

  /// - Parameter parameters: Form fields after `socket_id` and `channel_name`.
  /// - Throws: ``TLSError`` if the trusted authorities cannot be read.
  package init(
    loop: EventLoop, destination: Destination, parameters: [(String, String)], timeout: Duration
  ) throws(TLSError) {
    calls = EndpointCalls(loop: loop, network: destination, timeout: timeout)
    (self.destination, self.parameters) = (destination, parameters)
    _ = try calls.context(for: destination.url)
  }

  package func sign(_ request: AuthorizationRequest, completion: @escaping Completion) {
    calls.ask(question(Self.form(request) + parameters), about: request, completion: completion)
  }

  package func cancelAll() { calls.cancelAll() }

  static func form(_ request: AuthorizationRequest) -> [(String, String)] {
    [("socket_id", request.socketID)] + (request.channel.map { [("channel_name", $0)] } ?? [])
  }

  private func question(_ form: [(String, String)]) -> HTTPExchange.Request {
    var fields = destination.headers
    if fields["Content-Type"] == nil {
      fields.append("Content-Type", "application/x-www-form-urlencoded")
    }
    if fields["Accept"] == nil { fields.append("Accept", "application/json") }
    return HTTPExchange.Request(
      method: "POST", url: destination.url, headers: fields,
      body: Array(PercentEncoding.form(form).utf8))
  }
}

/// Open calls to an endpoint: 200 and 201 grant, temporary statuses mean "later", others refuse.
final class EndpointCalls {
  private let loop: EventLoop
  private let network: Destination
  private let timeout: Duration
  private var exchanges: [Int: HTTPExchange] = [:]
  private var lastNumber = 0
  private var context: TLSContext?

  /// - Parameter network: Its routes and authorities apply to calls to any server.
  init(loop: EventLoop, network: Destination, timeout: Duration) {
    (self.loop, self.network, self.timeout) = (loop, network, timeout)
  }

  /// Sends `call`; `whenAnswered` gets the response before `completion` gets the result.
  func ask(
    _ call: HTTPExchange.Request, about request: AuthorizationRequest,
    whenAnswered: @escaping (HTTPExchange.Response) -> Void = { _ in },
    completion: @escaping Signer.Completion
  ) {
    lastNumber += 1
    let number = lastNumber
    do {
      exchanges[number] = try HTTPExchange(
        loop: loop, request: call, routing: network.routing,
        tls: try context(for: call.url), timeout: timeout
      ) { [unowned self] result, _ in
        exchanges[number] = nil
        if case .success(let response) = result { whenAnswered(response) }
        completion(Self.body(result).flatMap { Authorization.result(of: $0, to: request) })
      }
    } catch {
      completion(.failure(.refused(status: nil, "cannot ask the endpoint: \(error)")))
    }
  }

  func cancelAll() {
    for exchange in exchanges.values { exchange.cancel() }
    exchanges.removeAll()
  }

  func context(for url: HTTPURL) throws(TLSError) -> TLSContext? {
    guard url.isSecure else { return nil }
    if let context { return context }
    let made = try loop.tlsContexts.client(network.tls, environment: network.trust)
    context = made
    return made
  }

  private static func body(
    _ result: HTTPExchange.Outcome
  ) -> Result<[UInt8], AuthorizationFailure> {
    switch result {
    case .failure(.http(.endedEarly)):
      return .failure(
        .unavailable(status: nil, "the endpoint closed the connection inside its answer"))
    case .failure(.http(let error)):
      return .failure(.unusable("the endpoint's answer is invalid: \(error)"))
    case .failure(let failure): return .failure(.unavailable(status: nil, "\(failure)"))
    case .success(let response):
      let status = response.head.status
      switch status {
      case 200, 201: return .success(response.body)
      case _ where HTTPStatus.isTemporary(status):
        return .failure(.unavailable(status: status, "the endpoint answered HTTP \(status)"))
      case 300...399:
        let place = response.head.headers["Location"].map(RedirectTrail.shown) ?? "nowhere"
        return .failure(
          .refused(status: status, "the endpoint answered HTTP \(status), a redirect to \(place)"))
      default: return .failure(.refused(status: status, "the endpoint answered HTTP \(status)"))
      }
    }
  }
}
