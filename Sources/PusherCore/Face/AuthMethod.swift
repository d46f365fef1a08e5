/// Authorisation of private and presence channels.
public enum AuthMethod: Sendable {
  /// Sends the form `socket_id=…&channel_name=…` to a URL with `POST`, like all Pusher libraries.
  ///
  /// A URL without a path gets the service's default, ``PusherService/authorizationPath``.
  case endpoint(authEndpoint: String)
  /// Sends your own request; an ``AsyncAuthRequestBuilder`` makes it with asynchronous code.
  case authRequestBuilder(authRequestBuilder: any AuthRequestBuilderProtocol)
  /// Signs in this process with the app's secret; never ship the secret to users.
  ///
  /// Encrypted channels also need ``PusherClientOptions/encryptionMasterKey``.
  case inline(secret: String)
  /// Asks your own code; an ``AsyncAuthorizer`` is asynchronous and may throw.
  case authorizer(authorizer: any Authorizer)
  /// No method: private and presence channels fail with a clear error.
  case noMethod
}

extension AuthMethod: CustomStringConvertible, CustomReflectable {
  /// Name of the case, without the secret.
  public var description: String {
    switch self {
    case .endpoint: "endpoint"
    case .authRequestBuilder: "authRequestBuilder"
    case .inline: "inline"
    case .authorizer: "authorizer"
    case .noMethod: "noMethod"
    }
  }

  /// Empty, so that no dump shows the secret.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Makes the requests for channel authorisations.
public protocol AuthRequestBuilderProtocol: Sendable {
  /// Returns the request for one channel and one socket, or `nil` to reject the channel.
  ///
  /// The callback thread calls it for every subscription and again after every reconnect.
  func requestFor(socketID: String, channelName: String) -> AuthRequest?
}

/// Gets the authorisation of a channel from your own code; the client keeps the authorizer.
public protocol Authorizer: Sendable {
  /// Passes the authorisation to the completion handler, or `nil` to reject the channel.
  ///
  /// The callback thread calls this method for every subscription and again after every reconnect.
  /// The completion handler may be called on any thread, immediately or later. The first call
  /// counts. A call after ``PusherClientOptions/connectTimeout`` or for an earlier socket is
  /// ignored.
  ///
  /// A ``ResultAuthorizer`` can give a reason; an ``AsyncAuthorizer`` can answer with asynchronous
  /// code.
  func fetchAuthValue(
    socketID: String, channelName: String,
    completionHandler: @escaping @Sendable (PusherAuth?) -> Void)
}

/// HTTP request for a channel authorisation; it replaces PusherSwift's `URLRequest`.
public struct AuthRequest: Sendable, Equatable {
  /// Header field.
  public struct Field: Sendable, Equatable {
    /// Name of the field; case does not matter.
    public var name: String
    /// Value of the field.
    public var value: String

    /// Creates a field.
    public init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
  }

  /// Absolute URL, with the scheme `http` or `https`.
  public var url: String
  /// HTTP method, such as `POST`.
  public var httpMethod: String
  /// Header fields in order, without `Host`, `Content-Length` and `Connection`.
  public var headers: [Field]
  /// Body of the request.
  public var httpBody: String?

  /// Creates a request; an invalid URL makes the subscription fail with the reason.
  public init(
    url: String, httpMethod: String = "POST", headers: [Field] = [], httpBody: String? = nil
  ) {
    (self.url, self.httpMethod) = (url, httpMethod)
    (self.headers, self.httpBody) = (headers, httpBody)
  }

  /// Returns the first value of a field.
  public func value(forHTTPHeaderField name: String) -> String? {
    headers.first { $0.name.lowercased() == name.lowercased() }?.value
  }

  /// Appends a field.
  public mutating func addValue(_ value: String, forHTTPHeaderField name: String) {
    headers.append(Field(name, value))
  }

  /// Replaces all values of a field with this one.
  public mutating func setValue(_ value: String, forHTTPHeaderField name: String) {
    headers.removeAll { $0.name.lowercased() == name.lowercased() }
    headers.append(Field(name, value))
  }
}

extension AuthRequest {
  /// Returns the usual request; `path` is appended to an endpoint without a path.
  static func form(
    _ endpoint: String, path: String, _ request: AuthorizationRequest
  ) -> AuthRequest {
    var url = endpoint
    if let mark = endpoint.range(ofBytes: "://"),
      !endpoint[mark.upperBound...].contains(where: { $0 == "/" || $0 == "?" || $0 == "#" })
    {
      url += path
    }
    return AuthRequest(
      url: url,
      headers: [
        Field("Content-Type", "application/x-www-form-urlencoded"),
        Field("Accept", "application/json"),
      ], httpBody: PercentEncoding.form(EndpointSigner.form(request)))
  }
}

/// Answer of an authorisation endpoint.
public struct AuthResponse: Sendable, Equatable {
  /// HTTP status.
  public var statusCode: Int
  /// Header fields in order.
  public var headers: [AuthRequest.Field]

  /// Creates an answer.
  public init(statusCode: Int, headers: [AuthRequest.Field] = []) {
    (self.statusCode, self.headers) = (statusCode, headers)
  }
}

/// Authentication of the user of a socket.
public enum UserAuthMethod: Sendable {
  /// Sends a `POST` request with the form `socket_id=…` to a URL.
  ///
  /// A URL without a path gets the service's default, ``PusherService/userAuthenticationPath``. The
  /// answer is `{"auth":"KEY:HEX","user_data":"JSON"}`. The delegate can change the request in
  /// ``PusherDelegate/willAuthenticateUser(request:)``.
  case endpoint(authEndpoint: String)
  /// Signs the user's data in this process with the app's secret; never ship the secret to users.
  ///
  /// The data is an object with `id` and optionally `user_info` and `watchlist`.
  case inline(secret: String, userData: JSONValue)
  /// Asks your own code; an ``AsyncUserAuthenticator`` is asynchronous and may throw.
  case authenticator(authenticator: any UserAuthenticator)
  /// No method: signing in fails with a clear error.
  case noMethod
}

extension UserAuthMethod: CustomStringConvertible, CustomReflectable {
  /// Name of the case, without the secret.
  public var description: String {
    switch self {
    case .endpoint: "endpoint"
    case .inline: "inline"
    case .authenticator: "authenticator"
    case .noMethod: "noMethod"
    }
  }

  /// Empty, so that no dump shows the secret.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Gets the authentication of a user from your own code.
public protocol UserAuthenticator: Sendable {
  /// Passes the user's authentication to the completion handler, or `nil` if there is no user.
  ///
  /// The rules of ``Authorizer/fetchAuthValue(socketID:channelName:completionHandler:)`` apply.
  func fetchUserAuth(
    socketID: String, completionHandler: @escaping @Sendable (PusherUserAuth?) -> Void)
}

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
