import PusherCore
import Testing

extension ScriptedConnection {
  struct Question: Sendable {
    var head: HTTPRequestHead
    var body: String

    var form: [String: String] {
      let pairs = body.split(separator: "&").map { field -> (String, String) in
        let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let decoded = parts.map {
          PercentEncoding.decode(String($0).replacing("+", with: " ")) ?? ""
        }
        return (decoded[0], decoded.count > 1 ? decoded[1] : "")
      }
      return Dictionary(pairs) { $1 }
    }
  }

  func question() throws -> Question {
    let head = try request()
    var reader = try HTTPBodyReader(head)
    let body = ByteBuffer()
    while try !reader.read(from: input, into: body) { try receive(into: input) }
    return Question(head: head, body: body.view.text)
  }

  func answer(
    _ status: Int, _ reason: String = "Answer", _ fields: [(String, String)] = [],
    body: String = ""
  ) throws {
    try answer(status, reason, fields, bytes: Array(body.utf8))
  }

  func answer(
    _ status: Int, _ reason: String = "Answer", _ fields: [(String, String)] = [], bytes: [UInt8]
  ) throws {
    let ends = [("Content-Length", "\(bytes.count)"), ("Connection", "close")]
    let head = HTTPResponseHead(
      status: status, reason: reason, headers: HTTPHeaders(fields + ends))
    try send(bytes: head.encode() + bytes)
    end()
  }
}

extension ScriptedServer {
  /// Starts a server that gives each request the same answer.
  static func answering(
    _ status: Int, _ reason: String = "Answer", body: String = "",
    place: SourceLocation = #_sourceLocation
  ) throws -> ScriptedServer {
    try ScriptedServer(place: place) { connection in
      _ = try connection.question()
      try connection.answer(status, reason, body: body)
    }
  }
}
