import Foundation
import PusherCore

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
  private let server: RawServer

  /// - Parameters:
  ///   - field: An additional header field of each answer.
  ///   - answer: Returns the status and the body for a request.
  init(
    field: String = "X-Was: here", _ answer: @escaping @Sendable (Request) -> (Int, String)
  ) throws {
    server = try RawServer { [requests] peer in
      guard let request = Self.read(peer) else { return }
      requests.add(request)
      let (status, body) = answer(request)
      let text =
        "HTTP/1.1 \(status) X\r\nContent-Length: \(body.utf8.count)\r\n\(field)\r\n"
        + "Connection: close\r\n\r\n\(body)"
      peer.send(Array(text.utf8))
    }
  }

  /// Answers with the signature of the channel; a member of a presence channel is user 7.
  static func sign(_ request: Request) -> (Int, String) {
    let channel = PercentEncoding.decode(request.form["channel_name"] ?? "") ?? ""
    let auth = LocalService.sign(request.form["socket_id"] ?? "", channel)
    var answer: [JSONValue.Member] = [.init("auth", .string(auth.auth))]
    if let data = auth.channelData { answer.append(.init("channel_data", .string(data))) }
    return (200, JSONValue.object(answer).jsonText)
  }

  var port: Int { server.port }
  var url: String { "http://127.0.0.1:\(port)/pusher/auth" }

  private static func read(_ peer: RawServer.Peer) -> Request? {
    var text = ""
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
      let bytes = peer.receive()
      guard !bytes.isEmpty else { return nil }
      text += String(decoding: bytes, as: UTF8.self)
    }
  }
}
