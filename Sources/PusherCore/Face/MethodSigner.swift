/// Signs by the user's ``AuthMethod`` and ``UserAuthMethod``; it belongs to the callback thread.
final class MethodSigner: Signer {
  private let connection: PusherConnection
  /// The app and the options for which it signs.
  private let place: PusherConnection.Target
  private let dispatcher: EventDispatcher
  private let calls: EndpointCalls
  private let questions: OpenQuestions
  private var memberIDs = NameTable<String>()
  /// What an endpoint answered last about a channel.
  private var answers = NameTable<EndpointAnswer>()
  /// What an endpoint answered last about the user.
  private var userAnswer: EndpointAnswer?

  /// - Parameter network: The way to the service, which is that to endpoints too.
  init(
    loop: EventLoop, connection: PusherConnection, place: PusherConnection.Target,
    dispatcher: EventDispatcher, network: Destination
  ) {
    self.connection = connection
    self.place = place
    self.dispatcher = dispatcher
    let timeout = place.options.connectTimeout
    var endpoints = network
    // What the service is shown, and its pinned keys, are not for other servers.
    endpoints.tls = network.tls.forAnotherServer
    calls = EndpointCalls(loop: loop, network: endpoints, timeout: timeout)
    questions = OpenQuestions(loop: loop, timeout: timeout)
  }

  /// The member id of the last authorisation for each presence channel.
  func memberID(of channel: String) -> String? { memberIDs[channel] }

  /// What the endpoint said about a channel that failed.
  func takeAnswer(about channel: String) -> EndpointAnswer? { answers.removeValue(of: channel) }

  /// What the endpoint said about a sign-in that failed.
  func takeUserAnswer() -> EndpointAnswer? {
    defer { userAnswer = nil }
    return userAnswer
  }

  func sign(_ request: AuthorizationRequest, completion: @escaping Completion) {
    if let channel = request.channel {
      authorize(request, channel, completion)
    } else {
      authenticate(request, completion)
    }
  }

  func cancelAll() {
    calls.cancelAll()
    questions.cancelAll()
  }

  /// The user's own code has answered; late and second answers are ignored.
  func answer(_ question: Int, _ answer: Authorization?) {
    questions.answer(question, answer)
  }

  // MARK: Channels

  private func authorize(
    _ request: AuthorizationRequest, _ channel: String, _ completion: @escaping Completion
  ) {
    answers[channel] = nil
    let completion: Completion = { [unowned self] result in
      if case .success(let auth) = result { memberIDs[channel] = Self.memberID(auth) }
      completion(result)
    }
    if let auth = dispatcher.channels[channel]?.takeAuth() {
      return completion(.success(Authorization(auth)))
    }
    switch place.options.authMethod {
    case .endpoint(let endpoint):
      let path = place.options.service.authorizationPath
      ask(.form(endpoint, path: path, request), request, completion)
    case .authRequestBuilder(let builder):
      guard let form = builder.requestFor(socketID: request.socketID, channelName: channel) else {
        return completion(.failure(.refused(status: nil, "the request builder made no request")))
      }
      ask(form, request, completion)
    case .inline(let secret):
      secretSigner(secret, member: member(of: channel)).sign(request, completion: completion)
    case .authorizer(let authorizer):
      let number = questions.open("authorizer", completion)
      let connection = connection
      authorizer.fetchAuthValue(socketID: request.socketID, channelName: channel) { auth in
        connection.post(.answered(question: number, auth.map(Authorization.init)))
      }
    case .noMethod:
      completion(.failure(.refused(status: nil, "no way to authorise was given (authMethod)")))
    }
  }

  private static func memberID(_ auth: Authorization) -> String? {
    guard let data = auth.data else { return nil }
    return (try? JSONParser.parse(data))?["user_id"]?.identifier
  }

  private func member(of channel: String) -> SecretSigner.Member? {
    guard ChannelKind(channelName: channel) == .presence, let fetch = connection.userDataFetcher
    else { return nil }
    let data = fetch()
    let info = data.userInfo == .null ? nil : data.userInfo.jsonText
    return SecretSigner.Member(userID: data.userId, userInfo: info)
  }

  private func secretSigner(
    _ secret: String, member: SecretSigner.Member? = nil, userData: String? = nil
  ) -> SecretSigner {
    SecretSigner(
      signature: SubscriptionSignature(key: place.key, secret: secret), member: member,
      masterKey: place.options.encryptionMasterKey, userData: userData)
  }

  // MARK: The user

  private func authenticate(_ request: AuthorizationRequest, _ completion: @escaping Completion) {
    userAnswer = nil
    let options = place.options
    switch options.userAuthMethod {
    case .endpoint(let endpoint):
      let path = options.service.userAuthenticationPath
      ask(.form(endpoint, path: path, request), request, completion)
    case .inline(let secret, let userData):
      guard userData["id"]?.identifier?.isEmpty == false else {
        return completion(.failure(.refused(status: nil, "the user's data has no id")))
      }
      secretSigner(secret, userData: userData.jsonText).sign(request, completion: completion)
    case .authenticator(let authenticator):
      let number = questions.open("authenticator", completion)
      let connection = connection
      authenticator.fetchUserAuth(socketID: request.socketID) { auth in
        connection.post(.answered(question: number, auth.map(Authorization.init)))
      }
    case .noMethod:
      let reason = "no way to sign users in was given (userAuthMethod)"
      completion(.failure(.refused(status: nil, reason)))
    }
  }

  // MARK: By an endpoint

  private func ask(
    _ form: AuthRequest, _ request: AuthorizationRequest, _ completion: @escaping Completion
  ) {
    var form = form
    if request.channel == nil {
      connection.delegate?.willAuthenticateUser(request: &form)
    } else if let channel = request.channel.flatMap({ dispatcher.channels[$0] }) {
      connection.delegate?.willAuthorizeChannel(channel, request: &form)
    }
    let call: HTTPExchange.Request
    do throws(HTTPError) {
      call = try form.call()
    } catch {
      let reason = "the endpoint cannot be asked: \(error)"
      return completion(.failure(.refused(status: nil, reason)))
    }
    calls.ask(call, about: request) { [unowned self] response in
      let answer = EndpointAnswer(response)
      if let channel = request.channel { answers[channel] = answer } else { userAnswer = answer }
    } completion: {
      completion($0)
    }
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

extension AuthRequest {
  /// The request as it is sent.
  fileprivate func call() throws(HTTPError) -> HTTPExchange.Request {
    let url = try HTTPURL(parsing: url)
    guard url.scheme == .http || url.scheme == .https else {
      throw HTTPError.invalidURL("an endpoint's URL begins with http:// or https://")
    }
    return HTTPExchange.Request(
      method: httpMethod, url: url, headers: HTTPHeaders(headers.map { ($0.name, $0.value) }),
      body: Array((httpBody ?? "").utf8))
  }
}
