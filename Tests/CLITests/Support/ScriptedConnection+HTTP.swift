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
    let head = HTTPResponseHead(status: status, reason: reason, headers: HTTPHeaders(fields + ends))
    try send(bytes: head.encode() + bytes)
    end()
  }
}

/// First bytes of other protocols.
enum ForeignBytes {
  static let ssh = Array("SSH-2.0-OpenSSH_9.2p1\r\n".utf8)
  /// A fatal alert: the answer of TLS servers to bytes that are not a ClientHello.
  static let alert: [UInt8] = [21, 3, 1, 0, 2, 2, 70]
}

extension ScriptedConnection {
  /// Reads a request and answers with these bytes.
  func speak(_ bytes: [UInt8]) throws {
    _ = try question()
    try send(bytes: bytes)
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

extension ScriptedConnection {
  /// Reads the request, begins a stream, and returns the request.
  @discardableResult
  func beginStream(
    _ fields: [(String, String)] = [], type: String = "text/event-stream"
  ) throws -> Question {
    let question = try question()
    try beginAnswer(fields, type: type)
    return question
  }

  func beginAnswer(_ fields: [(String, String)] = [], type: String) throws {
    let head = HTTPResponseHead(
      status: 200, reason: "OK", headers: HTTPHeaders([("Content-Type", type)] + fields))
    try send(bytes: head.encode())
  }

  /// Reads the request, and answers with a body of known length.
  func answer(body: String, type: String) throws {
    _ = try question()
    try send(body: body, type: type)
  }

  func send(body: String, type: String) throws {
    try beginAnswer([("Content-Length", "\(body.utf8.count)")], type: type)
    try send(stream: body)
  }

  func send(stream text: String) throws { try send(bytes: Array(text.utf8)) }

  func send(chunk text: String) throws {
    try send(stream: "\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n")
  }

  /// Keeps the connection until the program leaves.
  func remain() throws -> Never {
    while true {
      try receive(into: input)
      input.removeAll()
    }
  }
}

extension ScriptedServer {
  /// Starts a server that begins an event stream, plays the script and remains.
  static func streaming(
    place: SourceLocation = #_sourceLocation, _ script: @escaping Script
  ) throws -> ScriptedServer {
    try ScriptedServer(place: place) { connection in
      try connection.beginStream()
      try script(connection)
      try connection.remain()
    }
  }

  /// Starts a server whose event stream is this text and stays open.
  static func streaming(
    _ text: String, place: SourceLocation = #_sourceLocation
  ) throws -> ScriptedServer {
    try streaming(place: place) { try $0.send(stream: text) }
  }

  /// Starts a server as ``streaming(_:place:)`` does, which records the heads of its requests.
  static func recording(
    _ text: String, place: SourceLocation = #_sourceLocation
  ) throws -> (server: ScriptedServer, heads: Record<HTTPRequestHead>) {
    let heads = Record<HTTPRequestHead>()
    let server = try ScriptedServer(place: place) { connection in
      heads.add(try connection.beginStream().head)
      try connection.send(stream: text)
      try connection.remain()
    }
    return (server, heads)
  }

  var url: String { "\(isSecure ? "https://localhost" : "http://127.0.0.1"):\(port)/stream" }
}

extension PusherCLI {
  static func sse(
    _ server: ScriptedServer, _ arguments: String..., environment: [String: String] = [:],
    output: ChildProgram.Output = .pipe
  ) throws -> ChildProgram {
    try start(["sse", server.url] + arguments, environment: environment, output: output)
  }
}
