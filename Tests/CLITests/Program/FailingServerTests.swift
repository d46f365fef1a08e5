import Foundation
import PusherCore
import Testing

@Suite("A server that fails in the ways of real ones", .runsPrograms) struct FailingServerTests {
  private func subscribe(to server: ScriptedServer, _ options: String...) throws -> ProgramResult {
    try server.subscribed(["news", "--retry-max-delay", "50ms"] + options)
  }

  /// A way to end a connection with a code: Reverb sends an error and drops the socket.
  enum Way: CaseIterable { case error, closeFrame }

  @Test(
    arguments: [(4001, 3), (4003, 3), (4009, 3), (4000, 5), (4004, 5), (4007, 5), (4099, 5)],
    Way.allCases)
  func `an error of 4000 to 4099 ends the program`(
    end: (code: UInt16, status: Int32), way: Way
  ) throws {
    let (code, reason) = (end.code, "because")
    let server = try ScriptedServer { connection in
      try connection.join()
      if way == .closeFrame { return try connection.close(code: code, reason: reason) }
      try connection.send(
        text: #"{"event":"pusher:error","data":"{\"code\":\#(code),\"message\":\"\#(reason)\"}"}"#)
      connection.drop()
    }
    let result = try subscribe(to: server)
    result.expect(end.status)
    // An error that arrives before the loss is also reported separately.
    let last = result.errorLines.last ?? ""
    let words = way == .error ? "the server reports error" : "closed by the server with code"
    #expect(last.hasPrefix("pusher-cli: error: \(words) \(end.code): because"), "\(last)")
    #expect(result.errorLines.count <= (way == .error ? 2 : 1))
    #expect(result.output.isEmpty)
    #expect(server.connectionCount == 1)
  }

  @Test(arguments: [
    ("", " and gives no reason"),
    (#","data":{"code":4100,"message":["full",2]}"#, #" 4100: ["full",2]"#),
  ])
  func `an error without a text says so, others are shown`(rest: String, words: String) throws {
    let server = try ScriptedServer.joined { connection in
      try connection.send(text: #"{"event":"pusher:error"\#(rest)}"#)
      try connection.send(event: "next", data: "{}")
    }
    let result = try subscribe(to: server, "-n", "1")
    #expect(result.errorText == "pusher-cli: warning: the server reports error\(words)\n")
  }

  @Test(arguments: [
    (4005, "Path not found", 5, "(is --path right?)"),
    (
      4009, "Origin not allowed", 3,
      "(the app accepts only some origins: name one with -H 'Origin: https://…')"
    ),
  ])
  func `a refusal before the greeting names the option that helps`(
    code: Int, reason: String, status: Int32, remedy: String
  ) throws {
    let server = try ScriptedServer { connection in
      try connection.upgrade()
      try connection.send(
        text: #"{"event":"pusher:error","data":{"code":\#(code),"message":"\#(reason)"}}"#)
      try connection.stay()
    }
    let result = try subscribe(to: server)
    result.expect(status)
    #expect(
      result.errorLines.last
        == "pusher-cli: error: closed by the server with code \(code): \(reason) \(remedy)")
  }
}
