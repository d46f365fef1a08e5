/// Answers as the user's ``AuthMethod`` says; it belongs to the callback thread.
final class MethodAuthorizer: ChannelAuthorizer {
  typealias Completion = (Result<PusherAuth, AuthorizationFailure>) -> Void

  /// What an endpoint answered last about a channel.
  struct Answer {
    let response: AuthResponse
    let body: String
  }

  private struct Question {
    let completion: Completion
    let timer: LoopTimer
  }

  private let loop: EventLoop
  private let connection: PusherConnection
  private let dispatcher: EventDispatcher
  private var exchanges: [Int: HTTPExchange] = [:]
  /// What an ``Authorizer`` has yet to answer.
  private var questions: [Int: Question] = [:]
  private var lastNumber = 0
  private var tls: TLSContext?
  private var memberIDs: [String: String] = [:]
  private var answers: [String: Answer] = [:]

  init(loop: EventLoop, connection: PusherConnection, dispatcher: EventDispatcher) {
    self.loop = loop
    self.connection = connection
    self.dispatcher = dispatcher
  }

  /// Under which id the last authorisation lets this client into a presence channel.
  func memberID(of channel: String) -> String? { memberIDs[channel] }

  /// What the endpoint said about a channel that failed.
  func takeAnswer(about channel: String) -> Answer? { answers.removeValue(forKey: channel) }

  func authorize(_ request: AuthorizationRequest, completion: @escaping Completion) {
    let channel = request.channel
    answers[channel] = nil
    let completion: Completion = { [unowned self] result in
      if case .success(let auth) = result { memberIDs[channel] = Self.memberID(auth) }
      completion(result)
    }
    if let auth = dispatcher.channels[channel]?.takeAuth() { return completion(.success(auth)) }
    switch connection.options.authMethod {
    case .endpoint(let endpoint):
      let form = AuthRequest.form(url: endpoint, socketID: request.socketID, channelName: channel)
      ask(form, channel, completion)
    case .authRequestBuilder(let builder):
      guard let form = builder.requestFor(socketID: request.socketID, channelName: channel) else {
        return completion(.failure(.refused(status: nil, "the request builder made no request")))
      }
      ask(form, channel, completion)
    case .inline(let secret): sign(request, secret, completion)
    case .authorizer(let authorizer): ask(authorizer, request, completion)
    case .noMethod:
      completion(.failure(.refused(status: nil, "no way to authorise was given (authMethod)")))
    }
  }

  func cancelAll() {
    for exchange in exchanges.values { exchange.cancel() }
    exchanges.removeAll()
    for question in questions.values { loop.remove(question.timer) }
    questions.removeAll()
  }

  private static func memberID(_ auth: PusherAuth) -> String? {
    guard let data = auth.channelData else { return nil }
    return (try? JSONParser.parse(data))?["user_id"]?.identifier
  }

  private func nextNumber() -> Int {
    lastNumber += 1
    return lastNumber
  }

  // MARK: In this process

  private func sign(
    _ request: AuthorizationRequest, _ secret: String, _ completion: @escaping Completion
  ) {
    var member: InlineAuthorizer.Member?
    if ChannelKind(channelName: request.channel) == .presence,
      let fetch = connection.userDataFetcher
    {
      let data = fetch()
      let info = data.userInfo == .null ? nil : data.userInfo.jsonText
      member = InlineAuthorizer.Member(userID: data.userId, userInfo: info)
    }
    let signature = SubscriptionSignature(key: connection.key, secret: secret)
    InlineAuthorizer(signature: signature, member: member)
      .authorize(request, completion: completion)
  }

  // MARK: By the user's own means

  private func ask(
    _ authorizer: any Authorizer, _ request: AuthorizationRequest,
    _ completion: @escaping Completion
  ) {
    let number = nextNumber()
    let timeout = connection.options.connectTimeout
    let timer = LoopTimer(deadline: loop.now.advanced(by: timeout)) { [unowned self] in
      let message = "the authorizer gave no answer within \(timeout.inWords)"
      finish(number, .failure(.unavailable(status: nil, message)))
    }
    loop.add(timer)
    questions[number] = Question(completion: completion, timer: timer)
    let connection = connection
    authorizer.fetchAuthValue(socketID: request.socketID, channelName: request.channel) { auth in
      connection.post(.authorized(question: number, auth))
    }
  }

  /// An ``Authorizer`` has answered; late and second answers are ignored.
  func answer(_ question: Int, _ auth: PusherAuth?) {
    let result: Result<PusherAuth, AuthorizationFailure> =
      auth.map { .success($0) } ?? .failure(.refused(status: nil, "the authorizer said no"))
    finish(question, result)
  }

  private func finish(_ number: Int, _ result: Result<PusherAuth, AuthorizationFailure>) {
    guard let question = questions.removeValue(forKey: number) else { return }
    loop.remove(question.timer)
    question.completion(result)
  }

  // MARK: By an endpoint

  private func ask(_ form: AuthRequest, _ channel: String, _ completion: @escaping Completion) {
    var form = form
    if let object = dispatcher.channels[channel] {
      connection.delegate?.willAuthorizeChannel(object, request: &form)
    }
    do {
      let number = nextNumber()
      let request = try exchangeRequest(form)
      exchanges[number] = try HTTPExchange(
        loop: loop, request: request, tls: try context(for: request.url),
        timeout: connection.options.connectTimeout
      ) { [unowned self] result, _ in
        exchanges[number] = nil
        if case .success(let response) = result { note(response, channel) }
        completion(EndpointAuthorizer.answer(result))
      }
    } catch {
      completion(.failure(.refused(status: nil, "the endpoint cannot be asked: \(error)")))
    }
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
    let context = try TLSContext.client(connection.options.tls, environment: TLSEnvironment())
    tls = context
    return context
  }

  private func note(_ response: HTTPExchange.Response, _ channel: String) {
    let fields = response.head.headers.fields.map { AuthRequest.Field($0.name, $0.value) }
    answers[channel] = Answer(
      response: AuthResponse(statusCode: response.head.status, headers: fields),
      body: String(decoding: response.body, as: UTF8.self))
  }
}
