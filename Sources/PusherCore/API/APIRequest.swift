/// A call of the HTTP API before it is signed.
package struct APIRequest: Sendable, Equatable {
  package var method: String
  /// The path without a query, such as `/apps/3/events`; it is signed as it stands here.
  package var path: String
  /// The call's own parameters, not escaped.
  package var parameters: [Parameter]
  /// The JSON that is sent; `nil` for none.
  package var body: [UInt8]?

  /// A query parameter.
  package struct Parameter: Sendable, Equatable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  package init(
    method: String, path: String, parameters: [Parameter] = [], body: [UInt8]? = nil
  ) {
    (self.method, self.path, self.parameters, self.body) = (method, path, parameters, body)
  }

  /// The call with the parameters that authenticate it.
  ///
  /// - Parameters:
  ///   - key: The app's key.
  ///   - secret: The app's secret; it does not appear in the result.
  ///   - timestamp: Seconds since 1970; servers refuse a time that is more than 600 s off.
  ///   - signedPath: The path that is signed when a proxy strips a prefix from ``path``.
  package func signed(
    key: String, secret: String, timestamp: Int64, signedPath: String? = nil
  ) -> SignedAPIRequest {
    var pairs = parameters.map { (name: $0.name, value: $0.value) }
    pairs.append(("auth_key", key))
    pairs.append(("auth_timestamp", String(timestamp)))
    pairs.append(("auth_version", APIRequestSignature.version))
    if let body { pairs.append(("body_md5", APIRequestSignature.bodyDigest(body))) }
    let text = APIRequestSignature.stringToSign(
      method: method, path: signedPath ?? path, parameters: pairs)
    pairs.append(("auth_signature", APIRequestSignature.sign(text, secret: secret)))
    pairs.sort { $0.name < $1.name }
    let query = PercentEncoding.form(pairs.map { ($0.name, $0.value) })
    return SignedAPIRequest(
      method: method, path: path, query: query, body: body, stringToSign: text)
  }
}

/// A call of the HTTP API that can be sent.
package struct SignedAPIRequest: Sendable, Equatable {
  package let method: String
  package let path: String
  /// The parameters with the signature, escaped.
  package let query: String
  package let body: [UInt8]?
  /// The text that was signed, which helps to find out why a signature was refused; it holds no secret.
  package let stringToSign: String

  /// What the request line names.
  package var target: String { "\(path)?\(query)" }

  /// The fields that belong to the call; Host and Content-Length are the sender's.
  package var headers: HTTPHeaders {
    var headers = HTTPHeaders([("Accept", "application/json")])
    if body != nil { headers.append("Content-Type", "application/json") }
    return headers
  }
}
