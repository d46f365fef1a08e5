package import PusherCore

/// A server on one port that accepts webhooks at any path, checks them and passes on their events.
///
/// Only the loop's thread may use it. A connection may send many requests.
package final class WebhookReceiver {
  package static let bodyLimit = 4 << 20
  package static let patience = Duration.seconds(30)
  /// Maximum number of connections; one more closes the longest idle one.
  package static let connectionLimit = 256

  package enum Receipt: Sendable, Equatable {
    /// The events are safe; the sender can forget them.
    case kept
    /// Status and reason; 503 asks the sender to retry.
    case refused(Int, String)
  }

  private let acceptor: ConnectionAcceptor
  private let inbox: WebhookInbox
  private let obstacle: () -> String?
  private let take: (_ events: [WebhookInbox.Event], _ number: Int) -> Receipt?
  private let noteRefusal: (Int, String) -> Void
  private var waiting: [Int: ServerConnection] = [:]
  private var lastNumber = 0

  /// - Parameters:
  ///   - obstacle: Returns the reason why no webhook is accepted now; `nil` if they are.
  ///   - take: Returns `nil` if ``answer(_:_:)`` follows later with the number.
  ///   - noteRefusal: Called for a refused request, but not for a refusal because of an obstacle.
  package init(
    loop: EventLoop, host: String, port: UInt16, inbox: WebhookInbox,
    obstacle: @escaping () -> String?,
    take: @escaping (_ events: [WebhookInbox.Event], _ number: Int) -> Receipt?,
    noteRefusal: @escaping (Int, String) -> Void
  ) throws(TransportError) {
    (self.inbox, self.obstacle, self.take, self.noteRefusal) = (inbox, obstacle, take, noteRefusal)
    var limits = ServerLimits()
    limits.sizes.apiBody = Self.bodyLimit
    limits.times.request = Self.patience
    limits.times.keepAlive = Self.patience
    limits.callers = Self.connectionLimit
    acceptor = try ConnectionAcceptor(
      loop: loop, at: ListenAddress(host: host, port: port), limits: limits)
    acceptor.owner = self
  }

  package var port: UInt16 { acceptor.address.port }

  package func answer(_ number: Int, _ receipt: Receipt) {
    waiting.removeValue(forKey: number)?.answerNow(Self.answer(receipt), at: acceptor.loop.now)
  }
}

extension WebhookReceiver: ConnectionAcceptorOwner {
  func answer(
    _ request: HTTPRequestReader.Request, on connection: ServerConnection, at now: Instant
  ) -> ConnectionAnswer {
    if let obstacle = obstacle() { return .answer(.busy(obstacle), isLast: false) }
    do throws(HTTPAnswer) {
      let events = try inbox.take(request)
      lastNumber += 1
      if let receipt = take(events, lastNumber) {
        return .answer(Self.answer(receipt), isLast: false)
      }
      waiting[lastNumber] = connection
      return .later
    } catch {
      refused(error)
      return .answer(error, isLast: false)
    }
  }

  private static func answer(_ receipt: Receipt) -> HTTPAnswer {
    switch receipt {
    case .kept: .json(.object([]))
    case .refused(503, let reason): .busy(reason)
    case .refused(let status, let reason): .refusal(status, reason)
    }
  }

  func refused(_ answer: HTTPAnswer) { noteRefusal(answer.status, answer.body) }
}

/// Checks a webhook and splits it into events.
///
/// Source: Pusher's page "Webhooks".
package struct WebhookInbox: Sendable {
  package struct Event: Sendable, Equatable {
    /// For example `channel_occupied` or `member_added`.
    package let name: String
    package let channel: String?
    package let userID: String?
    /// The webhook's `time_ms`, then the other members as sent.
    package let data: JSONValue
  }

  private let key: String
  private let secret: String

  package init(key: String, secret: String) {
    self.key = key
    self.secret = secret
  }

  /// Checks the signature first: an unsigned body is not parsed.
  package func take(_ request: HTTPRequestReader.Request) throws(HTTPAnswer) -> [Event] {
    guard request.head.method == "POST" else {
      throw .refusal(
        405, "webhooks are sent with POST, not \(request.head.method)", allow: "POST")
    }
    let headers = request.head.headers
    guard let signature = headers[WebhookSignature.signatureHeader] else {
      throw .refusal(401, "no \(WebhookSignature.signatureHeader)")
    }
    guard headers[WebhookSignature.keyHeader].isSame(as: key) else {
      throw .refusal(401, "\(WebhookSignature.keyHeader) is not this app's key")
    }
    guard WebhookSignature.isValid(signature.lowercased(), of: request.body, secret: secret) else {
      throw .refusal(401, "the signature does not match the body")
    }
    do throws(PusherWebhookError) {
      let webhook = try PusherWebhook(request.body)
      return webhook.events.map { Event($0, time: webhook.sentTime) }
    } catch {
      throw .refusal(400, "\(error)")
    }
  }
}

extension WebhookInbox.Event {
  fileprivate init(_ event: PusherWebhook.Event, time: JSONValue?) {
    (name, channel, userID) = (event.name, event.channel, event.userId)
    // A channel or an ID of another kind stays in the data.
    let read = ["name": true, "channel": channel != nil, "user_id": userID != nil]
    let rest = (event.attributes.members ?? []).filter { read[$0.name] != true }
    data = .object((time.map { [.init("time_ms", $0)] } ?? []) + rest)
  }
}
