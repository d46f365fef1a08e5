/// Signs and checks webhooks: `X-Pusher-Signature` is the HMAC-SHA256 of the body as it was sent.
///
/// Source: Pusher's page "Webhooks", section "Security".
package enum WebhookSignature {
  package static let keyHeader = "X-Pusher-Key"
  package static let signatureHeader = "X-Pusher-Signature"

  /// The signature of `body` in lower-case hexadecimal.
  package static func sign(_ body: [UInt8], secret: String) -> String {
    Hex.encode(Digest.hmacSHA256(body, key: Array(secret.utf8)))
  }

  /// Whether `signature` is that of `body`, in constant time.
  package static func isValid(_ signature: String, of body: [UInt8], secret: String) -> Bool {
    Digest.equalInConstantTime(Array(signature.utf8), Array(sign(body, secret: secret).utf8))
  }
}
