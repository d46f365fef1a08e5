/// Answers as the user's ``AuthMethod`` says; it belongs to the callback thread.
final class MethodAuthorizer: ChannelAuthorizer {
  typealias Completion = (Result<PusherAuth, AuthorizationFailure>) -> Void

  private let connection: PusherConnection
  private let dispatcher: EventDispatcher
  private let calls: EndpointCalls
  private let questions: OpenQuestions<PusherAuth>
  private var memberIDs = NameTable<String>()
  /// What an endpoint answered last about a channel.
  private var answers = NameTable<EndpointAnswer>()

  init(loop: EventLoop, connection: PusherConnection, dispatcher: EventDispatcher) {
    self.connection = connection
    self.dispatcher = dispatcher
    let options = connection.options
    calls = EndpointCalls(loop: loop, options: options)
    questions = OpenQuestions(loop: loop, timeout: options.connectTimeout, whom: "authorizer")
  }

  /// Under which id the last authorisation lets this client into a presence channel.
  func memberID(of channel: String) -> String? { memberIDs[channel] }

  /// What the endpoint said about a channel that failed.
  func takeAnswer(about channel: String) -> EndpointAnswer? { answers.removeValue(of: channel) }

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
      let url = AuthRequest.url(endpoint, path: connection.options.service.authorizationPath)
      let form = AuthRequest.form(
        url: url, [("socket_id", request.socketID), ("channel_name", channel)])
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
    calls.cancelAll()
    questions.cancelAll()
  }

  private static func memberID(_ auth: PusherAuth) -> String? {
    guard let data = auth.channelData else { return nil }
    return (try? JSONParser.parse(data))?["user_id"]?.identifier
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
    InlineAuthorizer(
      signature: signature, member: member, masterKey: connection.options.encryptionMasterKey
    ).authorize(request, completion: completion)
  }

  // MARK: By the user's own means

  private func ask(
    _ authorizer: any Authorizer, _ request: AuthorizationRequest,
    _ completion: @escaping Completion
  ) {
    let number = questions.open(completion)
    let connection = connection
    authorizer.fetchAuthValue(socketID: request.socketID, channelName: request.channel) { auth in
      connection.post(.authorized(question: number, auth))
    }
  }

  /// An ``Authorizer`` has answered; late and second answers are ignored.
  func answer(_ question: Int, _ auth: PusherAuth?) {
    questions.answer(question, auth)
  }

  // MARK: By an endpoint

  private func ask(_ form: AuthRequest, _ channel: String, _ completion: @escaping Completion) {
    var form = form
    if let object = dispatcher.channels[channel] {
      connection.delegate?.willAuthorizeChannel(object, request: &form)
    }
    let problem = calls.ask(form) { [unowned self] result in
      if case .success(let response) = result { answers[channel] = EndpointAnswer(response) }
      completion(EndpointAuthorizer.answer(result))
    }
    if let problem { completion(.failure(problem)) }
  }
}
