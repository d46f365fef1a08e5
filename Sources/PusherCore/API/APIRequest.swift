/// A call of the HTTP API before it is signed.
package struct APIRequest: Sendable, Equatable {
  package var method: String
  /// Path without a query and without the server's prefix, such as `/apps/3/events`.
  package var path: String
  package var parameters: [Parameter]
  package var body: [UInt8]?

  package struct Parameter: Sendable, Equatable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
  }

  package init(method: String, path: String, parameters: [Parameter] = [], body: [UInt8]? = nil) {
    (self.method, self.path, self.parameters, self.body) = (method, path, parameters, body)
  }

  /// Adds the parameters that authenticate the call.
  ///
  /// Servers reject a `timestamp` (seconds since 1970) that differs by more than 600 s.
  ///
  /// - Parameters:
  ///   - prefix: The server's own prefix of ``path``, which is signed.
  ///   - stripped: A prefix that a proxy removes; it is requested, but not signed.
  package func signed(
    key: String, secret: String, timestamp: Int64, prefix: String = "", stripped: String = ""
  ) -> SignedAPIRequest {
    var pairs = parameters.map { (name: $0.name, value: $0.value) }
    pairs.append(("auth_key", key))
    pairs.append(("auth_timestamp", String(timestamp)))
    pairs.append(("auth_version", APIRequestSignature.version))
    if let body { pairs.append(("body_md5", APIRequestSignature.bodyDigest(body))) }
    let text = APIRequestSignature.stringToSign(
      method: method, path: prefix + path, parameters: pairs)
    pairs.append(("auth_signature", APIRequestSignature.sign(text, secret: secret)))
    pairs.sort { $0.name < $1.name }
    let query = PercentEncoding.form(pairs.map { ($0.name, $0.value) })
    return SignedAPIRequest(
      method: method, path: stripped + prefix + path, query: query, body: body, stringToSign: text)
  }
}

/// A signed call of the HTTP API.
package struct SignedAPIRequest: Sendable, Equatable {
  package let method: String
  /// The requested path, with all prefixes.
  package let path: String
  /// Parameters with the signature, escaped.
  package let query: String
  package let body: [UInt8]?
  /// The signed text, which helps to explain a rejected signature; it contains no secret.
  package let stringToSign: String

  package var target: String { "\(path)?\(query)" }

  /// Header fields of the call; the sender adds Host and Content-Length.
  package var headers: HTTPHeaders {
    var headers = HTTPHeaders([("Accept", "application/json")])
    if body != nil { headers.append("Content-Type", "application/json") }
    return headers
  }
}
