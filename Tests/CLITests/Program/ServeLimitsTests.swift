import Foundation
import PusherCore
import Testing

@Suite("serve: how many sockets there may be", .runsPrograms) struct ServeLimitsTests {
  @Test func `a socket beyond --max-connections is refused with 4004`() throws {
    let server = try LocalServer(options: ["--max-connections", "2"])
    let two = try (0..<2).map { _ in try server.subscribe(["news"], "-L") }
    let third = try server.subscribe(["news"], "--reconnect", "never", joins: false).result()
    #expect(third.errorText.contains("4004"), "\(third.errorText)")
    #expect(third.errorText.contains("the server has at most 2 connections"))
    try server.trigger("news", "e", "1").expect(0)
    for program in two { #expect(try program.line().contains(#""event":"e""#)) }
  }

  @Test func `a channel beyond --max-channels is refused, and told once with the flag`() throws {
    let server = try LocalServer(options: ["--max-channels", "2"])
    let two = try server.subscribe(["a", "b"], "-L")
    for channel in ["c", "d"] {
      let third = try server.subscribe([channel], "--reconnect", "never", joins: false)
      try third.errorLine(containing: "the app has at most 2 channels")
      third.send(SIGTERM)
      try third.wait()
    }
    #expect(try server.trigger("a", "e", "1").ending == .exited(0))
    #expect(try two.line().contains(#""event":"e""#))
    let warnings = try server.stop().errorText.split(separator: "\n").filter {
      $0.contains("--max-channels")
    }
    #expect(
      warnings == [
        "pusher-cli: warning: app 17 has its maximum of 2 channels: refused a subscription to "
          + "another (further refusals are not logged); --max-channels changes the limit"
      ])
  }

  @Test func `sockets of one address cannot take all channels, and the flags are named`() throws {
    let server = try LocalServer(options: [
      "--max-channels", "9", "--max-address-channels", "3", "--max-socket-channels", "2",
    ])
    let first = try server.subscribe(["a", "b"], "-L")
    let third = try server.subscribe(["c", "d"], "-L", joins: false)
    _ = try third.errorLine(containing: "the connections of your address occupy at most 3 channels")
    let fourth = try server.subscribe(["a", "b", "c"], "-L", joins: false)
    _ = try fourth.errorLine(containing: "a connection has at most 2 subscriptions")
    for program in [first, third, fourth] {
      program.send(SIGTERM)
      try program.wait()
    }
    let said = try server.stop().errorText
    for flag in ["--max-address-channels", "--max-socket-channels"] {
      #expect(
        said.contains("(further refusals are not logged); \(flag) changes the limit"), "\(said)")
    }
  }

  #if os(Linux)
    private func server(_ limits: String, _ options: String...) throws -> ChildProgram {
      let file = TemporaryFolder.shared.file("port")
      let program = try PusherCLI.shell(
        limits + #"; exec "$0" "$@""#,
        ["serve", "--listen", "127.0.0.1:0", "--port-file", file] + options)
      _ = try program.port(in: file)
      return program
    }

    /// Returns the soft and the hard limit of open files.
    private func openFiles(_ program: ChildProgram) throws -> [Int] {
      let limits = try SystemFile.text("/proc/\(program.id)/limits").split(separator: "\n")
      let line = try #require(limits.first { $0.hasPrefix("Max open files") })
      return line.split(separator: " ").compactMap { Int($0) }
    }

    @Test func `the limit of open files is raised as far as it must be`() throws {
      let program = try server("ulimit -Sn 100; ulimit -Hn 2000", "--max-connections", "300")
      #expect(try openFiles(program) == [812, 2000])
    }

    @Test func `where the system allows too few for what was asked, a warning says so`() throws {
      let program = try server("ulimit -n 600", "--max-connections", "1000")
      #expect(
        try program.errorLine(containing: "--max-connections")
          == "pusher-cli: warning: --max-connections 1000: the system allows 600 open files; "
          + "raise the limit with ulimit -n, or with LimitNOFILE of systemd")
      #expect(try openFiles(program) == [600, 600])
    }

    @Test func `nothing is said where nothing was asked`() throws {
      let program = try server("ulimit -n 600")
      program.send(SIGTERM)
      #expect(try !program.result().errorText.contains("open files"))
    }
  #endif
}
