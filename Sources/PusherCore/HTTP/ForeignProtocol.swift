package enum ForeignProtocol: Equatable, Sendable, CustomStringConvertible {
  case tls
  case ssh
  case http2
  /// Another protocol, with the beginning of its first line.
  case unknown(String)

  /// Returns the protocol of `answer` if it is not HTTP/1; `nil` while it may still be.
  package init?(_ answer: ByteView) {
    let status = Array("HTTP/".utf8)
    let common = min(answer.count, status.count)
    guard (0..<common).contains(where: { answer[$0] != status[$0] }) else { return nil }
    // A TLS record: alert (21) or handshake (22), then version 3.x.
    if answer[0] == 21 || answer[0] == 22 {
      guard answer.count > 1 else { return nil }
      if answer[1] == 3 {
        self = .tls
        return
      }
    }
    guard answer.count >= 4 || (0..<answer.count).contains(where: { answer[$0] == 0x0A }) else {
      return nil
    }
    if answer.begins(with: "SSH-") {
      self = .ssh
    } else if answer.count >= 5, answer[0] == 0, answer[3] == 4 || answer[3] == 7, answer[4] == 0 {
      // The first frame of an HTTP/2 server is SETTINGS, or GOAWAY after a request that it does not
      // understand (RFC 9113 sections 3.4, 4.1 and 6.8).
      self = .http2
    } else {
      self = .unknown(Self.beginning(of: answer))
    }
  }

  package var description: String {
    switch self {
    case .tls: "the other side speaks TLS on this port, not plain HTTP"
    case .ssh: "the other side is an SSH server"
    case .http2: "the other side speaks HTTP/2 only"
    case .unknown(let beginning): "the answer is not HTTP; it begins with '\(beginning)'"
    }
  }

  /// Returns up to 32 characters of the first line, with `.` for unprintable ones.
  private static func beginning(of answer: ByteView) -> String {
    var text = ""
    for index in 0..<min(answer.count, 32) {
      let byte = answer[index]
      if byte == 0x0A || byte == 0x0D { break }
      text.unicodeScalars.append(
        (0x20..<0x7F).contains(byte) ? Unicode.Scalar(byte) : Unicode.Scalar(0x2E))
    }
    return text
  }
}
