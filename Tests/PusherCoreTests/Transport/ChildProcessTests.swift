import Foundation
import TestSupport
import Testing

@testable import PusherCore

@Suite(.ownThread) struct ChildProcessTests {
  private func run(
    _ line: String, _ environment: [(name: String, value: String)] = [], input: [UInt8] = [],
    outputLimit: Int = 65_536, timeout: Duration? = .seconds(10)
  ) throws -> ChildProcess.Outcome? {
    let command = ChildProcess.Command(
      line: line, environment: environment, input: input, outputLimit: outputLimit,
      timeout: timeout)
    let harness = try LoopHarness()
    var outcome: ChildProcess.Outcome?
    let process = try ChildProcess(loop: harness.loop, command: command, at: harness.loop.now) {
      result, _ in
      outcome = result
      harness.loop.stop()
    }
    #expect(harness.run())
    withExtendedLifetime(process) {}
    return outcome
  }

  private func text(_ outcome: ChildProcess.Outcome?) throws -> String {
    String(decoding: try outcome?.get().bytes ?? [], as: UTF8.self)
  }

  @Test func `input goes in, output and exit status come out`() throws {
    let hello = [UInt8]("hello".utf8)
    #expect(
      try run("cat; exit 3", input: hello)
        == .success(ChildProcess.Output(bytes: hello, status: 3)))
  }

  private static let large = [UInt8](repeating: 0x61, count: 300_000)

  @Test func `more input than a pipe holds arrives`() throws {
    #expect(try run("cat", input: Self.large, outputLimit: 300_000)?.get().bytes == Self.large)
  }

  @Test(arguments: [
    // The input may be left unread.
    ("exec <&-; echo done", large, "done\n"),
    // Variables are added and replaced.
    (#"printf '%s|%s|%s' "$A" "$HOME" "${PATH:+kept}""#, [], "1=2|/elsewhere|kept"),
    // A closed pipe ends a command as it would in a shell.
    ("yes | head -n 1; echo after", [], "y\nafter\n"),
    // Another process that holds the output open does not delay the end.
    ("sleep 3 & echo done", [], "done\n"),
  ])
  func `a child's output is the command's`(line: String, input: [UInt8], output: String) throws {
    let variables = [("A", "1=2"), ("HOME", "/elsewhere")]
    #expect(try text(run(line, variables, input: input)) == output)
  }

  @Test func `without input there is an empty one`() throws {
    #expect(try text(run("wc -c")).contains("0"))
  }

  @Test func `a signal's number is told as shells do`() throws {
    #expect(try run("kill -KILL $$")?.get().status == 137)
  }

  @Test(
    arguments: [
      ("sleep 60 | cat", .timeout(.milliseconds(50))),
      ("trap '' TERM; while :; do sleep 0.1; done", .timeout(.milliseconds(50))),
      ("yes", .outputLimit(1000)),
    ] as [(String, ChildProcess.Failure)])
  func `a command that takes too long or writes too much is ended with its pipeline, or killed`(
    line: String, failure: ChildProcess.Failure
  ) throws {
    let timeout = line == "yes" ? Duration.seconds(10) : .milliseconds(50)
    #expect(try run(line, outputLimit: 1000, timeout: timeout) == .failure(failure))
  }

  #if os(Linux)
    @Test func `no socket that another thread has just made gets into a child`() throws {
      let isOver = Locked(false)
      // No other listener uses this address.
      Thread.detachNewThread {
        guard let loop = try? EventLoop() else { return }
        while !isOver.withLock({ $0 }) {
          try? Listener(loop: loop, host: "127.0.0.77", port: 0, onAccept: { _, _, _ in }).close()
        }
      }
      defer { isOver.withLock { $0 = true } }
      let listing = #"""
        for inode in $(ls -l /proc/self/fd | sed -n 's/.*socket:\[\(.*\)\]/\1/p'); do
          awk -v inode="$inode" '$10 == inode { print $2 }' /proc/net/tcp
        done
        """#
      for _ in 0..<60 { #expect(try !text(run(listing)).contains("4D00007F:")) }
    }

    @Test(arguments: [
      ("7 (sleep) S 1 7 7 0", ProcessStatus(group: 7, hasEnded: false)),
      ("8 (a ) Z 1 (b)) Z 1 7 7 0", ProcessStatus(group: 7, hasEnded: true)),
      ("9 (x) X 1 -1 0", ProcessStatus(group: -1, hasEnded: true)),
      ("", nil), ("8 (a", nil), ("8 (a) Z 1", nil), ("8 (a) Z 1 99999999999999", nil),
    ])
    func `state and group of a process stand after its name`(text: String, status: ProcessStatus?) {
      #expect(ProcessStatus(Array(text.utf8)[...]) == status)
    }

    @Test func `a group in which only zombies are left runs no more`() throws {
      // The zombie's parent has left the group and never collects it.
      let line = "(sleep 0.01 & echo $!; exec setsid sleep 600) & echo $!; exec sleep 600"
      let pipe = try SystemCalls.makePipe()
      let nothing = try SystemCalls.openNothing()
      let leader = try SystemCalls.spawnShell(
        line, extra: [], input: nothing, output: pipe.writeEnd)
      for descriptor in [nothing, pipe.writeEnd] { SystemCalls.closeDescriptor(descriptor) }
      let file = FileHandle(fileDescriptor: pipe.readEnd, closeOnDealloc: true)
      var text = ""
      while text.count(where: { $0 == "\n" }) < 2 {
        text += String(decoding: file.availableData, as: UTF8.self)
      }
      let ids = text.split(separator: "\n").compactMap { Int32($0) }
      defer { for id in ids { kill(id, SIGKILL) } }
      func statuses() -> [ProcessStatus] { ids.compactMap { ProcessStatus(process: $0) } }
      while !statuses().contains(where: { $0.hasEnded && $0.group == leader })
        || !statuses().contains(where: { !$0.hasEnded && $0.group != leader })
      {
        usleep(2000)
      }
      #expect(SystemCalls.isGroupAlive(leader))
      kill(leader, SIGKILL)
      while SystemCalls.collect(leader) == nil { usleep(2000) }
      #expect(kill(-leader, 0) == 0)
      #expect(!SystemCalls.isGroupAlive(leader))
    }
  #endif
}
