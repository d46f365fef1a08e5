package import PusherCore

/// What happens on the server, for its log; no case holds a secret.
package enum ServerLogEvent: Sendable, Equatable, CustomStringConvertible {
  /// A socket is established.
  case connected(socketID: String)
  /// A socket was refused: unknown key, unsupported protocol, too many connections.
  case refused(code: Int, reason: String)
  /// A socket is gone; the code of the close frame if there was one.
  case disconnected(socketID: String, code: Int?, reason: String)
  case signedIn(socketID: String, userID: String)
  case signInRefused(socketID: String, reason: String)
  case subscribed(socketID: String, channel: String, userID: String?)
  case subscriptionRefused(socketID: String, channel: String, reason: String)
  case unsubscribed(socketID: String, channel: String)
  /// An event came through the API and went to so many sockets; `nil` where nodes on other machines have them.
  case event(name: String, channel: String, data: JSONValue, recipients: Int?)
  /// A client's event was passed on to so many others, likewise, as `message`.
  case clientEvent(
    socketID: String, name: String, channel: String, message: String, recipients: Int?)
  /// An event that came from what connects the nodes went to so many sockets here.
  case delivered(channel: String, isFromClient: Bool, recipients: Int)
  /// What connects the nodes is lost: nothing is published until it is back.
  case busLost(reason: String)
  case busBack
  /// What connects the nodes refused a command.
  case busError(reason: String)
  /// What connects the nodes refuses what this one needs: nothing is published until it does not.
  case busRefused(reason: String)
  /// A client's message was answered with an error.
  case clientError(socketID: String, reason: String)
  /// An API call was answered.
  case request(method: String, path: String, status: Int, reason: String)
  /// A request was refused because of its `Origin` or its `Host`, or since it did not begin on this machine.
  ///
  /// Each of them is told once; with `isLast` no further ones are.
  case accessRefused(AccessRefusal, isLast: Bool)
  /// So many clients were dropped, the first of a run, since all together had more than these bytes waiting.
  case queuesFull(limit: Int, dropped: Int)
  /// An app has as many occupied channels as it may have; told once.
  case channelsFull(app: String, limit: Int)
  /// A connection ended before it was a socket or a call.
  case dropped(reason: String)
  /// A webhook was taken.
  case webhookSent(SentWebhook, status: Int)
  /// A webhook was not taken and will be sent again.
  case webhookFailed(SentWebhook, reason: String, retryIn: Duration)
  /// A webhook was given up.
  case webhookDropped(SentWebhook, reason: String)
  /// So many webhooks still waited when the server ended.
  case webhooksDiscarded(url: String, count: Int, reason: String)

  /// Whether it is a loss that the user should know of.
  package var isProblem: Bool {
    switch self {
    case .webhookFailed, .webhookDropped, .webhooksDiscarded, .accessRefused, .queuesFull,
      .channelsFull, .busLost, .busError, .busRefused:
      true
    default: false
    }
  }

  /// One line for people; control characters of foreign text become `?`, so that they cannot drive a terminal.
  package var description: String {
    let shown = words.unicodeScalars.map { scalar in
      scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) ? "?" : scalar
    }
    return String(String.UnicodeScalarView(shown))
  }

  private static func words(_ recipients: Int?) -> String {
    recipients.map { " to \($0)" } ?? ""
  }

  private var words: String {
    switch self {
    case .connected(let socketID): "\(socketID) connected"
    case .refused(let code, let reason): "connection refused with \(code): \(reason)"
    case .disconnected(let socketID, let code?, let reason):
      "\(socketID) disconnected with \(code)" + (reason.isEmpty ? "" : ": \(reason)")
    case .disconnected(let socketID, nil, let reason): "\(socketID) disconnected: \(reason)"
    case .signedIn(let socketID, let userID): "\(socketID) signed in as user \(userID)"
    case .signInRefused(let socketID, let reason): "\(socketID) may not sign in: \(reason)"
    case .subscribed(let socketID, let channel, let userID?):
      "\(socketID) subscribed to \(channel) as user \(userID)"
    case .subscribed(let socketID, let channel, nil): "\(socketID) subscribed to \(channel)"
    case .subscriptionRefused(let socketID, let channel, let reason):
      "\(socketID) may not subscribe to \(channel): \(reason)"
    case .unsubscribed(let socketID, let channel): "\(socketID) unsubscribed from \(channel)"
    case .event(let name, let channel, let data, let recipients):
      "event \(name) on \(channel)\(Self.words(recipients)): \(data.text ?? JSONWriter.text(data))"
    case .clientEvent(let socketID, let name, let channel, _, let recipients):
      "\(socketID) sent \(name) on \(channel)\(Self.words(recipients))"
    case .delivered(let channel, _, let recipients):
      "an event on \(channel) went to \(recipients) here"
    case .busLost(let reason):
      "redis is lost (\(reason)); sockets stay, and nothing is published until it is back"
    case .busBack: "redis is there, and this server is registered"
    case .busError(let reason): "redis refused a command: \(reason)"
    case .busRefused(let reason):
      "redis refuses \(reason); sockets stay, nothing is published, and this server asks again every 2 s"
    case .clientError(let socketID, let reason): "\(socketID) got an error: \(reason)"
    case .request(let method, let path, let status, let reason):
      "\(method) \(path) \(status)" + (reason.isEmpty ? "" : ": \(reason)")
    case .queuesFull(let limit, let dropped):
      "clients left more than \(limit) bytes unread together: dropped the slowest \(dropped), and "
        + "will drop more without a word"
    case .channelsFull(let app, let limit):
      "app \(app) has \(limit) channels: refused a subscription to one more, and will refuse more "
        + "without a word"
    case .accessRefused(let refusal, let isLast):
      "refused \(refusal)" + (isLast ? "; no further refusals are told" : "")
    case .dropped(let reason): "connection dropped: \(reason)"
    case .webhookSent(let webhook, let status): "webhook \(webhook): \(status)"
    case .webhookFailed(let webhook, let reason, let delay):
      "webhook \(webhook) failed (\(reason)); trying again in \(delay.inSeconds) s"
    case .webhookDropped(let webhook, let reason): "webhook \(webhook) dropped (\(reason))"
    case .webhooksDiscarded(let url, let count, let reason):
      "\(count) \(count == 1 ? "webhook" : "webhooks") to \(url) discarded at the server's end (\(reason))"
    }
  }
}

