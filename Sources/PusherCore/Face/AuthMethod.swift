/// How subscriptions to private and presence channels are authorised.
public enum AuthMethod: Sendable {
  /// A URL that is asked by `POST` with the form `socket_id=…&channel_name=…`, as all Pusher libraries do.
  ///
  /// A URL without a path gets the service's default, ``PusherService/authorizationPath``.
  case endpoint(authEndpoint: String)
  /// The same with your own request; an ``AsyncAuthRequestBuilder`` makes it by asynchronous code.
  case authRequestBuilder(authRequestBuilder: any AuthRequestBuilderProtocol)
  /// The app's secret: subscriptions are signed in this process. Never ship the secret to users.
  ///
  /// Encrypted channels also need ``PusherClientOptions/encryptionMasterKey``.
  case inline(secret: String)
  /// Any other way to a signature; an ``AsyncAuthorizer`` has one by asynchronous code that may throw.
  case authorizer(authorizer: any Authorizer)
  /// No method: private and presence channels fail with a clear error.
  case noMethod
}

extension AuthMethod: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The case's name; the secret is not shown.
  public var description: String {
    switch self {
    case .endpoint: "endpoint"
    case .authRequestBuilder: "authRequestBuilder"
    case .inline: "inline"
    case .authorizer: "authorizer"
    case .noMethod: "noMethod"
    }
  }

  /// The same as ``description``.
  public var debugDescription: String { description }

  /// Empty, so that no dump shows the secret.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Makes the request that asks for a channel's authorisation.
public protocol AuthRequestBuilderProtocol: Sendable {
  /// The request for one channel and one socket, or `nil` to refuse the channel.
  ///
  /// It is called on the callback thread for every subscription and again after every reconnect.
  func requestFor(socketID: String, channelName: String) -> AuthRequest?
}

/// Gets a channel's authorisation by your own code.
///
/// The client keeps it, so it must refer to its client weakly, if at all.
public protocol Authorizer: Sendable {
  /// Answers with the authorisation, or `nil` to refuse the channel.
  ///
  /// It is called on the callback thread for every subscription and again after every reconnect. The completion
  /// handler may be called on any thread, at once or later; the first call counts, and one that comes after
  /// ``PusherClientOptions/connectTimeout`` or for an earlier socket is ignored.
  ///
  /// To say why there is none, or to answer by asynchronous code, write a ``ResultAuthorizer`` or an
  /// ``AsyncAuthorizer``.
  func fetchAuthValue(
    socketID: String, channelName: String,
    completionHandler: @escaping @Sendable (PusherAuth?) -> Void)
}

/// An HTTP request that asks for a channel's authorisation; it takes the place of PusherSwift's `URLRequest`.
public struct AuthRequest: Sendable, Equatable {
  /// A header field.
  public struct Field: Sendable, Equatable {
    /// The field's name; upper and lower case mean the same.
    public var name: String
    /// The field's value.
    public var value: String

    /// A field.
    public init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// An absolute URL with `http` or `https`.
  public var url: String
  /// Such as `POST`.
  public var httpMethod: String
  /// Fields beside `Host`, `Content-Length` and `Connection`, in their order.
  public var headers: [Field]
  /// What is sent as the request's body.
  public var httpBody: String?

  /// A request; an invalid URL makes the subscription fail with the reason.
  public init(
    url: String, httpMethod: String = "POST", headers: [Field] = [], httpBody: String? = nil
  ) {
    (self.url, self.httpMethod) = (url, httpMethod)
    (self.headers, self.httpBody) = (headers, httpBody)
  }

  /// The first value of a field.
  public func value(forHTTPHeaderField name: String) -> String? {
    headers.first { $0.name.lowercased() == name.lowercased() }?.value
  }

  /// Adds a field after the others.
  public mutating func addValue(_ value: String, forHTTPHeaderField name: String) {
    headers.append(Field(name, value))
  }

  /// Gives a field this one value.
  public mutating func setValue(_ value: String, forHTTPHeaderField name: String) {
    headers.removeAll { $0.name.lowercased() == name.lowercased() }
    headers.append(Field(name, value))
  }
}

extension AuthRequest {
  /// The request as all Pusher libraries send it; `path` is added to an endpoint that has none.
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
      ],
      httpBody: PercentEncoding.form(EndpointSigner.form(request)))
  }
}

/// What an authorisation endpoint answered.
public struct AuthResponse: Sendable, Equatable {
  /// The HTTP status.
  public var statusCode: Int
  /// The header fields in their order.
  public var headers: [AuthRequest.Field]

  /// An answer.
  public init(statusCode: Int, headers: [AuthRequest.Field] = []) {
    self.statusCode = statusCode
    self.headers = headers
  }
}

/// How the user of a socket is authenticated.
public enum UserAuthMethod: Sendable {
  /// A URL that is asked by `POST` with the form `socket_id=…`; a URL without a path gets the service's default,
  /// ``PusherService/userAuthenticationPath``.
  ///
  /// The answer is `{"auth":"KEY:HEX","user_data":"JSON"}`. The delegate can change the request:
  /// ``PusherDelegate/willAuthenticateUser(request:)``.
  case endpoint(authEndpoint: String)
  /// The app's secret: the user's data is signed in this process. Never ship the secret to users.
  ///
  /// The data is an object with `id` and, if wanted, `user_info` and `watchlist`.
  case inline(secret: String, userData: JSONValue)
  /// Any other way to a signature; an ``AsyncUserAuthenticator`` has one by asynchronous code that may throw.
  case authenticator(authenticator: any UserAuthenticator)
  /// No method: signing in fails with a clear error.
  case noMethod
}

extension UserAuthMethod: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The case's name; the secret is not shown.
  public var description: String {
    switch self {
    case .endpoint: "endpoint"
    case .inline: "inline"
    case .authenticator: "authenticator"
    case .noMethod: "noMethod"
    }
  }

  /// The same as ``description``.
  public var debugDescription: String { description }

  /// Empty, so that no dump shows the secret.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Gets a user's authentication by your own code.
public protocol UserAuthenticator: Sendable {
  /// Answers with the user's authentication, or `nil` when there is no user.
  ///
  /// It is called on the callback thread for each sign-in and again after every reconnect. The completion handler may
  /// be called on any thread, at once or later; the first call counts, and one that comes after
  /// ``PusherClientOptions/connectTimeout`` or for an earlier socket is ignored.
  func fetchUserAuth(
    socketID: String, completionHandler: @escaping @Sendable (PusherUserAuth?) -> Void)
}
