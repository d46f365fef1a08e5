/// Gets a channel's authorisation by your own asynchronous code.
///
/// It goes where an ``Authorizer`` goes, and may be an actor:
///
/// ```swift
/// actor Signatures: AsyncAuthorizer {
///   func authorization(socketID: String, channelName: String) async throws -> PusherAuth? {
///     try await store.signature(of: channelName, for: socketID)
///   }
/// }
/// let method = AuthMethod.authorizer(authorizer: Signatures())
/// ```
public protocol AsyncAuthorizer: Authorizer {
  /// The authorisation, or `nil` to refuse the channel.
  ///
  /// It runs in a task of its own for every subscription and again after every reconnect. The task is cancelled when the
  /// answer is no longer wanted: after `disconnect()`, with the connection, with the client, and after
  /// ``PusherClientOptions/connectTimeout``, when the question is asked again.
  ///
  /// - Throws: Anything; see ``SubscriptionFailure/underlyingError``. The channel has failed then, and subscribing to it
  ///   again makes another attempt. ``AuthorizationUnavailable`` has the question asked again by itself.
  func authorization(socketID: String, channelName: String) async throws -> PusherAuth?
}

extension AsyncAuthorizer {
  /// Answers with ``authorization(socketID:channelName:)``, from a task that nothing cancels; the library does not call it.
  public func fetchAuthValue(
    socketID: String, channelName: String,
    completionHandler: @escaping @Sendable (PusherAuth?) -> Void
  ) {
    Task(priority: .high) {
      completionHandler(try? await authorization(socketID: socketID, channelName: channelName))
    }
  }
}

/// Gets a channel's authorisation by your own code, and says why there is none.
///
/// It goes where an ``Authorizer`` goes.
public protocol ResultAuthorizer: Authorizer {
  /// Answers as ``Authorizer/fetchAuthValue(socketID:channelName:completionHandler:)`` does, or with an error, which
  /// counts as one that ``AsyncAuthorizer/authorization(socketID:channelName:)`` throws.
  func fetchAuth(
    socketID: String, channelName: String,
    completionHandler: @escaping @Sendable (Result<PusherAuth, any Error>) -> Void)
}

extension ResultAuthorizer {
  /// Answers with what ``fetchAuth(socketID:channelName:completionHandler:)`` does, without the error; the library does
  /// not call it.
  public func fetchAuthValue(
    socketID: String, channelName: String,
    completionHandler: @escaping @Sendable (PusherAuth?) -> Void
  ) {
    fetchAuth(socketID: socketID, channelName: channelName) { completionHandler(try? $0.get()) }
  }
}

/// Gets a user's authentication by your own asynchronous code; it goes where a ``UserAuthenticator`` goes.
public protocol AsyncUserAuthenticator: UserAuthenticator {
  /// The user's authentication, or `nil` when there is no user.
  ///
  /// It runs in a task of its own for each sign-in and again after every reconnect; the task is cancelled when the answer
  /// is no longer wanted.
  ///
  /// - Throws: Anything; see ``SubscriptionFailure/underlyingError``. ``AuthorizationUnavailable`` has the question asked
  ///   again by itself.
  func authentication(socketID: String) async throws -> PusherUserAuth?
}

extension AsyncUserAuthenticator {
  /// Answers with ``authentication(socketID:)``, from a task that nothing cancels; the library does not call it.
  public func fetchUserAuth(
    socketID: String, completionHandler: @escaping @Sendable (PusherUserAuth?) -> Void
  ) {
    Task(priority: .high) { completionHandler(try? await authentication(socketID: socketID)) }
  }
}

/// Makes the request for a channel's authorisation by your own asynchronous code, for instance with a token that has to
/// be fetched first; it goes where an ``AuthRequestBuilderProtocol`` goes.
public protocol AsyncAuthRequestBuilder: AuthRequestBuilderProtocol {
  /// The request for one channel and one socket, or `nil` to refuse the channel.
  ///
  /// It runs in a task of its own for every subscription and again after every reconnect; the task is cancelled when the
  /// answer is no longer wanted.
  ///
  /// - Throws: Anything; see ``SubscriptionFailure/underlyingError``. ``AuthorizationUnavailable`` has the question asked
  ///   again by itself.
  func request(socketID: String, channelName: String) async throws -> AuthRequest?
}

extension AsyncAuthRequestBuilder {
  /// Makes no request; the library calls ``request(socketID:channelName:)``.
  public func requestFor(socketID: String, channelName: String) -> AuthRequest? { nil }
}

/// The error of an ``AsyncAuthorizer`` and its like that may pass, such as a database that is restarted.
///
/// The question is asked again, after a growing wait: up to three times, and without a limit once it has been answered
/// with success.
public struct AuthorizationUnavailable: Error, Sendable, Equatable, CustomStringConvertible {
  /// What is not available, for messages.
  public var reason: String

  /// An error that may pass.
  public init(_ reason: String) {
    self.reason = reason
  }

  /// The reason.
  public var description: String { reason }
}

/// What the user's own code answers.
enum CallerAnswer: Sendable {
  /// `nil` is a refusal.
  case authorization(Authorization?)
  /// How to ask an endpoint; `nil` is a refusal.
  case request(AuthRequest?)
  case failed(any Error)

  init(_ result: Result<PusherAuth, any Error>) {
    switch result {
    case .success(let auth): self = .authorization(Authorization(auth))
    case .failure(let error): self = .failed(error)
    }
  }
}

extension AuthorizationFailure {
  /// The error that `name`, the user's own code, has thrown.
  init(_ error: any Error, of name: String) {
    let reason = "the \(name) failed: \(error)"
    self =
      error is AuthorizationUnavailable
      ? .unavailable(status: nil, reason) : .refused(status: nil, reason)
  }
}
