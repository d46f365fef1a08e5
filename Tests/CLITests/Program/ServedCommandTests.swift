import Foundation
import PusherCore
import Testing

@testable import pusher_cli

@Suite("serve -- COMMAND", .runsPrograms)
struct ServedCommandTests {
  private func serve(_ words: String..., options: [String] = []) throws -> ChildProgram {
    try PusherCLI.start(["serve"] + options + ["--"] + words)
  }

  @Test func `the command finds serve in its environment and ends it with its status`() throws {
    let result = try serve(
      "sh", "-c", "\"$0\" subscribe orders -n 1 --on-ready \"$0 trigger -c orders -e e 1\"; exit 5",
      PusherCLI.path
    ).result()
    #expect(result.ending == .exited(5), "\(result.errorText)")
    #expect(result.outputText == #"{"event":"e","channel":"orders","data":1}"# + "\n")
  }

  @Test(arguments: ["PUSHER", "REVERB"])
  func `the variables are those of the app, in the names of each library`(prefix: String) throws {
    let shown = "echo $\(prefix)_APP_ID $\(prefix)_APP_KEY $\(prefix)_APP_SECRET $\(prefix)_SCHEME"
    let places = #"test "$PUSHER_URL" = "http://k:local@$PUSHER_HOST:$PUSHER_PORT/apps/7""#
    let result = try serve(
      "sh", "-c", "\(shown); \(places)", options: ["--key", "k", "--app-id", "7"]
    ).result()
    #expect(result.ending == .exited(0), "\(result.errorText)")
    #expect(result.outputText == "7 k local http\n" && result.errorText.isEmpty)
  }

  @Test func `words keep their blanks and quotes, and need no shell`() throws {
    let result = try serve("printf", "<%s>", "a b", "it's", "$HOME", "", "--quiet").result()
    #expect(result.ending == .exited(0))
    #expect(result.outputText == "<a b><it's><$HOME><><--quiet>")
  }

  @Test func `after a failure the notices of the server are shown`() throws {
    let result = try serve(
      "sh", "-c", "\"$0\" trigger -c orders -e order.created 1; exit 1", PusherCLI.path
    ).result()
    #expect(result.ending == .exited(1))
    #expect(result.errorText.contains("'sh' ended with status 1; the server saw this:\n"))
    #expect(result.errorText.contains("order.created"))
  }

  @Test func `a command that does not exist gives the shell's status 127`() throws {
    // A folder of the path that may not be searched would give 126.
    let result = try serve("/nowhere/program").result()
    #expect(result.ending == .exited(127))
    // On Redis it saw that.
    let sawNothing = result.errorText.contains("the server saw nothing")
    #expect(sawNothing != PusherCLI.sharesChannels)
  }

  @Test func `a signal reaches the command, and the server ends by it`() throws {
    let program = try serve(
      "sh", "-c", "trap 'echo told; exit 3' TERM; echo runs; while :; do sleep 0.1; done")
    #expect(try program.line() == "runs")
    program.send(SIGTERM)
    #expect(try program.line() == "told")
    #expect(try program.wait() == .signalled(SIGTERM))
  }

  @Test func `a port that is asked for is used`() throws {
    let port = try Loopback.closedPort()
    let result = try serve("sh", "-c", "echo $PUSHER_PORT", options: ["--port", "\(port)"]).result()
    #expect(result.outputText == "\(port)\n")
  }
}
