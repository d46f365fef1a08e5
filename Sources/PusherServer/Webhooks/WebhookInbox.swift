package import PusherCore

/// What arrives as a webhook: checked, and taken apart into events.
///
/// Source: Pusher's page "Webhooks".
package struct WebhookInbox: Sendable {
  /// One event of a webhook.
  package struct Event: Sendable, Equatable {
    /// `channel_occupied`, `member_added` and the like.
    package let name: String
    package let channel: String?
    package let userID: String?
    /// The other members, as they came, behind the webhook's `time_ms`.
    package let data: JSONValue
  }

  /// What to answer, and what was learnt.
  package enum Outcome: Sendable, Equatable {
    case accepted([Event])
    /// With the status, and the reason in words.
    case refused(Int, String)
  }

  private let key: String
  private let secret: String

  /// - Parameters:
  ///   - key: The key of the app whose webhooks are taken.
  ///   - secret: The app's secret.
  package init(key: String, secret: String) {
    self.key = key
    self.secret = secret
  }

  /// Judges one request.
  ///
  /// The signature is checked before the body is looked at: a body that nobody signed is nobody's business.
  package func take(_ request: HTTPRequestReader.Request) -> Outcome {
    guard request.head.method == "POST" else {
      return .refused(405, "webhooks are sent with POST, not \(request.head.method)")
    }
    let headers = request.head.headers
    guard let signature = headers[WebhookSignature.signatureHeader] else {
      return .refused(401, "no \(WebhookSignature.signatureHeader)")
    }
    guard headers[WebhookSignature.keyHeader].isSame(as: key) else {
      return .refused(401, "\(WebhookSignature.keyHeader) is not this app's key")
    }
    guard WebhookSignature.isValid(signature.lowercased(), of: request.body, secret: secret) else {
      return .refused(401, "the signature is not that of the body")
    }
    guard let text = String(validating: request.body, as: UTF8.self),
      let body = try? JSONParser.parse(text), let elements = body["events"]?.elements
    else { return .refused(400, "the body is not JSON with an array called events") }
    var events: [Event] = []
    for element in elements {
      guard let event = Self.event(element, time: body["time_ms"]) else {
        return .refused(400, "event \(events.count + 1) has no name")
      }
      events.append(event)
    }
    return .accepted(events)
  }

  private static func event(_ value: JSONValue, time: JSONValue?) -> Event? {
    guard let members = value.members, let name = value["name"]?.text else { return nil }
    let known: Set = ["name", "channel", "user_id"]
    let rest = members.filter { !known.contains($0.name) }
    return Event(
      name: name, channel: value["channel"]?.text, userID: value["user_id"]?.text,
      data: .object((time.map { [.init("time_ms", $0)] } ?? []) + rest))
  }
}
