package final class SecretSigner: Signer {
  private let signature: () -> SubscriptionSignature
  private let member: JSONValue?
  private let masterKey: EncryptionMasterKey?
  private let userData: String?

  /// - Parameters:
  ///   - signature: Evaluated for each request.
  ///   - member: User on presence channels: `user_id`, optionally `user_info`; by default the
  ///     socket's id, as with PusherSwift.
  ///   - masterKey: Required for encrypted channels.
  ///   - userData: JSON of the user: `id`, optionally `user_info` and `watchlist`.
  package init(
    signature: @autoclosure @escaping () -> SubscriptionSignature, member: JSONValue? = nil,
    masterKey: EncryptionMasterKey? = nil, userData: String? = nil
  ) {
    (self.signature, self.member) = (signature, member)
    (self.masterKey, self.userData) = (masterKey, userData)
  }

  package func sign(_ request: AuthorizationRequest, completion: @escaping Completion) {
    do throws(AuthorizationFailure) {
      guard SocketID.isValid(request.socketID) else { throw .foreignSocketID }
      completion(.success(try answer(request)))
    } catch { completion(.failure(error)) }
  }

  private func answer(
    _ request: AuthorizationRequest
  ) throws(AuthorizationFailure) -> Authorization {
    guard let channel = request.channel else {
      guard let userData else { throw .refused(status: nil, "no user data was given") }
      let auth = signature().signIn(socketID: request.socketID, userData: userData)
      return Authorization(PusherUserAuth(auth: auth, userData: userData))
    }
    let kind = ChannelKind(channelName: channel)
    let member = member ?? ["user_id": .string(request.socketID)]
    let channelData = kind == .presence ? member.jsonText : nil
    var auth = signature().authorize(
      socketID: request.socketID, channel: channel, channelData: channelData)
    if kind == .encrypted {
      guard let masterKey else { throw .refused(status: nil, "no encryption key was given") }
      auth.sharedSecret = masterKey.sharedSecret(channel: channel)
    }
    return Authorization(auth)
  }

  package func cancelAll() {}
}

/// Limits the open questions of another signer, and so the number of sockets or processes.
package final class SigningQueue: Signer {
  package static let width = 16

  private let signer: any Signer
  private var waiting = Fifo<(request: AuthorizationRequest, completion: Completion)>()
  private var open = 0
  private var isAsking = false
  /// Number of cancellations; answers to questions before the last one do not count.
  private var generation = 0

  /// - Parameter signer: Must not call completions after its ``cancelAll()``.
  package init(_ signer: any Signer) { self.signer = signer }

  package func sign(_ request: AuthorizationRequest, completion: @escaping Completion) {
    waiting.append((request, completion))
    ask()
  }

  package func cancelAll() {
    generation += 1
    waiting = Fifo()
    open = 0
    signer.cancelAll()
  }

  private func ask() {
    // An answer may come at once and allow the next question: the outermost call asks them all.
    guard !isAsking else { return }
    isAsking = true
    defer { isAsking = false }
    while open < Self.width, let question = waiting.popFirst() {
      open += 1
      let generation = generation
      signer.sign(question.request) { [unowned self] result in
        if generation == self.generation { open -= 1 }
        question.completion(result)
        ask()
      }
    }
  }
}
