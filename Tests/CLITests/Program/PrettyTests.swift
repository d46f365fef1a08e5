import Foundation
import PusherCore
import Testing

@Suite("-o pretty on a terminal and off it", .runsPrograms)
struct PrettyTests {
  private static func lines(_ text: String) -> [String] {
    // A terminal's line end is one `Character`.
    String(text.unicodeScalars.filter { $0 != "\r" }).split(separator: "\n").map {
      String($0.replacing(#/^\d\d:\d\d:\d\d(\.\d{3})?/#, with: "TIME"))
    }
  }

  // MARK: Width

  @Test func `the width of the terminal is asked for with every burst`() throws {
    let isNarrow = Gate()
    let data = #"{"text":"\#(String(repeating: "x", count: 40))"}"#
    let server = try ScriptedServer.joined { connection in
      try connection.send(event: "first", data: data)
      try isNarrow.wait()
      try connection.send(event: "second", data: data)
    }
    let terminal = try PseudoTerminal()
    try terminal.resize(columns: 90)
    let program = try PusherCLI.start(
      ["subscribe", "-o", "pretty", "-q", "news", "-n", "2", "--color", "never"] + server.address,
      on: terminal)
    try terminal.await("first")
    try terminal.resize(columns: 40)
    isNarrow.open()
    #expect(try program.wait() == .exited(0))
    #expect(
      Self.lines(terminal.text) == [
        "TIME  news  first  \(data)", "TIME  news  second", "  {",
        #"    "text": "\#(String(repeating: "x", count: 27))"#, #"      xxxxxxxxxxxxx""#, "  }",
      ], "\(terminal.text)")
    #expect(terminal.text.contains(#/\d\d:\d\d:\d\d  news  second/#))
  }

  @Test(arguments: [
    ([:], "TIME  news  a  " + String(repeating: "y", count: 45)),
    (["COLUMNS": "40"], "TIME  news  a"), (["COLUMNS": "0"], nil), (["COLUMNS": "wide"], nil),
  ])
  func `off a terminal COLUMNS is the width, else 80`(
    environment: [String: String], first: String?
  ) throws {
    let server = try ScriptedServer.joined { connection in
      try connection.send(event: "a", data: String(repeating: "y", count: 45))
      try connection.send(event: "a", data: String(repeating: "z", count: 70))
    }
    let result = try PusherCLI.subscribe(
      to: server, "news", "-n", "2", "-o", "pretty", environment: environment
    ).result()
    let lines = Self.lines(result.outputText)
    #expect(lines[0] == first ?? "TIME  news  a  " + String(repeating: "y", count: 45))
    #expect(lines.contains("TIME  news  a"))
    #expect(!result.output.contains(0x1B))
  }

  // MARK: Sentences and gaps

  @Test func `members who come and go are told with how many are there`() throws {
    let server = try ScriptedServer.joined { connection in
      for (event, data) in [
        ("member_added", #"{"user_id":"8","user_info":{"name":"maria"}}"#),
        ("member_removed", #"{"user_id":"8"}"#),
        ("subscription_count", #"{"subscription_count":3}"#),
      ] {
        try connection.send(
          event: "pusher_internal:" + event, channel: "presence-lobby", data: data)
      }
      try connection.send(
        text: #"{"event":"client-x","channel":"presence-lobby","user_id":"7","data":"hi"}"#)
    }
    let result = try PusherCLI.subscribe(
      to: server, "presence-lobby", "--user-id", "7", "-n", "4", "-o", "pretty",
      environment: ["PUSHER_APP_SECRET": "s"]
    ).result()
    let told = [
      "maria (8) joined (2 members)", "maria (8) left (1 member)", "3 subscriptions",
      "client-x  from 7  hi",
    ]
    #expect(Self.lines(result.outputText) == told.map { "TIME  presence-lobby  " + $0 })
  }

  @Test(arguments: [
    (["LANG": "de_DE.UTF-8"], "──── "), ([:], "---- "),
    (["LC_ALL": "C", "LANG": "a.UTF-8"], "---- "),
  ])
  func `a gap is a rule across the page, also without -L`(
    environment: [String: String], beginning: String
  ) throws {
    let server = try ScriptedServer { connection in
      try connection.join()
      try connection.send(event: "tick", data: "\(connection.number)")
      if connection.number == 1 { return connection.drop() }
      try connection.stay()
    }
    let result = try PusherCLI.subscribe(
      to: server, "news", "-n", "2", "-o", "pretty", "--retry-max-delay", "100ms",
      environment: environment
    ).result()
    let lines = Self.lines(result.outputText)
    try #require(lines.count == 3, "\(lines)")
    #expect(lines[0] == "TIME  news  tick  1" && lines[2] == "TIME  news  tick  2")
    #expect(lines[1].hasPrefix(beginning) && lines[1].count == 80)
    #expect(lines[1].contains("s without a connection: events sent meanwhile are lost "))
  }

  // MARK: Colour

  /// `EnvironmentTests` has every combination of options and variables.
  private static let matrix: [(environment: [String: String], options: [String], Bool, Bool)] = [
    ([:], [], true, false), (["NO_COLOR": "1"], [], false, false),
    (["FORCE_COLOR": "1"], [], true, true), (["TERM": "dumb"], [], false, false),
    (["NO_COLOR": "1"], ["--color", "always"], true, true),
    (["FORCE_COLOR": "1"], ["--color", "never"], false, false),
  ]

  @Test(arguments: matrix)
  func `events and errors are coloured where people read, unless told otherwise`(
    environment: [String: String], options: [String], onTerminal: Bool, inPipe: Bool
  ) throws {
    let server = try ScriptedServer { connection in
      try connection.join()
      try connection.send(event: "tick", data: "1")
      connection.drop()
    }
    let arguments =
      ["subscribe", "-o", "pretty", "news", "--reconnect", "never"] + server.address + options
    let terminal = try PseudoTerminal()
    let program = try PusherCLI.start(arguments + ["-q"], on: terminal, environment: environment)
    #expect(try program.wait() == .exited(4))
    let event = "\u{1B}[1mtick\u{1B}[0m  1"
    let word = "pusher-cli: \u{1B}[1;31merror:\u{1B}[0m "
    #expect(terminal.text.contains(event) == onTerminal, "\(terminal.text)")
    #expect(terminal.text.contains(word) == onTerminal, "\(terminal.text)")
    #expect(terminal.text.contains("\u{1B}") == onTerminal)
    #expect(terminal.text.contains("tick") && terminal.text.contains("error:"))

    let result = try PusherCLI.run(arguments, environment: environment)
    #expect(result.outputText.contains(event) == inPipe, "\(result.outputText)")
    #expect(result.errorText.contains(word) == inPipe, "\(result.errorText)")
    #expect((result.outputText + result.errorText).contains("\u{1B}") == inPipe)
  }

  @Test func `mistakes of the command line are coloured too, and warnings yellow`() throws {
    let forced = ["FORCE_COLOR": "1"]
    #expect(
      try PusherCLI.run("trigger", "-c", "a", "-e", "b", "1", environment: forced).errorText
        .hasPrefix("pusher-cli: \u{1B}[1;31merror:\u{1B}[0m no app key"))
    for plain in [["--color", "never"], ["--color=never"]] {
      let result = try PusherCLI.run(
        ["trigger", "-c", "a", "-e", "b", "1"] + plain, environment: forced)
      #expect(result.errorText.hasPrefix("pusher-cli: error: no app key"))
    }
    let warned = try PusherCLI.run(
      "auth", "--local", "--socket-id", "1.2", "private-" + String(repeating: "a", count: 190),
      "--color", "always")
    #expect(
      warned.errorText.hasPrefix("pusher-cli: \u{1B}[33mwarning:\u{1B}[0m "), "\(warned.errorText)")
  }

  @Test func `the journal gets no colours`() throws {
    let file = TemporaryFolder.shared.file("journal")
    let script = #"""
      exec 2>"$1"; JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2); export JOURNAL_STREAM
      exec "$0" subscribe --color always news
      """#
    _ = try PusherCLI.tool(["sh", "-c", script, PusherCLI.path, file])
    let text = try SystemFile.text(file)
    #expect(text.hasPrefix("<3>pusher-cli: error: no app key"), "\(text)")
  }
}
