/// Gets the authorisation of a channel from your own asynchronous code, as an ``Authorizer``.
///
/// See <doc:ThreadsAndLifetime> for an example.
public protocol AsyncAuthorizer: Authorizer {
  /// Returns the authorisation, or `nil` to reject the channel.
  ///
  /// The method runs in its own task for every subscription and again after every reconnect. The
  /// task is cancelled when the answer is no longer needed, and after
  /// ``PusherClientOptions/connectTimeout``, when the client asks again.
  ///
  /// - Throws: Any error; see ``SubscriptionFailure/underlyingError``. After
  ///   ``AuthorizationUnavailable`` the client asks again; after other errors the subscription
  ///   fails.
  func authorization(socketID: String, channelName: String) async throws -> PusherAuth?
}

extension AsyncAuthorizer {
  /// Calls ``authorization(socketID:channelName:)``; not used by the library.
  public func fetchAuthValue(
    socketID: String, channelName: String,
    completionHandler: @escaping @Sendable (PusherAuth?) -> Void
  ) {
    Task(priority: .high) {
      completionHandler(try? await authorization(socketID: socketID, channelName: channelName))
    }
  }
}

/// An ``Authorizer`` that can give the reason why there is no authorisation.
public protocol ResultAuthorizer: Authorizer {
  /// Answers like ``Authorizer/fetchAuthValue(socketID:channelName:completionHandler:)``, or with
  /// an error.
  ///
  /// Errors have the same effect as in ``AsyncAuthorizer/authorization(socketID:channelName:)``.
  func fetchAuth(
    socketID: String, channelName: String,
    completionHandler: @escaping @Sendable (Result<PusherAuth, any Error>) -> Void)
}

extension ResultAuthorizer {
  /// Calls ``fetchAuth(socketID:channelName:completionHandler:)``; not used by the library.
  public func fetchAuthValue(
    socketID: String, channelName: String,
    completionHandler: @escaping @Sendable (PusherAuth?) -> Void
  ) { fetchAuth(socketID: socketID, channelName: channelName) { completionHandler(try? $0.get()) } }
}

/// Gets the authentication of a user from your own asynchronous code, as a ``UserAuthenticator``.
public protocol AsyncUserAuthenticator: UserAuthenticator {
  /// Returns the user's authentication, or `nil` if there is no user.
  ///
  /// Tasks and errors are as in ``AsyncAuthorizer/authorization(socketID:channelName:)``.
  func authentication(socketID: String) async throws -> PusherUserAuth?
}

extension AsyncUserAuthenticator {
  /// Calls ``authentication(socketID:)``; not used by the library.
  public func fetchUserAuth(
    socketID: String, completionHandler: @escaping @Sendable (PusherUserAuth?) -> Void
  ) { Task(priority: .high) { completionHandler(try? await authentication(socketID: socketID)) } }
}

/// Makes authorisation requests with asynchronous code, as an ``AuthRequestBuilderProtocol``.
public protocol AsyncAuthRequestBuilder: AuthRequestBuilderProtocol {
  /// Returns the request for one channel and one socket, or `nil` to reject the channel.
  ///
  /// Tasks and errors are as in ``AsyncAuthorizer/authorization(socketID:channelName:)``.
  func request(socketID: String, channelName: String) async throws -> AuthRequest?
}

extension AsyncAuthRequestBuilder {
  /// Returns `nil`; the library calls ``request(socketID:channelName:)`` instead.
  public func requestFor(socketID: String, channelName: String) -> AuthRequest? { nil }
}

/// Temporary error of an ``AsyncAuthorizer`` or a similar type, such as a database that restarts.
///
/// The client asks again after a growing delay: up to three times, or without limit after an
/// earlier success.
public struct AuthorizationUnavailable: Error, Sendable, Equatable, CustomStringConvertible {
  /// The reason, for messages.
  public var reason: String

  /// Creates a temporary error with a reason.
  public init(_ reason: String) { self.reason = reason }

  /// The reason.
  public var description: String { reason }
}

/// Answer of the caller's own code.
enum CallerAnswer: Sendable {
  /// `nil` rejects the channel or the user.
  case authorization(Authorization?)
  /// The request to send to an endpoint; `nil` rejects the channel.
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
  /// Describes an error thrown by the caller's code, which messages call `name`.
  init(_ error: any Error, of name: String) {
    let reason = "the \(name) failed: \(error)"
    self =
      error is AuthorizationUnavailable
      ? .unavailable(status: nil, reason) : .refused(status: nil, reason)
  }
}
