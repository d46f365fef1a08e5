import Foundation
import PusherCore
import Testing

@Suite("--exec: a command for each event", .runsPrograms)
struct ExecTests {
  @Test func `data reaches standard input byte for byte, and no word of it the shell`() throws {
    let trap = TemporaryFolder.shared.file("trap")
    let texts = [
      "it's \"quoted\" \\ and `touch \(trap)`", "$(touch \(trap))", "; touch \(trap) #",
      "two\nlines\r\tand a tab", "\u{1F469}\u{200D}\u{1F680} e\u{301} \u{202E}",
      #"{"a":[1.10,1e400]}"#, "",
      "-n", "%s%n",
    ]
    let server = try ScriptedServer.joined { connection in
      for text in texts { try connection.send(event: "$(touch \(trap))", data: text) }
    }
    let count = "\(texts.count)"
    let printed = try server.subscribed("news", "-n", count)
    let handed = try server.subscribed("news", "-n", count, "--exec", "cat")
    #expect(printed.outputLines.count == texts.count)
    #expect(handed.output == printed.output)
    handed.expect(says: "")
    #expect(!FileManager.default.fileExists(atPath: trap))
  }

  @Test func `names and numbers are in the environment, the line is JSON in any format`() throws {
    let server = try ScriptedServer.joined { connection in
      try connection.send(
        text: #"{"event":"a \"b\"","channel":"news","user_id":"7","data":"{\"x\":1}"}"#)
      try connection.send(text: #"{"event":"a\u0000b","channel":"news","data":"1"}"#)
    }
    let result = try server.subscribed(
      "news", "-n", "2", "-o", "pretty", "--exec",
      #"echo "$PUSHER_CLI_SEQ|$PUSHER_CLI_EVENT|$PUSHER_CLI_CHANNEL|$PUSHER_CLI_USER_ID|"#
        + #"$PUSHER_CLI_ID|${PUSHER_CLI_RECEIVED_AT%%-*}|${#PUSHER_CLI_RECEIVED_AT}"; cat"#,
      environment: ["PUSHER_CLI_EVENT": "of another run"])
    let lines = result.outputLines
    try #require(lines.count == 4, "\(lines)")
    let year = Calendar(identifier: .gregorian).component(.year, from: Date())
    #expect(lines[0] == "1|a \"b\"|news|7||\(year)|24")
    #expect(lines[1] == #"{"event":"a \"b\"","channel":"news","user_id":"7","data":{"x":1}}"#)
    #expect(lines[2] == "2||news|||\(year)|24")
    #expect(lines[3] == #"{"event":"a\u0000b","channel":"news","data":1}"#)
  }

  @Test func `a variable that is no UTF-8 reaches the command byte for byte`() throws {
    let server = try Hooked.counting(1)
    let started = #"B=$(printf '\377='); export B; exec "$0" "$@""#
    let program = try ChildProgram(
      "/bin/sh",
      ["-c", started, PusherCLI.path, "subscribe"] + server.address
        + ["news", "-n", "1", "--exec", #"printf %s "$B" | od -An -tx1"#],
      environment: PusherCLI.environment)
    #expect(try program.result().outputLines == [" ff 3d"])
  }

  @Test func `commands run in order and one at a time`() throws {
    let server = try Hooked.counting(20)
    let lock = TemporaryFolder.shared.file("lock")
    try server.subscribed(
      "news", "-n", "20", "--exec",
      "mkdir \(lock) || echo two at once; sleep 0.01; cat; rmdir \(lock)"
    ).expect(prints: Hooked.lines(1...20), says: "")
  }

  @Test func `with several jobs a channel waits for itself alone`() throws {
    let server = try Hooked.server(
      ("e", "a", "1"), ("e", "a", "2"), ("e", "b", "3"), ("e", "b", "4"), ("e", "c", "5"))
    let go = TemporaryFolder.shared.file("go")
    let program = try PusherCLI.subscribe(
      to: server, "a", "b", "c", "-n", "5", "--exec-jobs", "4", "--exec",
      "[ $PUSHER_CLI_SEQ != 1 ] || \(Hooked.awaiting(go)); echo $PUSHER_CLI_CHANNEL$PUSHER_CLI_SEQ")
    let others = try program.lines(3)
    #expect(others.filter { $0 != "c5" } == ["b3", "b4"])
    try Hooked.create(go)
    #expect(try program.lines(2) == ["a1", "a2"])
    #expect(try program.wait() == .exited(0))
  }

  @Test func `--tee prints each event too, in its form and before its command`() throws {
    let server = try Hooked.counting(2)
    // The second event's lines may arrive while the first command is running.
    let lines = try server.subscribed(
      "news", "-n", "2", "--tee", "-F", "printed %d", "--exec", "cat; echo >&2"
    ).outputLines
    #expect(lines.first == "printed 1")
    #expect(lines.filter { $0.hasPrefix("printed") } == ["printed 1", "printed 2"])
    #expect(lines.filter { $0.hasPrefix("{") } == [Hooked.line(1), Hooked.line(2)])
  }

  @Test func `with --tee a command waits until all of its line was taken`() throws {
    // More than the pipe of a stopped reader holds.
    let server = try Hooked.server(("e", "news", String(repeating: "x", count: 2_000_000)))
    let file = TemporaryFolder.shared.file("ran")
    let program = try PusherCLI.subscribe(
      to: server, "news", "-L", "--tee", "--exec", "echo >\(file)")
    _ = try program.lines(2)
    try waitUntil("the event has come") {
      program.send(SIGUSR1)
      return try program.errorLine(containing: "bytes queued", readsOutput: false)
        .contains("1 events")
    }
    try program.goRound(20)
    #expect(!FileManager.default.fileExists(atPath: file))
    _ = try program.line()
    try waitUntil("the command has run") { FileManager.default.fileExists(atPath: file) }
  }

  @Test func `an event of 1 MiB comes whole, and a command need not read it`() throws {
    let text = String(repeating: "0123456789abcdef", count: 65_536)
    let server = try Hooked.server(("e", "news", text), ("e", "news", text))
    let counted = try server.subscribed("news", "-n", "2", "--exec", "wc -c")
    let size = #"{"event":"e","channel":"news","data":""}"#.utf8.count + 1 + text.utf8.count
    #expect(counted.outputText.split { " \n".contains($0) } == ["\(size)", "\(size)"])
    try server.subscribed(
      "news", "-n", "2", "--exec", "exec <&-; echo closed", "--exec-fail", "stop"
    ).expect(prints: "closed\nclosed\n", says: "")
  }

  @Test func `a process that a command leaves behind holds up nothing`() throws {
    let server = try Hooked.counting(2)
    let over = TemporaryFolder.shared.file("over")
    let result = try server.subscribed(
      "news", "-n", "2", "--exec",
      "(\(Hooked.awaiting(over))) >/dev/null 2>&1 & echo left $PUSHER_CLI_SEQ")
    try Hooked.create(over)
    result.expect(prints: "left 1\nleft 2\n")
  }

  @Test func `sse hands over its events with their ids, each name in order`() throws {
    let server = try ScriptedServer.streaming(
      "id: a\ndata: 1\n\nid: b\nevent: other\ndata: {\"x\": 2}\n\n")
    let result = try PusherCLI.sse(
      server, "-n", "2", "--exec-jobs", "2", "--exec",
      "[ $PUSHER_CLI_ID = a ] || sleep 0.1; echo $PUSHER_CLI_EVENT $PUSHER_CLI_ID; cat"
    ).result()
    let lines = result.outputLines
    #expect(lines.contains("message a") && lines.contains("other b"))
    #expect(lines.contains(#"{"event":"message","id":"a","data":1}"#))
    #expect(lines.contains(#"{"event":"other","id":"b","data":{"x":2}}"#))
  }
}

@Suite("--exec: commands that fail or hang", .runsPrograms)
struct ExecFailureTests {
  @Test func `a failure is told, and the run goes on`() throws {
    let server = try Hooked.counting(3)
    try server.subscribed(
      "news", "-n", "3", "--exec", "[ $PUSHER_CLI_SEQ != 2 ] || exit 3; cat"
    ).expect(
      prints: "\(Hooked.line(1))\n\(Hooked.line(3))\n",
      says: "pusher-cli: warning: --exec: the command ended with status 3 (event e on news)\n")
  }

  @Test func `with stop a failure ends the run with 7, and nothing further starts`() throws {
    let server = try Hooked.counting(5)
    let result = try server.subscribed(
      "news", "-n", "5", "-L", "--exec-fail", "stop", "--exec",
      "[ $PUSHER_CLI_SEQ != 2 ] || kill -9 $$; cat")
    // No other message reports the lost events.
    result.expect(
      7, telling: "error: --exec: the command ended with status 137 (event e",
      "3 events were not handed to --exec")
    #expect(result.outputText.contains(Hooked.line(1)))
    #expect(!result.outputText.contains(Hooked.line(3)))
    #expect(result.outputText.hasSuffix(#""data":{"status":7,"reason":"exec","events":5}}"# + "\n"))
  }

  @Test(arguments: [SIGTERM, SIGINT, SIGHUP])
  func `a signal is passed on, and what waits is counted`(signal: Int32) throws {
    let server = try Hooked.counting(3)
    let name = [SIGTERM: "TERM", SIGINT: "INT", SIGHUP: "HUP"][signal] ?? ""
    let program = try PusherCLI.subscribe(
      to: server, "news", "--exec",
      "trap 'echo got \(name); exit' \(name); echo begun; while :; do sleep 0.05; done")
    #expect(try program.line() == "begun")
    // All three events have arrived.
    try program.awaitEvents(3)
    let result = try program.result(of: signal)
    #expect(result.outputText == "got \(name)\n")
    #expect(result.errorText.contains("2 events were not handed to --exec"))
    #expect(result.errorText.contains("--exec: 1 command was stopped before completion"))
  }

  @Test(arguments: [
    "trap '' TERM; echo $$; while :; do sleep 0.05; done",
    // A part of a pipeline that outlives the shell
    "(trap '' TERM; sh -c 'echo $PPID'; while :; do sleep 0.05; done) | cat",
  ])
  func `a command that ignores the signal is killed`(command: String) throws {
    let server = try Hooked.counting(1)
    let program = try PusherCLI.subscribe(to: server, "news", "-L", "--exec", command)
    let id = try #require(pid_t(try program.lines(3)[2]))
    let result = try program.result(of: SIGTERM)
    #expect(result.outputText.contains(#""status":143,"reason":"SIGTERM""#))
    try waitUntil("it is gone") { Hooked.isGone(id) }
  }

  @Test func `a slow command leaves the socket unread, and that is said once`() throws {
    let count = 16_000
    let stood = Gate()
    let server = try ScriptedServer.joined { connection in
      for _ in 0..<count { try connection.send(event: "flood", data: Flood.data) }
      stood.open()
    }
    let go = TemporaryFolder.shared.file("go")
    let program = try PusherCLI.subscribe(
      to: server, "news", "--buffer", "64k", "--exec", Hooked.awaiting(go))
    try program.errorLine(containing: "the command of --exec is slow: 64 KiB of events wait")
    // Without a limit, a program would read everything in this many rounds.
    let queued = try program.goRound(count / 256)
    #expect(queued < 128 << 10, "\(queued) bytes")
    // The server could not send everything, because reading is paused.
    #expect(!stood.isOpened(within: 0.01))
    let memory = try #require(program.peakMemory)
    #expect(memory < 64 << 10, "\(memory) KiB")
    try Hooked.create(go)
    // There is room again, so the program continues.
    try waitUntil("more events came") {
      program.send(SIGUSR1)
      let answer = try program.errorLine(containing: "bytes queued", readsOutput: false)
      return answer.firstMatch(of: /(\d+) events/).flatMap { Int($0.1) } ?? 0 > 200
    }
    program.send(SIGTERM)
    #expect(!(try program.result().errorText.contains("is slow")))
  }

  @Test func `a command that cannot start for want of descriptors is tried again`() throws {
    let data = String(repeating: "x", count: 200_000)
    let server = try ScriptedServer.streaming { connection in
      for number in 1...40 { try connection.send(stream: "event: e\(number)\ndata: \(data)\n\n") }
    }
    let go = TemporaryFolder.shared.file("go")
    // Each command that does not read yet keeps a pipe open.
    let program = try ChildProgram(
      "/bin/sh",
      ["-c", #"ulimit -n 32; exec "$0" "$@""#, PusherCLI.path, "sse", server.url, "-n", "40"]
        + ["--exec-jobs", "40", "--exec", "\(Hooked.awaiting(go)); wc -c"],
      environment: PusherCLI.environment)
    try program.errorLine(containing: "--exec: cannot start the command now: ")
    try Hooked.create(go)
    let result = try program.result()
    result.expect(says: "")
    #expect(result.outputLines.count == 40)
  }

  @Test func `the state file holds the id of the last event whose command has ended`() throws {
    let server = try NumberedStream.server(last: 3)
    let state = TemporaryFolder.shared.file("state")
    let program = try PusherCLI.sse(
      server, "--state-file", state, "--exec",
      "echo begun $PUSHER_CLI_ID; [ $PUSHER_CLI_ID != 2 ] || sleep 600")
    #expect(try program.lines(2) == ["begun 1", "begun 2"])
    try StateText.await("1", in: state)
    try program.result(of: SIGTERM)
    #expect(StateText.id(state) == "1")
    // The event of the killed command comes again.
    let again = try PusherCLI.sse(
      server, "--state-file", state, "-n", "2", "--exec", "echo $PUSHER_CLI_ID")
    #expect(try again.result().outputText == "2\n3\n")
    #expect(StateText.id(state) == "3")
    try PusherCLI.sse(server, "--state-file", state, "--exec", "cat", "--exec-jobs", "2").result()
      .expect(2, telling: "--state-file keeps one position in the stream")
  }
}
