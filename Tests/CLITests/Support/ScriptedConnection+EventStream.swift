import PusherCore

/// The script's view of event streams.
extension ScriptedConnection {
  /// Takes the request and begins a stream; answers the request.
  @discardableResult
  func beginStream(
    _ fields: [(String, String)] = [], type: String = "text/event-stream"
  ) throws -> Question {
    let question = try question()
    let head = HTTPResponseHead(
      status: 200, reason: "OK", headers: HTTPHeaders([("Content-Type", type)] + fields))
    try send(bytes: head.encode())
    return question
  }

  /// Sends text as it is.
  func send(stream text: String) throws {
    try send(bytes: Array(text.utf8))
  }

  /// Sends text as a chunk of its own.
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
  /// What leads the program here.
  var url: String {
    "\(isSecure ? "https://localhost" : "http://127.0.0.1"):\(port)/stream"
  }
}

extension PusherCLI {
  /// Starts `sse` on a server's address.
  static func sse(
    _ server: ScriptedServer, _ arguments: String..., environment: [String: String] = [:],
    output: ChildProgram.Output = .pipe
  ) throws -> ChildProgram {
    try start(["sse", server.url] + arguments, environment: environment, output: output)
  }
}