/// A webhook on its way to one receiver.
package struct SentWebhook: Sendable, Equatable, CustomStringConvertible {
  /// The app's id.
  package let app: String
  /// Where it goes, without what may be secret in it.
  package let url: String
  /// The kind of its event, or how many there are.
  package let event: String
  /// What is sent; empty where there are several.
  package let body: [UInt8]

  package init(app: String, url: String, event: String, body: [UInt8] = []) {
    (self.app, self.url, self.event, self.body) = (app, url, event, body)
  }

  package var description: String { "\(event) to \(url)" }
}

/// Why a request was refused; an `Origin` or `Host` as it was written.
package enum AccessRefusal: Sendable, Hashable, CustomStringConvertible {
  case origin(String)
  case host(String)
  /// A request that did not begin on this machine, for a part of the server that is for this machine alone.
  case remote(part: String, sign: String)

  package var description: String {
    switch self {
    case .origin(let origin): "a page of '\(Self.beginning(of: origin))'"
    case .host(let host): "a request for host '\(Self.beginning(of: host))'"
    case .remote(let part, let sign):
      "a request for \(part) that is not from this machine (\(sign))"
    }
  }

  /// The first 100 bytes of a text of any length.
  private static func beginning(of text: String) -> String {
    guard text.utf8.count > 100 else { return text }
    return String(decoding: text.utf8.prefix(100), as: UTF8.self) + "…"
  }
}
