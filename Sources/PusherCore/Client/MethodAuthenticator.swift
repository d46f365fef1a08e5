/// Answers who the user is as the user's ``UserAuthMethod`` says; it belongs to the callback thread.
final class MethodAuthenticator: UserAuthenticator {
  typealias Completion = (Result<PusherUserAuth, AuthorizationFailure>) -> Void

  private let connection: PusherConnection
  private let calls: EndpointCalls
  private let questions: OpenQuestions<PusherUserAuth>
  private var lastAnswer: EndpointAnswer?

  init(loop: EventLoop, connection: PusherConnection) {
    self.connection = connection
    let options = connection.options
    calls = EndpointCalls(loop: loop, options: options)
    questions = OpenQuestions(loop: loop, timeout: options.connectTimeout, whom: "authenticator")
  }

  /// What the endpoint said about a sign-in that failed.
  func takeAnswer() -> EndpointAnswer? {
    defer { lastAnswer = nil }
    return lastAnswer
  }

  func authenticate(_ request: UserAuthenticationRequest, completion: @escaping Completion) {
    lastAnswer = nil
    let options = connection.options
    switch options.userAuthMethod {
    case .endpoint(let endpoint):
      let url = AuthRequest.url(endpoint, path: options.service.userAuthenticationPath)
      ask(.form(url: url, [("socket_id", request.socketID)]), completion)
    case .inline(let secret, let userData):
      guard userData["id"]?.identifier?.isEmpty == false else {
        return completion(.failure(.refused(status: nil, "the user's data has no id")))
      }
      InlineAuthenticator(
        signature: SubscriptionSignature(key: connection.key, secret: secret),
        userData: userData.jsonText
      ).authenticate(request, completion: completion)
    case .authenticator(let authenticator):
      let number = questions.open(completion)
      let connection = connection
      authenticator.fetchUserAuth(socketID: request.socketID) { auth in
        connection.post(.authenticated(question: number, auth))
      }
    case .noMethod:
      let reason = "no way to sign users in was given (userAuthMethod)"
      completion(.failure(.refused(status: nil, reason)))
    }
  }

  func cancelAll() {
    calls.cancelAll()
    questions.cancelAll()
  }

  /// An ``Authenticator`` has answered.
  func answer(_ question: Int, _ auth: PusherUserAuth?) {
    questions.answer(question, auth)
  }

  private func ask(_ form: AuthRequest, _ completion: @escaping Completion) {
    var form = form
    connection.delegate?.willAuthenticateUser(request: &form)
    let problem = calls.ask(form) { [unowned self] result in
      if case .success(let response) = result { lastAnswer = EndpointAnswer(response) }
      completion(EndpointAuthorizer.userAnswer(result))
    }
    if let problem { completion(.failure(problem)) }
  }
}
