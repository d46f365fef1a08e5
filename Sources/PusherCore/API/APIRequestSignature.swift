/// Signs and checks calls of the HTTP API.
///
/// The signed text is `METHOD`, path and parameters, each on its own line; the parameters are sorted by their
/// lower-cased names and written as `name=value` without any escaping, `auth_signature` left out. Source: Pusher's page
/// "HTTP API", section "Authentication".
package enum APIRequestSignature {
  /// How far `auth_timestamp` may be from the server's clock, in seconds.
  package static let timestampTolerance: Int64 = 600
  /// The only version of the scheme.
  package static let version = "1.0"

  /// The text that is signed.
  package static func stringToSign(
    method: String, path: String, parameters: [(name: String, value: String)]
  ) -> String {
    let pairs =
      parameters
      .map { (name: $0.name.lowercased(), value: $0.value) }
      .filter { $0.name != "auth_signature" }
      .sorted { $0.name < $1.name }
    // Put together by hand: it is made for each call that a server gets.
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

  /// The signature of `text` in lower-case hexadecimal.
  package static func sign(_ text: String, secret: String) -> String {
    Hex.encode(Digest.hmacSHA256(Array(text.utf8), key: Array(secret.utf8)))
  }

  /// Whether `signature` is that of `text`, in constant time.
  package static func isValid(_ signature: String, of text: String, secret: String) -> Bool {
    Digest.equalInConstantTime(Array(signature.utf8), Array(sign(text, secret: secret).utf8))
  }

  /// The value of `body_md5` for a body.
  package static func bodyDigest(_ body: [UInt8]) -> String {
    Hex.encode(Digest.md5(body))
  }
}
