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
