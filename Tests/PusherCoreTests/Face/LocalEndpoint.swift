import Foundation

final class LocalEndpoint: Sendable {
  struct Request: Sendable {
    let head: String
    let body: String

    /// The form's fields, still encoded.
    var form: [String: String] {
      var form: [String: String] = [:]
      for field in body.split(separator: "&") {
        let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        form[String(parts[0])] = parts.count > 1 ? String(parts[1]) : ""
      }
      return form
    }
  }

  let requests = Gathered<Request>()
  private let listener: LoopbackListener

  /// - Parameters:
  ///   - field: An additional header field of each answer.
  ///   - answer: Returns the status and the body for a request.
  init(
    field: String = "X-Was: here", _ answer: @escaping @Sendable (Request) -> (Int, String)
  ) throws {
    listener = try LoopbackListener(backlog: 16) { [requests] peer in
      defer { close(peer) }
      guard let request = Self.read(peer) else { return }
      requests.add(request)
      let (status, body) = answer(request)
      let text =
        "HTTP/1.1 \(status) X\r\nContent-Length: \(body.utf8.count)\r\n\(field)\r\n"
        + "Connection: close\r\n\r\n\(body)"
      _ = send(peer, text, text.utf8.count, Int32(MSG_NOSIGNAL))
    }
  }

  var port: Int { listener.port }
  var url: String { "http://127.0.0.1:\(port)/pusher/auth" }

  private static func read(_ peer: Int32) -> Request? {
    var text = ""
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      if let end = text.range(of: "\r\n\r\n") {
        let head = String(text[..<end.lowerBound])
        let body = String(text[end.upperBound...])
        let length = head.split(separator: "\r\n").first {
          $0.lowercased().hasPrefix("content-length:")
        }
        let expected = length.flatMap {
          Int($0.split(separator: ":")[1].trimmingCharacters(in: .whitespaces))
        }
        if body.utf8.count >= expected ?? 0 { return Request(head: head, body: body) }
      }
      let count = recv(peer, &chunk, chunk.count, 0)
      guard count > 0 else { return nil }
      text += String(decoding: chunk[..<count], as: UTF8.self)
    }
  }
}
