import PusherCore
import Testing

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

  /// Reads the request, answers with a body of known length, and returns the request.
  @discardableResult
  func answer(body: String, type: String) throws -> Question {
    let question = try question()
    try send(body: body, type: type)
    return question
  }

  func send(body: String, type: String) throws {
    try beginAnswer([("Content-Length", "\(body.utf8.count)")], type: type)
    try send(stream: body)
  }

  func send(stream text: String) throws {
    try send(bytes: Array(text.utf8))
  }

  /// Sends text as one chunk.
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

  var url: String {
    "\(isSecure ? "https://localhost" : "http://127.0.0.1"):\(port)/stream"
  }
}

extension PusherCLI {
  static func sse(
    _ server: ScriptedServer, _ arguments: String..., environment: [String: String] = [:],
    output: ChildProgram.Output = .pipe
  ) throws -> ChildProgram {
    try start(["sse", server.url] + arguments, environment: environment, output: output)
  }
}
