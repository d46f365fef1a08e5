/// A webhook whose signature was checked.
///
/// Source: Pusher's page "Webhooks".
public struct PusherWebhook: Sendable, Equatable {
  /// One event of a webhook.
  public struct Event: Sendable, Equatable {
    /// `channel_occupied`, `channel_vacated`, `member_added`, `member_removed`, `client_event`, `cache_miss`,
    /// `subscription_count`.
    public var name: String
    /// The channel it is about.
    public var channel: String?
    /// The user it is about, or who sent a client event.
    public var userId: String?
    /// The whole event as it came.
    public var attributes: JSONValue

    /// The data of a client event, byte for byte; `nil` for other events.
    public var data: String? { attributes["data"]?.text }

    /// The data of a client event as a type of yours.
    ///
    /// - Throws: `DecodingError`, as ``PusherEvent/decode(_:)`` does; also for events that have no data.
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
      let name = attributes["event"]?.text ?? name
      return try PusherEvent(eventName: name, channelName: channel, data: data).decode(type)
    }
  }

  /// When the service sent it; `nil` when it does not say.
  public var time: WallTime?
  /// The events in their order.
  public var events: [Event]

  /// Reads a body whose signature was checked.
  fileprivate init(_ body: [UInt8]) throws(PusherWebhookError) {
    guard let text = String(validating: body, as: UTF8.self),
      let value = try? JSONParser.parse(text), let elements = value["events"]?.elements
    else { throw .malformed("the body is not JSON with an array called events") }
    time = value["time_ms"]?.integer.map { WallTime(millisecondsSince1970: Int64($0)) }
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

/// Why a webhook cannot be trusted, or cannot be read.
public enum PusherWebhookError: Error, Sendable, Equatable, CustomStringConvertible {
  /// `X-Pusher-Key` is missing or belongs to another app.
  case foreignKey
  /// `X-Pusher-Signature` is missing or not that of the body.
  case badSignature
  /// The signature is right, but the body has another form than the page describes.
  case malformed(String)

  /// What is wrong, in the words of a message to the user.
  public var description: String {
    switch self {
    case .foreignKey: "\(WebhookSignature.keyHeader) is not this app's key"
    case .badSignature: "\(WebhookSignature.signatureHeader) is not the signature of the body"
    case .malformed(let reason): reason
    }
  }
}

extension PusherAPI {
  /// Checks a webhook and takes it apart.
  ///
  /// The signature is checked, in constant time, before the body is looked at.
  ///
  /// - Parameters:
  ///   - body: The request's body, byte for byte.
  ///   - key: The field `X-Pusher-Key`.
  ///   - signature: The field `X-Pusher-Signature`.
  /// - Throws: ``PusherWebhookError``.
  public func webhook(
    body: [UInt8], key: String?, signature: String?
  ) throws(PusherWebhookError) -> PusherWebhook {
    guard key.isSame(as: self.key) else { throw .foreignKey }
    guard let signature, isSignature(signature.lowercased(), of: body) else {
      throw .badSignature
    }
    return try PusherWebhook(body)
  }
}

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
