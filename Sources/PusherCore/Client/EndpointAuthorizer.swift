/// Asks the application's own endpoint, as pusher-js does: a form with `socket_id` and `channel_name`, for users with
/// `socket_id` alone.
///
/// 200 and 201 are a yes; what is temporary by ``HTTPStatus`` means "later"; every other status is a no. Source: Pusher's
/// page "Authorizing users", and what the official libraries accept.
package final class EndpointAuthorizer: ChannelAuthorizer, UserAuthenticator {
  private let loop: EventLoop
  private let url: HTTPURL
  private let headers: HTTPHeaders
  private let parameters: [(String, String)]
  private let routing: Routing
  private let tls: TLSContext?
  private let timeout: Duration
  private var exchanges: [Int: HTTPExchange] = [:]
  private var nextExchange = 0

  /// - Parameters:
  ///   - headers: Sent with each question, besides the form's own.
  ///   - parameters: Form fields behind `socket_id` and `channel_name`.
  ///   - routing: Which way leads to the endpoint.
  ///   - timeout: For one answer, from the name's resolution to its last byte.
  ///
  /// - Throws: ``TLSError`` when the URL is secure and the trust roots cannot be read.
  package init(
    loop: EventLoop, url: HTTPURL, headers: HTTPHeaders, parameters: [(String, String)],
    routing: Routing = Routing(), tls: TLSConfiguration, trust: TLSEnvironment, timeout: Duration
  ) throws(TLSError) {
    self.loop = loop
    self.url = url
    self.headers = headers
    self.parameters = parameters
    self.routing = routing
    self.timeout = timeout
    self.tls = url.isSecure ? try TLSContext.client(tls, environment: trust) : nil
  }

  package func authorize(
    _ request: AuthorizationRequest,
    completion: @escaping (Result<PusherAuth, AuthorizationFailure>) -> Void
  ) {
    let form = [("socket_id", request.socketID), ("channel_name", request.channel)]
    ask(form) { completion($0.flatMap(AuthorizationAnswer.result)) }
  }

  package func authenticate(
    _ request: UserAuthenticationRequest,
    completion: @escaping (Result<PusherUserAuth, AuthorizationFailure>) -> Void
  ) {
    ask([("socket_id", request.socketID)]) {
      completion($0.flatMap(AuthorizationAnswer.userResult))
    }
  }

  private func ask(
    _ form: [(String, String)],
    completion: @escaping (Result<[UInt8], AuthorizationFailure>) -> Void
  ) {
    let number = nextExchange
    nextExchange += 1
    do {
      exchanges[number] = try HTTPExchange(
        loop: loop, request: question(form + parameters), routing: routing, tls: tls,
        timeout: timeout
      ) { [unowned self] result, _ in
        exchanges[number] = nil
        completion(Self.body(result))
      }
    } catch {
      completion(.failure(.refused(status: nil, "the endpoint cannot be asked: \(error)")))
    }
  }

  package func cancelAll() {
    for exchange in exchanges.values { exchange.cancel() }
    exchanges.removeAll()
  }

  private func question(_ form: [(String, String)]) -> HTTPExchange.Request {
    var fields = headers
    if fields["Content-Type"] == nil {
      fields.append("Content-Type", "application/x-www-form-urlencoded")
    }
    if fields["Accept"] == nil { fields.append("Accept", "application/json") }
    return HTTPExchange.Request(
      method: "POST", url: url, headers: fields, body: Array(PercentEncoding.form(form).utf8))
  }

  /// What an endpoint's answer means for the subscription.
  static func answer(
    _ result: Result<HTTPExchange.Response, HTTPExchange.Failure>
  ) -> Result<PusherAuth, AuthorizationFailure> {
    body(result).flatMap(AuthorizationAnswer.result)
  }

  /// What an endpoint's answer means for the sign-in.
  static func userAnswer(
    _ result: Result<HTTPExchange.Response, HTTPExchange.Failure>
  ) -> Result<PusherUserAuth, AuthorizationFailure> {
    body(result).flatMap(AuthorizationAnswer.userResult)
  }

  /// The body of an answer that is a yes.
  static func body(
    _ result: Result<HTTPExchange.Response, HTTPExchange.Failure>
  ) -> Result<[UInt8], AuthorizationFailure> {
    switch result {
    case .failure(.http(.endedEarly)):
      return .failure(
        .unavailable(status: nil, "the endpoint ended the connection inside its answer"))
    case .failure(.http(let error)):
      return .failure(.unusable("the endpoint's answer is broken: \(error)"))
    case .failure(let failure): return .failure(.unavailable(status: nil, "\(failure)"))
    case .success(let response):
      let status = response.head.status
      switch status {
      case 200, 201: return .success(response.body)
      case _ where HTTPStatus.isTemporary(status):
        return .failure(.unavailable(status: status, "the endpoint answered HTTP \(status)"))
      case 300...399:
        let place = response.head.headers["Location"] ?? "nowhere"
        return .failure(
          .refused(status: status, "the endpoint answered HTTP \(status), a redirect to \(place)"))
      default:
        return .failure(.refused(status: status, "the endpoint answered HTTP \(status)"))
      }
    }
  }
}

extension AuthorizationAnswer {
  /// The token in a whole body.
  static func result(_ body: [UInt8]) -> Result<PusherAuth, AuthorizationFailure> {
    result(body, parse)
  }

  /// The user in a whole body.
  static func userResult(_ body: [UInt8]) -> Result<PusherUserAuth, AuthorizationFailure> {
    result(body, parseUser)
  }

  private static func result<Answer>(
    _ body: [UInt8], _ parse: (ByteView) throws(AuthorizationFailure) -> Answer
  ) -> Result<Answer, AuthorizationFailure> {
    let buffer = ByteBuffer(capacity: body.count)
    buffer.append(body)
    do throws(AuthorizationFailure) {
      return .success(try parse(buffer.view))
    } catch {
      return .failure(error)
    }
  }
}
