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

/// Signs and checks calls of the HTTP API.
///
/// The signed text has three lines: `METHOD`, path and parameters. The parameters are sorted by
/// their lower-cased names, written as `name=value` without escaping; `auth_signature` is left out.
/// Source: Pusher's page "HTTP API", section "Authentication".
package enum APIRequestSignature {
  /// Maximum difference between `auth_timestamp` and the server's clock, in seconds.
  package static let timestampTolerance: Int64 = 600
  package static let version = "1.0"

  package static func stringToSign(
    method: String, path: String, parameters: [(name: String, value: String)]
  ) -> String {
    let pairs = parameters.map { (name: $0.name.lowercased(), value: $0.value) }.filter {
      $0.name != "auth_signature"
    }.sorted { $0.name < $1.name }
    // Built by hand, since a server does this for every call.
    var text = method
    text.reserveCapacity(256)
    text += "\n"
    text += path
    var sign = "\n"
    for pair in pairs {
      text += sign
      text += pair.name
      text += "="
      text += pair.value
      sign = "&"
    }
    return pairs.isEmpty ? text + "\n" : text
  }

  /// Returns the signature in lower-case hexadecimal.
  package static func sign(_ text: String, secret: String) -> String {
    Hex.encode(Digest.hmacSHA256(Array(text.utf8), key: Array(secret.utf8)))
  }

  /// Checks a signature in constant time.
  package static func isValid(_ signature: String, of text: String, secret: String) -> Bool {
    Digest.equalInConstantTime(Array(signature.utf8), Array(sign(text, secret: secret).utf8))
  }

  package static func bodyDigest(_ body: [UInt8]) -> String { Hex.encode(Digest.md5(body)) }
}

/// Calls that read channels and users (Pusher's page "HTTP API reference").
extension APIRequest {
  /// `GET /apps/ID/channels`: occupied channels, optionally only names that begin with `filter`.
  ///
  /// `info` is `user_count` (only if `filter` begins with `presence-`) and `subscription_count`.
  package static func channels(
    appID: String, filter: String? = nil, info: [String] = []
  ) -> APIRequest {
    var parameters: [Parameter] = []
    if let filter { parameters.append(Parameter("filter_by_prefix", filter)) }
    return get(appID, "channels", parameters + self.info(info))
  }

  /// `GET /apps/ID/channels/NAME`: whether the channel is occupied, and the attributes in `info`.
  package static func channel(
    _ name: String, appID: String, info: [String] = []
  ) -> APIRequest {
    get(appID, "channels/\(PercentEncoding.encode(name))", self.info(info))
  }

  /// `GET /apps/ID/channels/NAME/users`: members of a presence channel.
  package static func users(of channel: String, appID: String) -> APIRequest {
    get(appID, "channels/\(PercentEncoding.encode(channel))/users", [])
  }

  /// `POST /apps/ID/users/UID/terminate_connections`: ends all connections of a signed-in user.
  package static func terminate(user: String, appID: String) -> APIRequest {
    post(appID, "users/\(PercentEncoding.encode(user))/terminate_connections", [:])
  }

  static func post(
    _ appID: String, _ path: String, _ body: JSONValue
  ) -> APIRequest {
    APIRequest(
      method: "POST", path: "/apps/\(PercentEncoding.encode(appID))/\(path)",
      body: Array(body.jsonText.utf8))
  }

  private static func get(
    _ appID: String, _ path: String, _ parameters: [Parameter]
  ) -> APIRequest {
    APIRequest(
      method: "GET", path: "/apps/\(PercentEncoding.encode(appID))/\(path)",
      parameters: parameters)
  }

  private static func info(_ names: [String]) -> [Parameter] {
    names.isEmpty ? [] : [Parameter("info", names.joined(separator: ","))]
  }
}
