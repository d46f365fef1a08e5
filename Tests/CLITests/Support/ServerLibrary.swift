import PusherCore

/// The official server library of Python, with an app of a ``LocalServer``: a call a line.
final class ServerLibrary {
  let version: String
  /// The names of everything it can be asked to do.
  let calls: [String]
  private let program: ChildProgram

  init(
    _ port: String, appID: String = LocalServer.appID, key: String = LocalServer.key,
    secret: String = "local-secret", masterKey: String? = nil
  ) throws {
    let arguments = [port, appID, key, secret] + (masterKey.map { [$0] } ?? [])
    program = try PythonPeer.start("call_api.py", arguments, input: .pipe)
    let facts = try JSONParser.parse(try program.line())
    version = facts["version"]?.text ?? ""
    calls = (facts["calls"]?.elements ?? []).compactMap(\.text)
  }

  /// What a call returns, as JSON with sorted names and without blanks; `arguments` are JSON too.
  func call(_ name: String, _ arguments: String = "{}") throws -> String {
    let answer = try answer(name, arguments)
    guard let returned = answer["returned"] else { throw Unexpected(JSONWriter.text(answer)) }
    return JSONWriter.text(returned)
  }

  /// What a call raises: `CLASS: MESSAGE`.
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
