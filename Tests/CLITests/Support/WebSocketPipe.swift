import PusherCore

/// A connection of Python's library websockets, one message per line.
final class WebSocketPipe {
  let extensions: String
  let greeting: JSONValue
  let socketID: String
  private let program: ChildProgram

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

  func send(_ message: String) {
    program.write(Array(message.utf8) + [0x0A])
  }

  /// Subscribes with the server library's answer, or without, and returns the next message.
  func join(_ channel: String, _ authorization: String = "{}") throws -> String {
    var members = try JSONParser.parse(authorization).members ?? []
    members.append(.init("channel", .string(channel)))
    return try ask("pusher:subscribe", JSONWriter.text(.object(members)))
  }

  /// Sends an event of the protocol and returns the next message.
  func ask(_ event: String, _ data: String = "{}") throws -> String {
    send(#"{"event":"\#(event)","data":\#(data)}"#)
    return try message()
  }

  func message() throws -> String { try program.line() }

  func end() throws -> Ending { try program.wait() }
}
