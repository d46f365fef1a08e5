internal import Synchronization

/// Signs with the user's ``AuthMethod`` and ``UserAuthMethod``, on the callback thread.
final class MethodSigner: Signer {
  private let connection: PusherConnection
  private let place: PusherConnection.Target
  private let dispatcher: EventDispatcher
  private let calls: EndpointCalls
  private let questions: OpenQuestions<CallerAnswer>
  /// Outcomes by channel; the user's has an empty name.
  private var outcomes = NameTable<SigningOutcome>()

  init(
    loop: EventLoop, connection: PusherConnection, place: PusherConnection.Target,
    dispatcher: EventDispatcher, network: Destination
  ) {
    (self.connection, self.place, self.dispatcher) = (connection, place, dispatcher)
    let timeout = place.options.connectTimeout
    var endpoints = network
    // The client certificate and the pinned keys are for the service only.
    endpoints.tls = network.tls.forAnotherServer
    calls = EndpointCalls(
      loop: loop, network: endpoints, timeout: timeout, remedy: "add header fields to its request")
    questions = OpenQuestions(loop: loop, timeout: timeout)
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
    questions.cancelAll()
  }

  /// Resolves a question with the answer of the caller's code; late and second answers are ignored.
  func answer(_ question: Int, _ answer: CallerAnswer) { questions.answer(question, answer) }

  // MARK: Channels

  private func authorize(
    _ request: AuthorizationRequest, _ channel: String, _ completion: @escaping Completion
  ) {
    let completion: Completion = { [unowned self] result in
      if case .success(let auth) = result, let id = Self.memberID(auth) {
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
    case .authRequestBuilder(let builder): ask(builder, request, channel, completion)
    case .inline(let secret):
      secretSigner(secret, member: member(of: channel)).sign(request, completion: completion)
    case .authorizer(let authorizer): ask(authorizer, request, channel, completion)
    case .noMethod:
      completion(.failure(.refused(status: nil, "no authorisation method is set (authMethod)")))
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
    let signature = SubscriptionSignature(key: place.key, secret: secret)
    return SecretSigner(
      signature: signature, member: member, masterKey: place.options.encryptionMasterKey,
      userData: userData)
  }

  // MARK: The user

  private func authenticate(_ request: AuthorizationRequest, _ completion: @escaping Completion) {
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
      let reason = "no sign-in method is set (userAuthMethod)"
      completion(.failure(.refused(status: nil, reason)))
    }
  }

  // MARK: With the caller's code

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

  /// Opens a question to the caller's code, which messages call `name`, and returns its number.
  private func open(
    _ name: String, about request: AuthorizationRequest, _ completion: @escaping Completion
  ) -> Int {
    questions.open(name) { [unowned self] result in
      switch result {
      case .success(.authorization(let auth?)): completion(.success(auth))
      case .success(.authorization(nil)):
        completion(.failure(.refused(status: nil, "the \(name) refused")))
      case .success(.request(let form?)): ask(form, request, completion)
      case .success(.request(nil)): completion(.failure(.noRequest))
      case .success(.failed(let error)):
        outcomes[request.channel ?? "", default: SigningOutcome()].error = error
        completion(.failure(AuthorizationFailure(error, of: name)))
      case .failure(let failure): completion(.failure(failure))
      }
    }
  }

  /// Runs `body` in a task that is cancelled with its question.
  private func answer(_ number: Int, _ body: @escaping @Sendable () async throws -> CallerAnswer) {
    let connection = connection
    // High priority, because a subscription waits for the answer.
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

  // MARK: With an endpoint

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
    calls.ask(call, about: request) { [unowned self] response in
      outcomes[request.channel ?? "", default: SigningOutcome()].note(response)
    } completion: {
      completion($0)
    }
  }
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

  fileprivate mutating func note(_ answer: HTTPExchange.Response) {
    let fields = answer.head.headers.fields.map { AuthRequest.Field($0.name, $0.value) }
    response = AuthResponse(statusCode: answer.head.status, headers: fields)
    body = String(decoding: answer.body, as: UTF8.self)
  }
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

/// Open questions to the user's own code, on the loop's thread.
final class OpenQuestions<Answer: Sendable> {
  typealias Completion = (Result<Answer, AuthorizationFailure>) -> Void

  private struct Question {
    let completion: Completion
    let timer: LoopTimer
    var cancel: (@Sendable () -> Void)?
  }

  private let loop: EventLoop
  private let timeout: Duration
  private var open: [Int: Question] = [:]

  init(loop: EventLoop, timeout: Duration) { (self.loop, self.timeout) = (loop, timeout) }

  /// Opens a question and returns its number for ``answer(_:_:)``; messages call it `name`.
  func open(_ name: String, _ completion: @escaping Completion) -> Int {
    let number = QuestionNumber.next()
    let timer = LoopTimer(deadline: loop.now.advanced(by: timeout)) { [unowned self] in
      let message = "the \(name) did not answer within \(timeout.inWords)"
      finish(number, .failure(.unavailable(status: nil, message)))
    }
    loop.add(timer)
    open[number] = Question(completion: completion, timer: timer)
    return number
  }

  /// Sets a function to call once the answer came or is no longer wanted.
  func onEnd(of number: Int, _ cancel: @escaping @Sendable () -> Void) {
    open[number]?.cancel = cancel
  }

  /// Ignores late and second answers.
  func answer(_ number: Int, _ answer: Answer) { finish(number, .success(answer)) }

  func cancelAll() {
    for question in open.values {
      loop.remove(question.timer)
      question.cancel?()
    }
    open.removeAll()
  }

  private func finish(_ number: Int, _ result: Result<Answer, AuthorizationFailure>) {
    guard let question = open.removeValue(forKey: number) else { return }
    loop.remove(question.timer)
    question.cancel?()
    question.completion(result)
  }
}

/// Numbers unique in the process: an answer for an earlier connection must not match.
private enum QuestionNumber {
  private static let last = Atomic<Int>(0)

  static func next() -> Int { last.wrappingAdd(1, ordering: .relaxed).newValue }
}
