/// Signs by the user's ``AuthMethod`` and ``UserAuthMethod``; it belongs to the callback thread.
final class MethodSigner: Signer {
  private let connection: PusherConnection
  /// The app and the options for which it signs.
  private let place: PusherConnection.Target
  private let dispatcher: EventDispatcher
  private let calls: EndpointCalls
  private let questions: OpenQuestions<CallerAnswer>
  private var memberIDs = NameTable<String>()
  /// What an endpoint answered last about a channel.
  private var answers = NameTable<EndpointAnswer>()
  /// What an endpoint answered last about the user.
  private var userAnswer: EndpointAnswer?
  /// What the user's own code threw last about a channel.
  private var errors = NameTable<any Error>()
  /// What it threw last about the user.
  private var userError: (any Error)?

  /// - Parameter network: The way to the service, which is that to endpoints too.
  init(
    loop: EventLoop, connection: PusherConnection, place: PusherConnection.Target,
    dispatcher: EventDispatcher, network: Destination
  ) {
    (self.connection, self.place, self.dispatcher) = (connection, place, dispatcher)
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

  /// What the user's own code threw about a channel that failed.
  func takeError(about channel: String) -> (any Error)? { errors.removeValue(of: channel) }

  /// What it threw about a sign-in that failed.
  func takeUserError() -> (any Error)? {
    defer { userError = nil }
    return userError
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
  func answer(_ question: Int, _ answer: CallerAnswer) {
    questions.answer(question, answer)
  }

  // MARK: Channels

  private func authorize(
    _ request: AuthorizationRequest, _ channel: String, _ completion: @escaping Completion
  ) {
    answers[channel] = nil
    errors[channel] = nil
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
    case .authRequestBuilder(let builder): ask(builder, request, channel, completion)
    case .inline(let secret):
      secretSigner(secret, member: member(of: channel)).sign(request, completion: completion)
    case .authorizer(let authorizer): ask(authorizer, request, channel, completion)
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
    userError = nil
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
    case .authenticator(let authenticator): ask(authenticator, request, completion)
    case .noMethod:
      let reason = "no way to sign users in was given (userAuthMethod)"
      completion(.failure(.refused(status: nil, reason)))
    }
  }

  // MARK: By the user's own code

  private func ask(
    _ authorizer: any Authorizer, _ request: AuthorizationRequest, _ channel: String,
    _ completion: @escaping Completion
  ) {
    let number = open("authorizer", about: request, completion)
    let (connection, socketID) = (connection, request.socketID)
    switch authorizer {
    case let authorizer as any AsyncAuthorizer:
      answer(number) {
        let auth = try await authorizer.authorization(socketID: socketID, channelName: channel)
        return .authorization(auth.map(Authorization.init))
      }
    case let authorizer as any ResultAuthorizer:
      authorizer.fetchAuth(socketID: socketID, channelName: channel) { result in
        connection.post(.answered(question: number, CallerAnswer(result)))
      }
    default:
      authorizer.fetchAuthValue(socketID: socketID, channelName: channel) { auth in
        let answer = CallerAnswer.authorization(auth.map(Authorization.init))
        connection.post(.answered(question: number, answer))
      }
    }
  }

  private func ask(
    _ authenticator: any UserAuthenticator, _ request: AuthorizationRequest,
    _ completion: @escaping Completion
  ) {
    let number = open("authenticator", about: request, completion)
    let (connection, socketID) = (connection, request.socketID)
    if let authenticator = authenticator as? any AsyncUserAuthenticator {
      return answer(number) {
        let auth = try await authenticator.authentication(socketID: socketID)
        return .authorization(auth.map(Authorization.init))
      }
    }
    authenticator.fetchUserAuth(socketID: socketID) { auth in
      let answer = CallerAnswer.authorization(auth.map(Authorization.init))
      connection.post(.answered(question: number, answer))
    }
  }

  private func ask(
    _ builder: any AuthRequestBuilderProtocol, _ request: AuthorizationRequest, _ channel: String,
    _ completion: @escaping Completion
  ) {
    let socketID = request.socketID
    guard let builder = builder as? any AsyncAuthRequestBuilder else {
      guard let form = builder.requestFor(socketID: socketID, channelName: channel) else {
        return completion(.failure(.noRequest))
      }
      return ask(form, request, completion)
    }
    answer(open("request builder", about: request, completion)) {
      .request(try await builder.request(socketID: socketID, channelName: channel))
    }
  }

  /// The number of a question to the code that messages call `name`.
  private func open(
    _ name: String, about request: AuthorizationRequest, _ completion: @escaping Completion
  ) -> Int {
    questions.open(name) { [unowned self] result in
      switch result {
      case .success(.authorization(let auth?)): completion(.success(auth))
      case .success(.authorization(nil)):
        completion(.failure(.refused(status: nil, "the \(name) said no")))
      case .success(.request(let form?)): ask(form, request, completion)
      case .success(.request(nil)): completion(.failure(.noRequest))
      case .success(.failed(let error)):
        if let channel = request.channel { errors[channel] = error } else { userError = error }
        completion(.failure(AuthorizationFailure(error, of: name)))
      case .failure(let failure): completion(.failure(failure))
      }
    }
  }

  /// Runs `body` in a task that is cancelled with its question.
  private func answer(
    _ number: Int, _ body: @escaping @Sendable () async throws -> CallerAnswer
  ) {
    let connection = connection
    // A subscription waits for it, whatever else the process has begun.
    let task = Task(priority: .high) {
      let answer: CallerAnswer
      do {
        answer = try await body()
      } catch {
        answer = .failed(error)
      }
      connection.post(.answered(question: number, answer))
    }
    questions.onEnd(of: number) { task.cancel() }
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

extension AuthorizationFailure {
  fileprivate static let noRequest = AuthorizationFailure.refused(
    status: nil, "the request builder made no request")
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
