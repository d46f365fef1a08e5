package import PusherCore

/// Error of the link to Redis, or of one command; no text contains a password.
package enum RedisFailure: Error, Sendable, Equatable, CustomStringConvertible {
  case down
  case closed
  case transport(String, TransportError)
  case ended(String)
  /// The connection that carries messages was lost; with the failure in words.
  case messagesLost(String)
  case noAnswer(String, Duration)
  /// The server at this place rejects the credentials or requires some; with the code of its error.
  case credentials(String, code: String)
  /// The server at this place refused a command; with its error.
  case refused(String, command: String, error: String)
  case violation(String, String)
  /// The server at this place exceeded a limit; the text names the limit.
  case limit(String, String)
  /// The queue or the command exceeds a limit; the text names the limit.
  case overloaded(String)
  case notPrimary(String)
  /// No Sentinel knows a primary of this name; with the reason of the last Sentinel.
  case noPrimary(String, reason: String)

  package var description: String {
    switch self {
    case .down: "not connected to Redis"
    case .closed: "the link to Redis was closed"
    case .transport(let place, let error): "Redis at \(place): \(error)"
    case .ended(let place): "Redis at \(place) closed the connection"
    case .messagesLost(let reason):
      "\(reason) for messages, as it does above its client-output-buffer-limit pubsub"
    case .noAnswer(let place, let time): "Redis at \(place) did not answer for \(time.inWords)"
    case .credentials(let place, let code):
      code.isSame(as: "NOAUTH")
        ? "Redis at \(place) requires a password: add it to the URL"
        : "Redis at \(place) rejected the user or the password (\(code))"
    case .refused(let place, let command, let error):
      "Redis at \(place) refused \(command): \(error)"
    case .violation(let place, let what): "Redis at \(place) broke the protocol: \(what)"
    case .limit(let place, let what): "Redis at \(place): \(what)"
    case .overloaded(let what): "the queue to Redis is full: \(what)"
    case .notPrimary(let place): "Redis at \(place) is a replica, not a primary"
    case .noPrimary(let name, let reason): "no Sentinel knows a primary '\(name)': \(reason)"
    }
  }
}

extension RedisReply {
  /// Text of an error, as a message may show it: visible ASCII, 200 bytes at most, without
  /// `secret`.
  func words(without secret: RedisPassword?) -> String {
    guard case .error(let text) = self else { return "an unexpected answer" }
    var bytes = Array(text.utf8)
    if let secret = secret.map({ Array($0.text.utf8) }), !secret.isEmpty,
      bytes.count >= secret.count
    {
      for start in 0...(bytes.count - secret.count)
      where bytes[start..<(start + secret.count)].elementsEqual(secret) {
        bytes.replaceSubrange(
          start..<(start + secret.count),
          with: repeatElement(UInt8(ascii: "*"), count: secret.count))
      }
    }
    let visible = bytes.prefix(200).map { (0x20..<0x7F).contains($0) ? $0 : UInt8(ascii: "?") }
    return String(decoding: visible, as: UTF8.self)
  }
}
