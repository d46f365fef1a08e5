import Foundation
import Testing

@testable import PusherCore

@Suite struct ChildProcessTests {
  private typealias Outcome = Result<ChildProcess.Output, ChildProcess.Failure>

  private func run(_ command: ChildProcess.Command) throws -> Outcome? {
    let harness = try LoopHarness()
    var outcome: Outcome?
    let process = try ChildProcess(loop: harness.loop, command: command, at: harness.loop.now) {
      result, _ in
      outcome = result
      harness.loop.stop()
    }
    #expect(harness.run())
    withExtendedLifetime(process) {}
    return outcome
  }

  private func text(_ outcome: Outcome?) throws -> String {
    String(decoding: try outcome?.get().bytes ?? [], as: UTF8.self)
  }

  @Test func `input goes in, output and exit status come out`() throws {
    let outcome = try run(
      ChildProcess.Command(line: "cat; exit 3", input: [UInt8]("hello".utf8)))
    #expect(outcome == .success(ChildProcess.Output(bytes: [UInt8]("hello".utf8), status: 3)))
  }

  @Test func `more input than a pipe holds arrives`() throws {
    let input = [UInt8](repeating: 0x61, count: 300_000)
    let outcome = try run(
      ChildProcess.Command(line: "cat", input: input, outputLimit: 300_000))
    #expect(try outcome?.get().bytes == input)
  }

  @Test func `a command may leave its input unread`() throws {
    let input = [UInt8](repeating: 0x61, count: 300_000)
    let outcome = try run(ChildProcess.Command(line: "exec <&-; echo done", input: input))
    #expect(try text(outcome) == "done\n")
  }

  @Test func `without input there is an empty one`() throws {
    #expect(try text(run(ChildProcess.Command(line: "wc -c"))).contains("0"))
  }

  @Test func `variables are added and replaced`() throws {
    let outcome = try run(
      ChildProcess.Command(
        line: #"printf '%s|%s|%s' "$A" "$HOME" "${PATH:+kept}""#,
        environment: [("A", "1=2"), ("HOME", "/elsewhere")]))
    #expect(try text(outcome) == "1=2|/elsewhere|kept")
  }

  @Test func `a signal's number is told as shells do`() throws {
    #expect(try run(ChildProcess.Command(line: "kill -KILL $$"))?.get().status == 137)
  }

  @Test func `a closed pipe ends a command as it would in a shell`() throws {
    let outcome = try run(ChildProcess.Command(line: "yes | head -n 1; echo after"))
    #expect(try text(outcome) == "y\nafter\n")
  }

  @Test func `a command that takes too long is ended with its whole pipeline`() throws {
    let command = ChildProcess.Command(line: "sleep 60 | cat", timeout: .milliseconds(50))
    #expect(try run(command) == .failure(.timeout(.milliseconds(50))))
  }

  @Test func `a command that does not heed the request to end is killed`() throws {
    let command = ChildProcess.Command(
      line: "trap '' TERM; while :; do sleep 0.1; done", timeout: .milliseconds(50))
    #expect(try run(command) == .failure(.timeout(.milliseconds(50))))
  }

  @Test func `a command that writes too much is ended`() throws {
    let command = ChildProcess.Command(line: "yes", outputLimit: 1000)
    #expect(try run(command) == .failure(.outputLimit(1000)))
  }

  @Test func `output that is held open by another process does not delay the end`() throws {
    let outcome = try run(ChildProcess.Command(line: "sleep 3 & echo done"))
    #expect(try text(outcome) == "done\n")
  }

  #if os(Linux)
    @Test func `no socket that another thread has just made gets into a child`() throws {
      let isOver = Locked(false)
      // No other listener uses this address.
      let threads = (0..<2).map { _ in
        Thread {
          guard let loop = try? EventLoop() else { return }
          while !isOver.withLock({ $0 }) {
            try? Listener(loop: loop, host: "127.0.0.77", port: 0, onAccept: { _, _, _ in }).close()
          }
        }
      }
      for thread in threads { thread.start() }
      defer { isOver.withLock { $0 = true } }
      let listing = #"""
        for inode in $(ls -l /proc/self/fd | sed -n 's/.*socket:\[\(.*\)\]/\1/p'); do
          awk -v inode="$inode" '$10 == inode { print $2 }' /proc/net/tcp
        done
        """#
      for _ in 0..<100 {
        let inherited = try text(run(ChildProcess.Command(line: listing)))
        #expect(!inherited.contains("4D00007F:"))
      }
    }

    @Test(arguments: [
      ("7 (sleep) S 1 7 7 0", ProcessStatus(group: 7, hasEnded: false)),
      ("8 (a ) Z 1 (b)) Z 1 7 7 0", ProcessStatus(group: 7, hasEnded: true)),
      ("9 (x) X 1 -1 0", ProcessStatus(group: -1, hasEnded: true)),
      ("", nil), ("8 (a", nil), ("8 (a) Z 1", nil), ("8 (a) Z 1 99999999999999", nil),
    ])
    func `state and group of a process stand after its name`(
      text: String, status: ProcessStatus?
    ) {
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
