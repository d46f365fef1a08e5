import Foundation
import Testing

@Suite("--keep-going", .runsPrograms)
struct KeepGoingTests {
  private func server() throws -> ScriptedServer {
    try ScriptedServer { connection in
      try connection.welcome()
      for _ in 0..<2 {
        let channel = try connection.subscription().channel
        if channel == "news" {
          try connection.send(
            event: "pusher_internal:subscription_error", channel: channel, data: "{}")
        } else {
          try connection.send(
            event: "pusher_internal:subscription_succeeded", channel: channel, data: "{}")
          try connection.send(event: "e", channel: channel, data: "1")
        }
      }
      try connection.stay()
    }
  }

  private static let line = #"{"event":"e","channel":"sport","data":1}"# + "\n"

  @Test func `subscribe warns of a refused channel and goes on with the others`() throws {
    let ready = TemporaryFolder.shared.file("ready")
    let server = try server()
    let result = try server.subscribed(
      "news", "sport", "--keep-going", "-n", "1", "--on-ready", "touch \(ready)")
    result.expect(prints: Self.line)
    #expect(result.errorText.hasPrefix("pusher-cli: warning: news refused: "))
    #expect(FileManager.default.fileExists(atPath: ready))
    try server.subscribed("news", "sport").expect(3)
  }

  @Test func `subscribe ends when no channel is left`() throws {
    let server = try ScriptedServer { connection in
      try connection.welcome()
      let channel = try connection.subscription().channel
      try connection.send(event: "pusher_internal:subscription_error", channel: channel, data: "{}")
      try connection.stay()
    }
    try server.subscribed("news", "--keep-going").expect(3)
  }

  @Test(arguments: [true, false])
  func `sse asks again after a refusal of a stream that stood`(isTold: Bool) throws {
    let server = try ScriptedServer { connection in
      if connection.number == 2 {
        _ = try connection.question()
        return try connection.send(stream: "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")
      }
      try connection.beginStream()
      try connection.send(stream: "retry: 1\ndata: 1\n\n")
    }
    let options = ["-n", "2"] + (isTold ? ["--keep-going"] : [])
    let result = try PusherCLI.run(["sse", server.url] + options)
    result.expect(isTold ? 0 : 3)
    #expect(result.outputLines.count == (isTold ? 2 : 1))
  }
}
