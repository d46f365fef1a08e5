import Foundation
import PusherCore

/// A running `pusher-cli serve` on a free port.
final class LocalServer {
  let port: String
  private let secret: String
  let program: ChildProgram
  private let isSecure: Bool

  static let key = "local-key"
  static let appID = "17"

  init(
    secret: String = "local-secret", options: [String] = [], certificate: ServerCertificate? = nil,
    port: String = "0", environment: [String: String] = [:]
  ) throws {
    self.secret = secret
    isSecure = certificate != nil
    let file = TemporaryFolder.shared.file("port")
    var arguments = ["serve", "--listen", "127.0.0.1:\(port)", "--port-file", file]
    if let certificate {
      arguments += ["--tls-cert", certificate.certificate, "--tls-key", certificate.key]
    }
    program = try PusherCLI.start(
      arguments + options, environment: Self.environment(secret).merging(environment) { $1 })
    self.port = String(try program.port(in: file))
  }

  static func environment(_ secret: String = "local-secret") -> [String: String] {
    ["PUSHER_APP_KEY": key, "PUSHER_APP_ID": appID, "PUSHER_APP_SECRET": secret]
  }

  var address: [String] {
    ["--host", "127.0.0.1", "--port", port, "--scheme", isSecure ? "https" : "http"]
  }

  /// Starts a subscriber that prints lifecycle lines, and waits until it has joined all channels.
  func subscribe(_ channels: [String], _ options: String..., joins: Bool = true) throws
    -> ChildProgram
  {
    let program = try PusherCLI.start(
      ["subscribe"] + address + channels + options, environment: Self.environment(secret))
    guard joins else { return program }
    // The greeting, then one line for each channel.
    for line in try program.lines(1 + channels.count) {
      guard line.contains("connection_established") || line.contains("subscription_succeeded")
      else { throw Unexpected(line) }
    }
    return program
  }

  func start(
    _ command: String, _ words: String..., input: ChildProgram.Input = .nothing
  ) throws -> ChildProgram {
    try start([command] + words, input: input)
  }

  /// Starts a command with this server's address and app.
  func start(
    _ words: [String], secret: String? = nil, input: ChildProgram.Input = .nothing
  ) throws -> ChildProgram {
    try PusherCLI.start(
      words + address, environment: Self.environment(secret ?? self.secret), input: input)
  }

  /// Runs a command with this server's address and app.
  func run(
    _ words: [String], secret: String? = nil, input: ChildProgram.Input = .nothing
  ) throws -> ProgramResult {
    try start(words, secret: secret, input: input).result()
  }

  func run(_ line: String, secret: String? = nil) throws -> ProgramResult {
    try run(line.split(separator: " ").map(String.init), secret: secret)
  }

  /// Triggers the events of JSON lines.
  func replay(_ lines: String, _ options: String...) throws -> ProgramResult {
    let file = try TemporaryFolder.shared.file("lines", holding: lines)
    return try run(["trigger", "-"] + options, input: .file(file))
  }

  /// Triggers an event and waits for the command.
  func trigger(
    _ channel: String, _ event: String, _ data: String, _ options: String..., secret: String? = nil
  ) throws -> ProgramResult {
    try PusherCLI.run(
      ["trigger"] + address + ["-c", channel, "-e", event, data] + options,
      environment: Self.environment(secret ?? self.secret))
  }

  /// Waits until a server that had lost the others is registered again and its API answers.
  func awaitAnswer() throws {
    try waitUntil("the API answers") {
      try trigger("probe", "probe", "{}").ending == .exited(0)
    }
  }

  @discardableResult func stop() throws -> ProgramResult {
    program.send(SIGTERM)
    return try program.result()
  }

  func signal(_ number: Int32) { program.send(number) }

  func kill() throws {
    program.send(SIGKILL)
    try program.wait()
  }

  var peakMemory: Int? { program.peakMemory }

  func errorLine(containing text: String) throws -> String {
    try program.errorLine(containing: text)
  }
}
