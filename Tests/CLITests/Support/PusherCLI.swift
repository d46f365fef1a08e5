import Foundation
import PusherCore

enum PusherCLI {
  /// `PUSHER_CLI_BINARY`, or the program beside the tests.
  static let path: String = {
    if let path = ProcessInfo.processInfo.environment["PUSHER_CLI_BINARY"] { return path }
    let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
    let folder = URL(filePath: tests ?? CommandLine.arguments[0]).deletingLastPathComponent()
    return folder.appending(path: "pusher-cli").path
  }()

  /// ``path`` as one word of a shell's line.
  static let word = "'\(path)'"

  /// Environment of every child: path, a home of this run without settings, and sanitizer options.
  static let environment: [String: String] = {
    let own = ProcessInfo.processInfo.environment
    let sanitizer = own.filter {
      ["ASAN_OPTIONS", "TSAN_OPTIONS", "SWIFT_BACKTRACE"].contains($0.key)
    }
    return [
      "PATH": own["PATH"] ?? "/usr/bin:/bin", "HOME": TemporaryFolder.shared.path,
      "TMPDIR": NSTemporaryDirectory(),
    ].merging(sanitizer) { $1 }
  }()

  /// ``environment`` with the program in the path, for lines that people paste into a shell.
  static let shellEnvironment: [String: String] = {
    let folder = URL(filePath: path).deletingLastPathComponent().path
    return environment.merging(["PATH": "\(folder):\(environment["PATH"] ?? "")"]) { $1 }
  }()

  /// Options for every `serve` that has none of them, such as `--redis URL`, so that all its tests
  /// run with them too.
  static let serving = (ProcessInfo.processInfo.environment["PUSHER_CLI_TEST_SERVE"] ?? "")
    .split(separator: " ").map(String.init)

  /// True if servers share Redis, and so do not know an event's total number of recipients.
  static let sharesChannels = serving.contains("--redis")

  private static let servers = Locked(0)

  /// Returns the arguments with the options of every `serve`.
  static func served(_ arguments: [String]) -> [String] {
    let isPlain = arguments.first == "serve" && !serving.contains { arguments.contains($0) }
    guard isPlain else { return arguments }
    // Servers of different tests share nothing: each gets its own database number.
    let number = servers.withLock { count in
      count += 1
      return count
    }
    let own = serving.map { $0.replacingOccurrences(of: "{n}", with: "\(number)") }
    let command = arguments.drop { $0 != "--" }
    return arguments.dropLast(command.count) + own + command
  }

  static func start(
    _ arguments: [String], environment: [String: String] = [:],
    input: ChildProgram.Input = .nothing, output: ChildProgram.Output = .pipe
  ) throws -> ChildProgram {
    try ChildProgram(
      path, served(arguments), environment: self.environment.merging(environment) { $1 },
      input: input, output: output)
  }

  static func subscribe(
    to server: ScriptedServer, _ arguments: String..., environment: [String: String] = [:],
    input: ChildProgram.Input = .nothing, output: ChildProgram.Output = .pipe
  ) throws -> ChildProgram {
    try start(
      ["subscribe"] + server.address + arguments, environment: environment, input: input,
      output: output)
  }

  static func run(
    _ arguments: [String], environment: [String: String] = [:],
    input: ChildProgram.Input = .nothing, output: ChildProgram.Output = .pipe
  ) throws -> ProgramResult {
    try start(arguments, environment: environment, input: input, output: output).result()
  }

  static func run(
    _ arguments: String..., environment: [String: String] = [:],
    within limit: Duration = patience
  ) throws -> ProgramResult {
    try start(arguments, environment: environment).result(within: limit)
  }

  static func tool(
    _ arguments: [String], input: [UInt8] = [], within limit: Duration = patience
  ) throws -> ProgramResult {
    let file = TemporaryFolder.shared.file("input")
    try Data(input).write(to: URL(filePath: file))
    defer { try? FileManager.default.removeItem(atPath: file) }
    return try ChildProgram(
      arguments[0], Array(arguments.dropFirst()), environment: environment, input: .file(file)
    ).result(within: limit)
  }
}
