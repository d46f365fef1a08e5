// Requests that an HTTP proxy forwards (RFC 9112 section 3.2.2), and the proxy's own answers.
extension Route {
  /// The proxy that takes the requests themselves; `nil` for none.
  package var forwarder: Proxy? { isForwarded ? proxy : nil }

  /// Why the proxy did not forward a request, when `answer` tells for certain that it did not.
  ///
  /// 403 and 5xx may come from the server or the proxy; the caller decides.
  package func refusal(_ answer: HTTPResponseHead) -> TransportError? {
    guard let proxy = forwarder else { return nil }
    if answer.status == 407 {
      return .proxy(proxy.description, .init(wanting: answer, credentials: proxy.credentials))
    }
    // tinyproxy answers wrong credentials with 401: a page in HTTP/1.0, without the field that a proxy adds to what it
    // forwards (RFC 9110 section 7.6.3).
    let isPage = answer.headers["Content-Type"]?.hasPrefix("text/html") == true
    let isOwn = answer.headers["Via"] == nil && answer.minorVersion == 0 && isPage
    guard answer.status == 401, isOwn, proxy.credentials != nil else { return nil }
    return .proxy(proxy.description, .credentialsRefused)
  }
}

extension ProxyCredentials {
  /// What a field with Basic credentials holds (RFC 7617).
  var basic: String { "Basic \(Base64.encode([UInt8]("\(user):\(password)".utf8)))" }
}

extension ProxyError {
  /// What a 407 asks for (RFC 9110 section 11.7.1).
  init(wanting answer: HTTPResponseHead, credentials: ProxyCredentials?) {
    let schemes = answer.headers.all("Proxy-Authenticate").compactMap {
      $0.split(whereSeparator: { " \t,".contains($0) }).first.map(String.init)
    }
    if !schemes.isEmpty, !schemes.contains(where: { $0.lowercased() == "basic" }) {
      self = .unsupportedAuthentication(
        offered: String(schemes.joined(separator: ", ").prefix(100)))
    } else {
      self = credentials == nil ? .credentialsMissing : .credentialsRefused
    }
  }
}
