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
    calls = EndpointCalls(
      loop: loop, network: destination, timeout: timeout, remedy: "give --auth-header")
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
  /// The next step if the endpoint wants a login.
  private let remedy: String
  private var exchanges: [Int: HTTPExchange] = [:]
  private var lastNumber = 0
  private var context: TLSContext?

  /// - Parameter network: Its routes and authorities apply to calls to any server.
  init(loop: EventLoop, network: Destination, timeout: Duration, remedy: String) {
    (self.loop, self.network, self.timeout, self.remedy) = (loop, network, timeout, remedy)
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
        loop: loop, request: call, to: network, tls: try context(for: call.url), timeout: timeout
      ) { [unowned self] result, _ in
        exchanges[number] = nil
        if case .success(let response) = result { whenAnswered(response) }
        completion(read(result, of: call.url.place, to: request))
      }
    } catch {
      completion(
        .failure(.refused(status: nil, "cannot ask the endpoint: \(error) (\(call.url.place))")))
    }
  }

  func cancelAll() {
    for exchange in exchanges.values { exchange.cancel() }
    exchanges.removeAll()
  }

  func context(for url: HTTPURL) throws(TLSError) -> TLSContext? {
    guard url.isSecure else { return nil }
    if let context { return context }
    context = try network.tlsContext(loop, to: url)
    return context
  }

  // MARK: Answers

  /// Reads an answer; every failure names the `url`, and the reason in the body.
  private func read(
    _ result: HTTPExchange.Outcome, of url: String, to request: AuthorizationRequest
  ) -> Authorization.Result {
    switch result {
    case .failure(.http(.endedEarly)):
      .failure(
        .unavailable(status: nil, "the endpoint closed the connection inside its answer (\(url))"))
    case .failure(.http(let error)):
      .failure(.unusable("the endpoint's answer is invalid: \(error) (\(url))"))
    case .failure(let failure): .failure(.unavailable(status: nil, "\(failure) (\(url))"))
    case .success(let response): read(response, of: url, to: request)
    }
  }

  private func read(
    _ response: HTTPExchange.Response, of url: String, to request: AuthorizationRequest
  ) -> Authorization.Result {
    let status = response.head.status
    if [200, 201].contains(status) { return granted(response, of: url, to: request) }
    var words = "the endpoint answered HTTP \(status)"
    if let place = response.redirect {
      let isLogin = ["login", "signin", "sign-in", "sign_in"].contains {
        place.lowercased().holds(Array($0.utf8))
      }
      words += ", a redirect to \(place)" + (isLogin ? ": a login page? \(remedy)" : "")
    } else if !response.reason.isEmpty {
      words += ": \(response.reason)"
    }
    words += " (\(url))"
    return .failure(
      HTTPStatus.isTemporary(status)
        ? .unavailable(status: status, words) : .refused(status: status, words))
  }

  private func granted(
    _ response: HTTPExchange.Response, of url: String, to request: AuthorizationRequest
  ) -> Authorization.Result {
    let (status, body) = (response.head.status, response.body)
    if let problem = response.problem {
      return .failure(
        .unusable("the endpoint's answer is invalid: \(problem) (HTTP \(status), \(url))"))
    }
    if RefusalReason.isPage(body) {
      let type = response.head.headers["Content-Type"].map { type in
        ErrorText.shown(String(type.prefix { $0 != ";" }), limit: 100)
      }
      let kind = type.map { $0.holds("json") ? "a page" : $0 } ?? "a page"
      return .failure(
        .unusable(
          "the endpoint answered \(kind), not JSON: a login page? \(remedy) "
            + "(HTTP \(status), \(response.reason), \(url))"))
    }
    let result = Authorization.result(of: body, to: request)
    guard case .failure(.unusable(let reason)) = result else { return result }
    let beginning = RefusalReason.beginning(of: body)
    return .failure(
      .unusable(
        "the endpoint answered HTTP \(status), but \(reason)"
          + (beginning.isEmpty ? "" : "; \(beginning)") + " (\(url))"))
  }
}
