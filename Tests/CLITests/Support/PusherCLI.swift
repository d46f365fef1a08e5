import Foundation
import PusherCore

/// The built program, started as a user's shell starts it.
enum PusherCLI {
  /// `PUSHER_CLI_BINARY`, else the program beside the tests.
  static let path: String = {
    if let path = ProcessInfo.processInfo.environment["PUSHER_CLI_BINARY"] { return path }
    let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
    let folder = URL(filePath: tests ?? CommandLine.arguments[0]).deletingLastPathComponent()
    return folder.appending(path: "pusher-cli").path
  }()

  /// What every child has: where programs are, a home without settings, and what a sanitizer is told.
  static let environment: [String: String] = {
    let own = ProcessInfo.processInfo.environment
    let sanitizer = own.filter {
      ["ASAN_OPTIONS", "TSAN_OPTIONS", "SWIFT_BACKTRACE"].contains($0.key)
    }
    return [
      "PATH": own["PATH"] ?? "/usr/bin:/bin", "HOME": NSTemporaryDirectory(),
      "TMPDIR": NSTemporaryDirectory(),
    ].merging(sanitizer) { $1 }
  }()

  /// Options that every `serve` gets that has none of them, as `--redis URL`: so all its tests are run with them too.
  static let serving = (ProcessInfo.processInfo.environment["PUSHER_CLI_TEST_SERVE"] ?? "")
    .split(separator: " ").map(String.init)

  /// Whether servers meet in Redis, and so do not know how many others an event reaches.
  static let sharesChannels = serving.contains("--redis")

  private static let servers = Locked(0)

  /// The arguments with those that every `serve` gets.
  static func served(_ arguments: [String]) -> [String] {
    let isPlain = arguments.first == "serve" && !serving.contains { arguments.contains($0) }
    guard isPlain else { return arguments }
    // Servers of different tests share nothing: each gets a number of its own, as of a database.
    let number = servers.withLock { count in
      count += 1
      return count
    }
    return arguments + serving.map { $0.replacingOccurrences(of: "{n}", with: "\(number)") }
  }

  /// Starts the program with these arguments; `environment` is added to ``environment``.
  static func start(
    _ arguments: [String], environment: [String: String] = [:],
    input: ChildProgram.Input = .nothing, output: ChildProgram.Output = .pipe
  ) throws -> ChildProgram {
    try ChildProgram(
      path, served(arguments), environment: self.environment.merging(environment) { $1 },
      input: input,
      output: output)
  }

  /// Starts `subscribe` on a server's address.
  static func subscribe(
    to server: ScriptedServer, _ arguments: String..., environment: [String: String] = [:],
    input: ChildProgram.Input = .nothing, output: ChildProgram.Output = .pipe
  ) throws -> ChildProgram {
    try start(
      ["subscribe"] + server.address + arguments, environment: environment, input: input,
      output: output)
  }

  /// Runs the program to its end.
  static func run(
    _ arguments: String..., environment: [String: String] = [:],
    within limit: Duration = patience
  ) throws -> ProgramResult {
    try start(arguments, environment: environment).result(within: limit)
  }

  /// Runs a program of the system to its end, `input` on its standard input.
  static func tool(
    _ arguments: [String], input: [UInt8] = [], within limit: Duration = patience
  ) throws -> ProgramResult {
    let file = TemporaryFolder.shared.file("input")
    try Data(input).write(to: URL(filePath: file))
    defer { try? FileManager.default.removeItem(atPath: file) }
    return try ChildProgram(
      "/usr/bin/env", arguments, environment: environment, input: .file(file)
    ).result(within: limit)
  }
}
