/// A webhook with a valid signature; source: Pusher's page "Webhooks".
public struct PusherWebhook: Sendable, Equatable {
  /// Event of a webhook.
  public struct Event: Sendable, Equatable {
    /// `channel_occupied`, `channel_vacated`, `member_added`, `member_removed`, `client_event`,
    /// `cache_miss` or `subscription_count`.
    public var name: String
    /// Channel of the event.
    public var channel: String?
    /// User of the event, or sender of a client event.
    public var userId: String?
    /// The whole event.
    public var attributes: JSONValue

    /// Data of a client event, byte for byte; `nil` for other events.
    public var data: String? { attributes["data"]?.text }

    /// Decodes the data of a client event as a type of your own, like ``PusherEvent/decode(_:)``.
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
      let name = attributes["event"]?.text ?? name
      return try PusherEvent(eventName: name, channelName: channel, data: data).decode(type)
    }
  }

  /// Time at which the service sent the webhook, if it says so.
  public var time: WallTime?
  /// Events in order.
  public var events: [Event]
  /// `time_ms` as sent.
  package let sentTime: JSONValue?

  /// Reads the body of a webhook whose signature is valid.
  package init(_ body: [UInt8]) throws(PusherWebhookError) {
    guard let text = String(validating: body, as: UTF8.self),
      let value = try? JSONParser.parse(text), let elements = value["events"]?.elements
    else { throw .malformed("the body is not JSON with an \"events\" array") }
    sentTime = value["time_ms"]
    time = sentTime?.integer.map { WallTime(millisecondsSince1970: Int64($0)) }
    events = []
    for element in elements {
      guard let name = element["name"]?.text else {
        throw .malformed("event \(events.count + 1) has no name")
      }
      events.append(
        Event(
          name: name, channel: element["channel"]?.text, userId: element["user_id"]?.identifier,
          attributes: element))
    }
  }
}

/// Error for a webhook that cannot be trusted or read.
public enum PusherWebhookError: Error, Sendable, Equatable, CustomStringConvertible {
  /// `X-Pusher-Key` is missing or belongs to another app.
  case foreignKey
  /// `X-Pusher-Signature` is missing or not the signature of the body.
  case badSignature
  /// The signature is valid, but the body does not have the documented form.
  case malformed(String)

  /// Message for the user.
  public var description: String {
    switch self {
    case .foreignKey: "\(WebhookSignature.keyHeader) is not this app's key"
    case .badSignature: "\(WebhookSignature.signatureHeader) does not match the body"
    case .malformed(let reason): reason
    }
  }
}

extension PusherAPI {
  /// Checks the signature of a webhook, in constant time, and then parses its body.
  ///
  /// `key` is the field `X-Pusher-Key`, `signature` the field `X-Pusher-Signature`; the body must
  /// be unchanged.
  public func webhook(
    body: [UInt8], key: String?, signature: String?
  ) throws(PusherWebhookError) -> PusherWebhook {
    guard key.isSame(as: self.key) else { throw .foreignKey }
    guard let signature, isSignature(signature.lowercased(), of: body) else { throw .badSignature }
    return try PusherWebhook(body)
  }
}

/// Signs and checks webhooks: `X-Pusher-Signature` is the HMAC-SHA256 of the body.
package enum WebhookSignature {
  package static let keyHeader = "X-Pusher-Key"
  package static let signatureHeader = "X-Pusher-Signature"

  /// Returns the signature of `body` in lower-case hexadecimal.
  package static func sign(_ body: [UInt8], secret: String) -> String {
    Hex.encode(Digest.hmacSHA256(body, key: Array(secret.utf8)))
  }

  /// Checks a signature in constant time.
  package static func isValid(_ signature: String, of body: [UInt8], secret: String) -> Bool {
    Digest.equalInConstantTime(Array(signature.utf8), Array(sign(body, secret: secret).utf8))
  }
}
