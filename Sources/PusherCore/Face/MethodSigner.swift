internal import Synchronization

/// Signs with the user's ``AuthMethod`` and ``UserAuthMethod``, on the callback thread.
final class MethodSigner: Signer {
  /// An open question to the caller's code, which messages call `name`.
  private struct Question {
    let name: String
    let request: AuthorizationRequest
    let completion: Completion
    let timer: LoopTimer
    var task: Task<Void, Never>?
  }

  private let loop: EventLoop
  private let connection: PusherConnection
  private let place: PusherConnection.Target
  private let dispatcher: EventDispatcher
  private let calls: EndpointCalls
  private var questions: [Int: Question] = [:]
  /// Unique in the process: an answer for an earlier connection must not match.
  private static let lastQuestion = Atomic<Int>(0)
  /// Outcomes by channel; the user's has an empty name.
  private var outcomes = NameTable<SigningOutcome>()

  init(
    loop: EventLoop, connection: PusherConnection, place: PusherConnection.Target,
    dispatcher: EventDispatcher, network: Destination
  ) {
    (self.loop, self.connection, self.place) = (loop, connection, place)
    self.dispatcher = dispatcher
    var endpoints = network
    // The client certificate and the pinned keys are for the service only.
    endpoints.tls = network.tls.forAnotherServer
    calls = EndpointCalls(
      loop: loop, network: endpoints, timeout: place.options.connectTimeout,
      remedy: "add header fields to its request")
  }

  func memberID(of channel: String) -> String? { outcomes[channel]?.memberID }

  /// Takes the outcome of a failed request about a channel or, without a name, about the user.
  func takeOutcome(about channel: String? = nil) -> SigningOutcome {
    outcomes.removeValue(of: channel ?? "") ?? SigningOutcome()
  }

  func sign(_ request: AuthorizationRequest, completion: @escaping Completion) {
    outcomes[request.channel ?? ""] = nil
    if let channel = request.channel {
      authorize(request, channel, completion)
    } else {
      authenticate(request, completion)
    }
  }

  func cancelAll() {
    calls.cancelAll()
    for number in Array(questions.keys) { _ = close(number) }
  }

  // MARK: Channels

  private func authorize(
    _ request: AuthorizationRequest, _ channel: String, _ completion: @escaping Completion
  ) {
    let socketID = request.socketID
    let completion: Completion = { [unowned self] result in
      if case .success(let auth) = result, let data = auth.data,
        let id = (try? JSONParser.parse(data))?["user_id"]?.identifier
      {
        outcomes[channel, default: SigningOutcome()].memberID = id
      }
      completion(result)
    }
    if let auth = dispatcher.channels[channel]?.takeAuth() {
      return completion(.success(Authorization(auth)))
    }
    switch place.options.authMethod {
    case .endpoint(let endpoint):
      let path = place.options.service.authorizationPath
      ask(.form(endpoint, path: path, request), request, completion)
    case .authRequestBuilder(let builder as any AsyncAuthRequestBuilder):
      let number = open("request builder", about: request, completion)
      answer(number) {
        .request(try await builder.request(socketID: socketID, channelName: channel))
      }
    case .authRequestBuilder(let builder):
      guard let form = builder.requestFor(socketID: socketID, channelName: channel) else {
        return completion(.failure(.noRequest))
      }
      ask(form, request, completion)
    case .inline(let secret):
      let isPresence = ChannelKind(channelName: channel) == .presence
      let member = isPresence ? connection.userDataFetcher?().channelData : nil
      secretSigner(secret, member: member).sign(request, completion: completion)
    case .authorizer(let authorizer as any AsyncAuthorizer):
      answer(open("authorizer", about: request, completion)) {
        let auth = try await authorizer.authorization(socketID: socketID, channelName: channel)
        return .authorization(auth.map(Authorization.init))
      }
    case .authorizer(let authorizer as any ResultAuthorizer):
      let reply = reply(to: open("authorizer", about: request, completion))
      authorizer.fetchAuth(socketID: socketID, channelName: channel) { result in
        switch result {
        case .success(let auth): reply(.authorization(Authorization(auth)))
        case .failure(let error): reply(.failed(error))
        }
      }
    case .authorizer(let authorizer):
      let reply = reply(to: open("authorizer", about: request, completion))
      authorizer.fetchAuthValue(socketID: socketID, channelName: channel) { auth in
        reply(.authorization(auth.map(Authorization.init)))
      }
    case .noMethod:
      completion(.failure(.refused(status: nil, "no authorisation method is set (authMethod)")))
    }
  }

  private func secretSigner(
    _ secret: String, member: JSONValue? = nil, userData: String? = nil
  ) -> SecretSigner {
    let signature = SubscriptionSignature(key: place.key, secret: secret)
    return SecretSigner(
      signature: signature, member: member, masterKey: place.options.encryptionMasterKey,
      userData: userData)
  }

  // MARK: The user

