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
