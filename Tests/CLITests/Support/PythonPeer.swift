import Foundation
import PusherCore
import Testing

/// Programs of `Tests/CLITests/Peers`, on the interpreter prepared by scripts/test.sh.
enum PythonPeer {
  static let folder = "Tests/CLITests/Peers/"

  /// The interpreter with the libraries of Tests/requirements.txt; `nil` outside scripts/test.sh.
  static let interpreter = setting("PUSHER_CLI_TEST_PYTHON")

  /// True if tests that need it run.
  ///
  /// In CI they always run, so that a missing interpreter fails.
  static let isWanted = interpreter != nil || setting("CI") != nil

  static let reason = "PUSHER_CLI_TEST_PYTHON is not set: scripts/test.sh sets it"

  private static func setting(_ name: String) -> String? {
    ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
  }

  static func start(
    _ name: String, _ arguments: [String], input: ChildProgram.Input = .nothing
  ) throws -> ChildProgram {
    guard let interpreter else { throw Unexpected(reason) }
    return try ChildProgram(
      interpreter, [path(name)] + arguments, environment: PusherCLI.environment, input: input)
  }

  static func path(_ name: String) -> String { "\(Documentation.folder)/\(folder)\(name)" }
}

/// Python's official server library with an app of a ``LocalServer``, one call per line.
final class ServerLibrary {
  private let program: ChildProgram

  init(
    _ port: String, appID: String = LocalServer.appID, key: String = LocalServer.key,
    secret: String = "local-secret", masterKey: String? = nil
  ) throws {
    let arguments = [port, appID, key, secret] + (masterKey.map { [$0] } ?? [])
    program = try PythonPeer.start("call_api.py", arguments, input: .pipe)
    // The library's version and calls.
    _ = try program.line()
  }

  /// Returns a call's result as JSON with sorted names and without blanks; `arguments` are JSON
  /// too.
  func call(_ name: String, _ arguments: String = "{}") throws -> String {
    let answer = try answer(name, arguments)
    guard let returned = answer["returned"] else { throw Unexpected(JSONWriter.text(answer)) }
    return JSONWriter.text(returned)
  }

  /// Returns the exception of a call: `CLASS: MESSAGE`.
  func refusal(_ name: String, _ arguments: String = "{}") throws -> String {
    let answer = try answer(name, arguments)
    guard let raised = answer["raised"]?.text, let text = answer["text"]?.text else {
      throw Unexpected("\(name) returned \(JSONWriter.text(answer))")
    }
    return "\(raised): \(text.hasSuffix("\n") ? text.dropLast() : text[...])"
  }

  private func answer(_ name: String, _ arguments: String) throws -> JSONValue {
    program.write(Array(#"["\#(name)",\#(arguments)]"#.utf8) + [0x0A])
    return try JSONParser.parse(try program.line())
  }
}

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

  func send(_ message: String) { program.write(Array(message.utf8) + [0x0A]) }

  /// Subscribes with the server library's answer, or without, and returns the next message.
  func join(_ channel: String, _ authorization: String = "{}") throws -> String {
    var members = try JSONParser.parse(authorization).members ?? []
    members.append(.init("channel", .string(channel)))
    return try ask("pusher:subscribe", JSONWriter.text(.object(members)))
  }

  func ask(_ event: String, _ data: String = "{}") throws -> String {
    send(#"{"event":"\#(event)","data":\#(data)}"#)
    return try message()
  }

  func message() throws -> String { try program.line() }

  func end() throws -> Ending { try program.wait() }
}

/// A receiver for `--forward` on Python's http.server, controlled through `receive_forwards.py`.
struct ForwardReceiver {
  struct Request: Decodable {
    /// From 1, in the order of the connections.
    let connection: Int
    let method: String
    let path: String
    /// Fields by lower-case name.
    let fields: [String: String]
    let body: String

    var key: String { fields["idempotency-key"] ?? "" }
  }

  let program: ChildProgram
  let port: UInt16

  init(_ behaviours: String...) throws {
    program = try PythonPeer.start("receive_forwards.py", behaviours, input: .pipe)
    port = try #require(UInt16(try program.line()))
  }

  var url: String { "http://127.0.0.1:\(port)/hook?x=1" }

  func next() throws -> Request {
    try JSONDecoder().decode(Request.self, from: Data(try program.lineBytes()))
  }

  func requests(_ count: Int) throws -> [Request] {
    try (0..<count).map { _ in try next() }
  }

  func release() { program.write([UInt8(ascii: "\n")]) }

  func unexpected() throws -> String {
    program.closeInput()
    return try program.result().outputText
  }
}
