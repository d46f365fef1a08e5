package import PusherCore

/// Why Redis cannot be used, or not for this command; no text has a password in it.
package enum RedisFailure: Error, Sendable, Equatable, CustomStringConvertible {
  /// There is no connection now; the link is dialling.
  case down
  /// The link was closed from this side.
  case closed
  /// The server at this place cannot be reached, or the connection was lost.
  case transport(String, TransportError)
  /// The server at this place closed the connection.
  case ended(String)
  /// The server at this place did not answer within the time.
  case noAnswer(String, Duration)
  /// The server at this place wants another user or password, or one at all; with the code of its error.
  case credentials(String, code: String)
  /// The server at this place refused a command that the link needs, or that it was given; with its error.
  case refused(String, command: String, error: String)
  /// The server at this place broke the protocol.
  case violation(String, String)
  /// The server at this place sent more than is allowed; the text names the limit.
  case limit(String, String)
  /// Too much waits, or the command is too large; the text names the limit.
  case overloaded(String)
  /// The server at this place is a replica.
  case notPrimary(String)
  /// No Sentinel knows the primary of this name; with the reason of the last that was asked.
  case noPrimary(String, reason: String)

  /// Who has to act.
  package var fault: Fault {
    switch self {
    case .credentials, .refused: .you
    case .violation, .limit: .peer
    case .transport(_, .tls(.file)): .you
    case .down, .transport, .ended, .noAnswer, .notPrimary, .noPrimary: .network
    case .closed, .overloaded: .us
    }
  }

  package var description: String {
    switch self {
    case .down: "there is no connection to Redis now"
    case .closed: "the link to Redis was closed"
    case .transport(let place, let error): "Redis at \(place): \(error)"
    case .ended(let place): "Redis at \(place) closed the connection"
    case .noAnswer(let place, let time):
      "Redis at \(place) gave no answer for \(time.inWords)"
    case .credentials(let place, let code):
      code.isSame(as: "NOAUTH")
        ? "Redis at \(place) wants a password: write it into the URL"
        : "Redis at \(place) does not accept the user or the password (\(code))"
    case .refused(let place, let command, let error):
      "Redis at \(place) refused \(command): \(error)"
    case .violation(let place, let what): "Redis at \(place) broke the protocol: \(what)"
    case .limit(let place, let what): "Redis at \(place): \(what)"
    case .overloaded(let what): "too much waits for Redis: \(what)"
    case .notPrimary(let place): "Redis at \(place) is a replica, not a primary"
    case .noPrimary(let name, let reason): "no Sentinel names a primary '\(name)': \(reason)"
    }
  }
}

extension RedisReply {
  /// The words of an error as they may stand in a message: visible ASCII, 200 bytes at most, without `secret`.
  func words(without secret: RedisPassword?) -> String {
    guard case .error(let text) = self else { return "an answer of another kind" }
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
