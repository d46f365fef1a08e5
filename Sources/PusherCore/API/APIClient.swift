/// An app's HTTP API at its address: signs calls, and reads answers.
package struct APIClient: Sendable, Equatable {
  package let appID: String
  package let key: String
  private let secret: String
  /// The server, with an empty path or the prefix that a proxy strips.
  ///
  /// The prefix is requested, but not signed.
  package let url: HTTPURL
  /// Path before `/apps`, requested and signed: empty, or begins with a slash.
  package let prefix: String
  /// Header fields of every call.
  private let headers: HTTPHeaders

  package init(
    appID: String, key: String, secret: String, url: HTTPURL, prefix: String, headers: HTTPHeaders
  ) {
    (self.appID, self.key, self.secret) = (appID, key, secret)
    (self.url, self.prefix, self.headers) = (url, prefix, headers)
  }

  /// Returns the address in `text`, without a slash at its end; throws for a part that no address
  /// of an API has.
  package static func address(_ text: String) throws(HTTPError) -> HTTPURL {
    var url = try HTTPURL(parsing: text)
    guard url.scheme == .http || url.scheme == .https else {
      throw .invalidURL("it does not begin with http:// or https://")
    }
    guard url.userInfo == nil, url.query == nil else {
      throw .invalidURL("it has more than a host, a port and a path")
    }
    url.path = HTTPURL.prefix(url.path) ?? ""
    guard url.path.range(ofBytes: "/apps/") == nil, !url.path.ends(with: "/apps") else {
      throw .invalidURL("leave out /apps, which every call adds")
    }
    return url
  }

  /// Signs a call for now.
  package func signed(_ call: APIRequest) -> SignedAPIRequest {
    call.signed(
      key: key, secret: secret, timestamp: SystemClock.wall().secondsSince1970, prefix: prefix,
      stripped: url.path)
  }

  package func request(_ call: APIRequest) -> HTTPExchange.Request {
    let signed = signed(call)
    var fields = signed.headers
    for field in headers.fields { fields.append(field.name, field.value) }
    var request = HTTPExchange.Request(
      method: signed.method, url: address(of: signed), headers: fields, body: signed.body ?? [])
    request.followsRedirects = true
    return request
  }

  package func address(of call: SignedAPIRequest) -> HTTPURL {
    var address = url
    (address.path, address.query) = (call.path, call.query)
    return address
  }

  /// Reads an answer to a call of this client.
  package func answer(_ response: HTTPExchange.Response) -> APIAnswer {
    APIAnswer(response, prefix: prefix)
  }
}

/// The answer to a call, with its head, or the reason why there is none.
package typealias APIOutcome = Result<
  (answer: APIAnswer, head: HTTPResponseHead), HTTPExchange.Failure
>

extension HTTPConnection {
  /// Sends a request of ``APIClient/request(_:)``; the loop calls `completion` once.
  package func send(
    _ request: HTTPExchange.Request, of client: APIClient,
    completion: @escaping (APIOutcome) -> Void
  ) throws(HTTPError) {
    try send(request) { outcome, _ in completion(outcome.map { (client.answer($0), $0.head) }) }
  }
}

/// The cause of a refusal by the HTTP API, as far as its answer shows it.
package enum APIRefusal: Sendable, Equatable {
  /// The secret, the app id or the time is wrong.
  case signature
  /// The server signs another prefix than the client: a proxy on the way changes the path.
  case prefix(ofServer: String)
  /// The answer is a page: it comes from something before the API.
  case page

  /// Compares the text that a server wants to have signed, `"POST\n/ws/apps/1/events\n…"`.
  init(_ body: [UInt8], prefix: String) {
    if RefusalReason.isPage(body) {
      self = .page
    } else if let signed = Self.prefix(in: String(decoding: body, as: UTF8.self)), signed != prefix
    {
      self = .prefix(ofServer: signed)
    } else {
      self = .signature
    }
  }

  /// Returns the part before `/apps/` of the path in a quoted text to sign.
  private static func prefix(in text: String) -> String? {
    guard let quote = text.range(ofBytes: "HmacSHA256Hex("),
      let apps = text.range(ofBytes: "/apps/", from: quote.upperBound)
    else { return nil }
    // The method and its newline, in JSON or as they are.
    let before = text[quote.upperBound..<apps.lowerBound]
    guard let slash = before.utf8.firstIndex(of: UInt8(ascii: "/")) else { return "" }
    return before.utf8.count > 1000 ? nil : String(before[slash...])
  }
}

/// Response to a call of the HTTP API.
package enum APIAnswer: Sendable, Equatable {
  /// 2xx: the call succeeded; `body` is JSON.
  case accepted(body: String)
  /// 401, 403: the server did not accept the signature, the timestamp or the app.
  case refused(status: Int, reason: String, APIRefusal)
  /// 400, 404, 413 and other 4xx: the call itself is wrong.
  case rejected(status: Int, reason: String)
  /// 429 and 5xx: the same call may succeed later.
  case unavailable(status: Int, reason: String)
  /// Any other status: the server does not implement this API.
  case unexpected(status: Int, reason: String)

  /// Classifies a response by its status; invalid UTF-8 in its body becomes U+FFFD.
  ///
  /// - Parameter prefix: The signed prefix of the call's path.
  package init(_ response: HTTPExchange.Response, prefix: String) {
    let status = response.head.status
    // Only a refusal is searched for its reason, not each accepted call.
    var reason: String { response.reason }
    switch status {
    case 200...299 where response.problem != nil: self = .unexpected(status: status, reason: reason)
    // Web servers with a page for every path answer 200 too, but have done nothing.
    case 200...299 where RefusalReason.isPage(response.body):
      self = .unexpected(
        status: status, reason: "a web page instead of JSON from the HTTP API: \(reason)")
    case 200...299: self = .accepted(body: String(decoding: response.body, as: UTF8.self))
    case 401, 403:
      self = .refused(
        status: status, reason: reason, APIRefusal(response.body, prefix: prefix))
    case 429, 500...599: self = .unavailable(status: status, reason: reason)
    case 400...499: self = .rejected(status: status, reason: reason)
    default:
      self = .unexpected(
        status: status, reason: response.redirect.map { "a redirect to \($0)" } ?? reason)
    }
  }
}
