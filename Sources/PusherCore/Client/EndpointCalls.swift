/// Asks endpoints by HTTP, as the client's options say; it belongs to the callback thread.
final class EndpointCalls {
  typealias Completion = (Result<HTTPExchange.Response, HTTPExchange.Failure>) -> Void

  private let loop: EventLoop
  private let options: PusherClientOptions
  private var exchanges: [Int: HTTPExchange] = [:]
  private var lastNumber = 0
  private var tls: TLSContext?

  init(loop: EventLoop, options: PusherClientOptions) {
    self.loop = loop
    self.options = options
  }

  /// Sends `form`; answers why it cannot even be sent, and then `completion` is not called.
  func ask(_ form: AuthRequest, _ completion: @escaping Completion) -> AuthorizationFailure? {
    lastNumber += 1
    let number = lastNumber
    do {
      let request = try exchangeRequest(form)
      exchanges[number] = try HTTPExchange(
        loop: loop, request: request, routing: try options.network.routing(),
        tls: try context(for: request.url), timeout: options.connectTimeout
      ) { [unowned self] result, _ in
        exchanges[number] = nil
        completion(result)
      }
      return nil
    } catch {
      return .refused(status: nil, "the endpoint cannot be asked: \(error)")
    }
  }

  func cancelAll() {
    for exchange in exchanges.values { exchange.cancel() }
    exchanges.removeAll()
  }

  private func exchangeRequest(_ form: AuthRequest) throws -> HTTPExchange.Request {
    let url = try HTTPURL(parsing: form.url)
    guard url.scheme == .http || url.scheme == .https else {
      throw HTTPError.invalidURL("an endpoint's URL begins with http:// or https://")
    }
    return HTTPExchange.Request(
      method: form.httpMethod, url: url,
      headers: HTTPHeaders(form.headers.map { ($0.name, $0.value) }),
      body: Array((form.httpBody ?? "").utf8))
  }

  private func context(for url: HTTPURL) throws(TLSError) -> TLSContext? {
    guard url.isSecure else { return nil }
    if let tls { return tls }
    let context = try TLSContext.client(options.tls, environment: options.network.trust)
    tls = context
    return context
  }
}

/// What an endpoint answered, for the delegate.
struct EndpointAnswer {
  let response: AuthResponse
  let body: String

  init(_ response: HTTPExchange.Response) {
    let fields = response.head.headers.fields.map { AuthRequest.Field($0.name, $0.value) }
    self.response = AuthResponse(statusCode: response.head.status, headers: fields)
    body = String(decoding: response.body, as: UTF8.self)
  }
}
