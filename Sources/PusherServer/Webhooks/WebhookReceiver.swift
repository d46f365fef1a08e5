package import PusherCore

/// A server on one port that takes webhooks at any path, checks them and hands on their events.
///
/// It lives on its loop's thread. Requests are limited in size and time; a connection may bring many.
package final class WebhookReceiver {
  /// The largest webhook that is taken, in bytes.
  package static let bodyLimit = 4 << 20
  /// How long a request may take, and how long a connection may be idle.
  package static let patience = Duration.seconds(30)
  /// Connections at a time; one more closes the longest idle one.
  package static let connectionLimit = 256

  /// What became of the events of a webhook.
  package enum Receipt: Sendable, Equatable {
    /// They are where they have to be; the sender can forget them.
    case kept
    /// With the status, and the reason in words; with 503 the sender has to try again.
    case refused(Int, String)
  }

  /// The owner of the events.
  package struct Handler {
    /// Why no webhook is taken now; `nil` while they are.
    package let obstacle: () -> String?
    /// Takes the events of a webhook.
    ///
    /// Returns what became of them; `nil` if ``answer(_:_:)`` tells it later by the number.
    package let take: (_ events: [WebhookInbox.Event], _ number: Int) -> Receipt?
    /// A request is refused with a status and a reason, though not because of an obstacle.
    package let noteRefusal: (Int, String) -> Void

    package init(
      obstacle: @escaping () -> String?,
      take: @escaping (_ events: [WebhookInbox.Event], _ number: Int) -> Receipt?,
      noteRefusal: @escaping (Int, String) -> Void
    ) {
      (self.obstacle, self.take, self.noteRefusal) = (obstacle, take, noteRefusal)
    }
  }

  private let reception: Reception
  private let inbox: WebhookInbox
  private let handler: Handler
  /// The connections that wait for an answer, by the numbers of their webhooks.
  private var waiting: [Int: ServerConnection] = [:]
  private var lastNumber = 0

  /// Listens from now on.
  package init(
    loop: EventLoop, host: String, port: UInt16, inbox: WebhookInbox, handler: Handler
  ) throws(TransportError) {
    self.inbox = inbox
    self.handler = handler
    var limits = ServerLimits()
    limits.apiBody = Self.bodyLimit
    limits.requestTimeout = Self.patience
    limits.keepAliveTimeout = Self.patience
    limits.callers = Self.connectionLimit
    reception = try Reception(loop: loop, host: host, port: port, limits: limits)
    reception.owner = self
  }

  /// Where it listens, with the port that the system picked.
  package var port: UInt16 { reception.address.port }

  /// Answers a webhook that waits.
  package func answer(_ number: Int, _ receipt: Receipt) {
    waiting.removeValue(forKey: number)?.answerNow(Self.answer(receipt), at: reception.loop.now)
  }
}

extension WebhookReceiver: ReceptionOwner {
  func answer(
    _ request: HTTPRequestReader.Request, on connection: ServerConnection, at now: Instant
  ) -> ConnectionAnswer {
    if let obstacle = handler.obstacle() { return .answer(.busy(obstacle), isLast: false) }
    switch inbox.take(request) {
    case .accepted(let events):
      lastNumber += 1
      if let receipt = handler.take(events, lastNumber) {
        return .answer(Self.answer(receipt), isLast: false)
      }
      waiting[lastNumber] = connection
      return .later
    case .refused(let status, let reason):
      handler.noteRefusal(status, reason)
      return .answer(Self.answer(.refused(status, reason)), isLast: false)
    }
  }

  private static func answer(_ receipt: Receipt) -> HTTPAnswer {
    switch receipt {
    case .kept: .json(.object([]))
    case .refused(405, let reason): .refusal(405, reason, allow: "POST")
    case .refused(503, let reason): .busy(reason)
    case .refused(let status, let reason): .refusal(status, reason)
    }
  }

  func refused(_ answer: HTTPAnswer) { handler.noteRefusal(answer.status, answer.body) }
  func dropped(_ reason: String) {}
  func forgot(_ connection: ServerConnection) {}
  func scanned(at now: Instant) {}
}

/// Checks a webhook and splits it into events.
///
/// Source: Pusher's page "Webhooks".
package struct WebhookInbox: Sendable {
  /// One event of a webhook.
  package struct Event: Sendable, Equatable {
    /// `channel_occupied`, `member_added` and the like.
    package let name: String
    package let channel: String?
    package let userID: String?
    /// The other members, as they came, after the webhook's `time_ms`.
    package let data: JSONValue
  }

  /// The answer, and the events.
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
  /// The signature is checked before the body is looked at: an unsigned body is not parsed.
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
