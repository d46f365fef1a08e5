import PusherCore

/// A connection of Python's library websockets, a message a line.
final class WebSocketPipe {
  /// What the server answered in `Sec-WebSocket-Extensions`.
  let extensions: String
  /// The first message.
  let greeting: JSONValue
  let socketID: String
  private let program: ChildProgram

  /// Dials as pusher-js does, and waits for the greeting.
  init(_ server: LocalServer) throws {
    let path = "/app/\(LocalServer.key)?protocol=7&client=js&version=8.4.0&flash=false"
    program = try PythonPeer.start(
      "websocket_pipe.py", ["ws://127.0.0.1:\(server.port)\(path)"], input: .pipe)
    extensions = try program.line()
    greeting = try JSONParser.parse(try program.line())
    let data = try JSONParser.parse(greeting["data"]?.text ?? "")
    guard let id = data["socket_id"]?.text else { throw Unexpected(JSONWriter.text(greeting)) }
    socketID = id
  }

  /// Sends a message, or what the script takes for a command.
  func send(_ message: String) {
    program.write(Array(message.utf8) + [0x0A])
  }

  /// Asks to join a channel with what the server library answered, or with nothing; the next message.
  func join(_ channel: String, _ authorization: String = "{}") throws -> String {
    var members = try JSONParser.parse(authorization).members ?? []
    members.append(.init("channel", .string(channel)))
    return try ask("pusher:subscribe", JSONWriter.text(.object(members)))
  }

  /// Sends an event of the protocol; the next message.
  func ask(_ event: String, _ data: String = "{}") throws -> String {
    send(#"{"event":"\#(event)","data":\#(data)}"#)
    return try message()
  }

  /// The next message, or at the end `[CODE, REASON]`.
  func message() throws -> String { try program.line() }

  /// How the script ended.
  func end() throws -> Ending { try program.wait() }
}
