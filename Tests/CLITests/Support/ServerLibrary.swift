import PusherCore

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
