import Foundation
import PusherCore
import Testing

@Suite("The last line of a run that a signal ends", .runsPrograms) struct ExitLineTests {
  @Test(arguments: [(SIGTERM, "SIGTERM", 143), (SIGINT, "SIGINT", 130), (SIGHUP, "SIGHUP", 129)])
  func `the last line names the signal and the status that shells show`(
    signal: Int32, name: String, status: Int
  ) throws {
    let stream = try NumberedStream.server(last: 2)
    let socket = try ScriptedServer.joined { connection in
      for _ in 1...2 { try connection.send(event: "news", data: "1") }
    }
    let exit = #"{"status":\#(status),"reason":"\#(name)","events":2}}"#
    for program in [
      try PusherCLI.sse(stream, "-L"), try PusherCLI.subscribe(to: socket, "news", "-L"),
    ] {
      var line = ""
      var events = 0
      while events < 2 {
        line = try program.line()
        if !line.contains(#""event":"pusher"#) { events += 1 }
      }
      let result = try program.result(of: signal)
      #expect(result.outputText.hasPrefix(#"{"event":"pusher-cli:exit","#))
      #expect(result.outputText.hasSuffix(exit + "\n"), "\(result.outputText)")
    }
  }

  @Test(arguments: [[], ["-n", "1"]])
  func `a last line that cannot be written keeps no run alive`(options: [String]) throws {
    let stream = try NumberedStream.server(last: 2)
    let socket = try ScriptedServer.joined { try $0.send(event: "news", data: "1") }
    for arguments in [["sse", stream.url], ["subscribe"] + socket.address + ["news"]] {
      try PusherCLI.run(arguments + ["-L"] + options, output: .file("/dev/full")).expect(
        6, telling: "cannot write to standard output: no space left on device")
    }
  }
}
