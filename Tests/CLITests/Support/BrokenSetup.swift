import Foundation
import PusherCore
import Testing

struct BrokenSetup: Sendable {
  /// Name of its row in docs/connection-errors.md.
  let name: String
  /// Part of the error message of each command.
  var words: String?
  /// True if each command prints one line on standard error and nothing else.
  var isSilent = false
  /// Runs each command in the set-up and returns the results.
  let run: @Sendable () throws -> [(command: String, result: ProgramResult)]

  static let secret = ["PUSHER_APP_SECRET": "s"]

  static func clients(
    _ address: [String], _ url: String, _ options: [String] = []
  ) -> [(command: String, arguments: [String])] {
    let api = ["--app-id", "1"] + address + options
    return [
      ("subscribe", ["subscribe"] + address + options + ["news"]),
      ("sse", ["sse", url] + options),
      ("trigger", ["trigger"] + api + ["-c", "news", "-e", "e", "{}"]),
      ("channels", ["channels"] + api),
      ("users", ["users"] + api + ["presence-a"]),
      ("terminate", ["terminate"] + api + ["7"]),
    ]
  }

  static func results(
    _ commands: [(command: String, arguments: [String])], output: ChildProgram.Output = .pipe
  ) throws -> [(command: String, result: ProgramResult)] {
    try commands.map { command, arguments in
      (command, try PusherCLI.run(arguments, environment: secret, output: output))
    }
  }

  static func server(
    _ name: String, _ options: [String] = [], without left: Set<String> = [],
    _ script: @escaping ScriptedServer.Script
  ) -> BrokenSetup {
    BrokenSetup(name: name) {
      let server = try ScriptedServer(script)
      let commands = clients(server.address, "http://127.0.0.1:\(server.port)/stream", options)
      return try results(commands.filter { !left.contains($0.command) })
    }
  }

  static func status(_ status: Int, _ fields: (String, String)...) -> BrokenSetup {
    server("HTTP \(status)" + (fields.isEmpty ? "" : ", \(fields[0].0)")) { connection in
      _ = try connection.question()
      try connection.answer(status, "Reason", fields)
    }
  }

  static func answer(_ name: String, _ bytes: [UInt8], stalls: Bool = true) -> BrokenSetup {
    server(name) { connection in
      _ = try connection.question()
      try connection.send(bytes: bytes)
      if stalls { try connection.stall() }
    }
  }

  static func secure(
    _ name: String, _ options: [String] = [],
    _ make: @escaping @Sendable (CertificateMatrix) throws -> (ScriptedServer, [String])
  ) -> BrokenSetup {
    BrokenSetup(name: name) {
      let matrix = try #require(CertificateMatrix.shared)
      let (server, options) = try make(matrix)
      let address = [
        "--host", "localhost", "--port", "\(server.port)", "--scheme", "https", "--key", "test-key",
      ]
      return try results(clients(address, "https://localhost:\(server.port)/stream", options))
    }
  }

  static func here(
    _ name: String, says words: String? = nil, output: ChildProgram.Output = .pipe,
    _ commands: @escaping @Sendable () throws -> [(command: String, arguments: [String])]
  ) -> BrokenSetup {
    BrokenSetup(name: name, words: words) { try results(commands(), output: output) }
  }
}