  private func authenticate(_ request: AuthorizationRequest, _ completion: @escaping Completion) {
    let socketID = request.socketID
    switch place.options.userAuthMethod {
    case .endpoint(let endpoint):
      let path = place.options.service.userAuthenticationPath
      ask(.form(endpoint, path: path, request), request, completion)
    case .inline(let secret, let userData):
      guard userData["id"]?.identifier?.isEmpty == false else {
        return completion(.failure(.refused(status: nil, "the user's data has no id")))
      }
      secretSigner(secret, userData: userData.jsonText).sign(request, completion: completion)
    case .authenticator(let authenticator as any AsyncUserAuthenticator):
      answer(open("authenticator", about: request, completion)) {
        let auth = try await authenticator.authentication(socketID: socketID)
        return .authorization(auth.map(Authorization.init))
      }
    case .authenticator(let authenticator):
      let reply = reply(to: open("authenticator", about: request, completion))
      authenticator.fetchUserAuth(socketID: socketID) { auth in
        reply(.authorization(auth.map(Authorization.init)))
      }
    case .noMethod:
      let reason = "no sign-in method is set (userAuthMethod)"
      completion(.failure(.refused(status: nil, reason)))
    }
  }

  // MARK: Questions to the caller's code

  /// Opens a question, and returns its number.
  private func open(
    _ name: String, about request: AuthorizationRequest, _ completion: @escaping Completion
  ) -> Int {
    let number = Self.lastQuestion.wrappingAdd(1, ordering: .relaxed).newValue
    let timeout = place.options.connectTimeout
    let timer = loop.schedule(after: timeout) { [unowned self] in
      guard close(number) != nil else { return }
      let reason = "the \(name) did not answer within \(timeout.inWords)"
      completion(.failure(.unavailable(status: nil, reason)))
    }
    questions[number] = Question(
      name: name, request: request, completion: completion, timer: timer)
    return number
  }

  private func reply(to number: Int) -> @Sendable (CallerAnswer) -> Void {
    let connection = connection
    return { answer in connection.post { $0.answered(number, answer) } }
  }

  /// Runs `body` in a task that is cancelled with its question.
  private func answer(_ number: Int, _ body: @escaping @Sendable () async throws -> CallerAnswer) {
    let reply = reply(to: number)
    // High priority, because a subscription waits for the answer.
    questions[number]?.task = Task(priority: .high) {
      do { reply(try await body()) } catch { reply(.failed(error)) }
    }
  }

  /// Resolves a question with the answer of the caller's code; late and second answers are ignored.
  func answer(_ number: Int, _ answer: CallerAnswer) {
    guard let question = close(number) else { return }
    let (name, completion) = (question.name, question.completion)
    switch answer {
    case .authorization(let auth?): completion(.success(auth))
    case .authorization(nil):
      completion(.failure(.refused(status: nil, "the \(name) refused")))
    case .request(let form?): ask(form, question.request, completion)
    case .request(nil): completion(.failure(.noRequest))
    case .failed(let error):
      outcomes[question.request.channel ?? "", default: SigningOutcome()].error = error
      let reason = "the \(name) failed: \(error)"
      completion(
        .failure(
          error is AuthorizationUnavailable
            ? .unavailable(status: nil, reason) : .refused(status: nil, reason)))
    }
  }

  private func close(_ number: Int) -> Question? {
    guard let question = questions.removeValue(forKey: number) else { return nil }
    loop.remove(question.timer)
    question.task?.cancel()
    return question
  }

  // MARK: Questions to an endpoint

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
      let reason = "cannot ask the endpoint: \(error)"
      return completion(.failure(.refused(status: nil, reason)))
    }
    calls.ask(call, about: request) { [unowned self] answer in
      let fields = answer.head.headers.fields.map { AuthRequest.Field($0.name, $0.value) }
      let response = AuthResponse(statusCode: answer.head.status, headers: fields)
      outcomes[request.channel ?? "", default: SigningOutcome()].response = response
      outcomes[request.channel ?? "", default: SigningOutcome()].body = String(
        decoding: answer.body, as: UTF8.self)
    } completion: {
      completion($0)
    }
  }
}

/// Answer of the caller's own code.
enum CallerAnswer: Sendable {
  /// `nil` rejects the channel or the user.
  case authorization(Authorization?)
  /// The request to send to an endpoint; `nil` rejects the channel.
  case request(AuthRequest?)
  case failed(any Error)
}

/// Outcome of the last request about a channel or the user.
struct SigningOutcome {
  /// Member id of the authorisation, on presence channels.
  var memberID: String?
  /// Answer of the endpoint, with its body.
  var response: AuthResponse?
  var body: String?
  /// Error of the caller's code.
  var error: (any Error)?
}

extension AuthorizationFailure {
  fileprivate static let noRequest = AuthorizationFailure.refused(
    status: nil, "the request builder returned no request")
}

extension AuthRequest {
  fileprivate func call() throws(HTTPError) -> HTTPExchange.Request {
    let url = try HTTPURL(parsing: url)
    guard url.scheme == .http || url.scheme == .https else {
      throw HTTPError.invalidURL("an endpoint's URL must begin with http:// or https://")
    }
    return HTTPExchange.Request(
      method: httpMethod, url: url, headers: HTTPHeaders(headers.map { ($0.name, $0.value) }),
      body: Array((httpBody ?? "").utf8))
  }
}
