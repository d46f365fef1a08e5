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
  let run: @Sendable () throws -> [Outcome]

  typealias Line = (command: String, arguments: [String])
  typealias Outcome = (command: String, result: ProgramResult)

  static let secret = ["PUSHER_APP_SECRET": "s"]

  static func clients(_ address: [String], _ url: String, _ options: [String] = []) -> [Line] {
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

  static func results(_ commands: [Line], output: ChildProgram.Output = .pipe) throws -> [Outcome] {
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
    _ name: String, authority: String = "root.pem",
    _ make: @escaping @Sendable (CertificateMatrix) throws -> ScriptedServer
  ) -> BrokenSetup {
    BrokenSetup(name: name) {
      let matrix = try #require(CertificateMatrix.shared)
      let server = try make(matrix)
      let address = [
        "--host", "localhost", "--port", "\(server.port)", "--scheme", "https", "--key", "test-key",
      ]
      return try results(
        clients(
          address, "https://localhost:\(server.port)/stream", ["--cacert", matrix.file(authority)]))
    }
  }

  static func here(
    _ name: String, says words: String? = nil, output: ChildProgram.Output = .pipe,
    _ commands: @escaping @Sendable () throws -> [Line]
  ) -> BrokenSetup {
    BrokenSetup(name: name, words: words) { try results(commands(), output: output) }
  }
}

/// The set-ups of the table in docs/connection-errors.md.
extension BrokenSetup {
  static let all: [BrokenSetup] =
    (network + answers + securing).map { setup in
      var setup = setup
      setup.isSilent = true
      return setup
    } + settings + ends

  private static let nobody = ["--host", "127.0.0.1", "--scheme", "http", "--key", "test-key"]

  private static let network: [BrokenSetup] = [
    here("nobody listens on the port", says: "connection refused") {
      let port = try Loopback.closedPort()
      return clients(nobody + ["--port", "\(port)"], "http://127.0.0.1:\(port)/")
    },
    // Names under .invalid do not exist (RFC 6761).
    here("the host's name does not exist", says: "nowhere.invalid") {
      clients(
        ["--host", "nowhere.invalid", "--scheme", "http", "--key", "k"], "http://nowhere.invalid/")
    },
    here("nobody listens on the proxy's port") {
      let port = try Loopback.closedPort()
      return clients(
        ["--host", "nowhere.invalid", "--key", "k"], "https://nowhere.invalid/",
        ["--proxy", "http://127.0.0.1:\(port)"])
    },
    BrokenSetup(name: "the proxy is a web server") {
      let server = try ScriptedServer.answering(404)
      let commands = clients(
        ["--host", "nowhere.invalid", "--key", "k"], "https://nowhere.invalid/",
        ["--proxy", "http://127.0.0.1:\(server.port)"])
      return try results(commands)
    },
    // `sse` waits for a stream without limit.
    server(
      "the server accepts the connection and says nothing", ["--connect-timeout", "300ms"],
      without: ["sse"]
    ) { try $0.stall() },
    server("the server closes the connection before it answers") { _ = try $0.question() },
    answer(
      "the server closes the connection inside its answer", Array("HTTP/1.1 200 O".utf8),
      stalls: false),
    BrokenSetup(name: "this machine has no descriptor left") {
      let listening: [Line] = [
        ("serve", ["serve", "--listen", "127.0.0.1:0"]),
        ("webhook listen", ["webhook", "listen", "--listen", "127.0.0.1:0", "--key", "k"]),
      ]
      return try (clients(nobody, "http://127.0.0.1/") + listening).map { command, arguments in
        let shell = ["-c", "ulimit -n 4; exec \"$0\" \"$@\"", PusherCLI.path] + arguments
        let program = try ChildProgram(
          "/bin/sh", shell, environment: PusherCLI.environment.merging(secret) { $1 })
        return (command, try program.result())
      }
    },
  ]

  private static let answers: [BrokenSetup] = [
    status(302, ("Location", "/again")), status(400), status(401), status(403), status(404),
    status(407), status(408), status(413), status(429), status(429, ("Retry-After", "30")),
    status(500), status(501), status(502), status(503), status(503, ("Retry-After", "30")),
    status(504),
    server("HTTP 200 and a web page") { connection in
      _ = try connection.question()
      try connection.answer(200, body: "<!DOCTYPE html><title>Welcome</title>")
    },
    answer("an SSH server", ForeignBytes.ssh),
    answer("an HTTP/2 server", [0, 0, 0, 4, 0, 0, 0, 0, 0]),
    answer("another protocol", Array("220 mail.example.test ESMTP\r\n".utf8)),
    answer(
      "a head of more than 64 KiB",
      Array("HTTP/1.1 200 OK\r\nX: \(String(repeating: "a", count: 66_000))".utf8)),
  ]

  private static let securing: [BrokenSetup] = [
    answer("`--scheme http` to a port of TLS", ForeignBytes.alert, stalls: false),
    secure("`--scheme https` to a port of plain HTTP") { _ in
      try ScriptedServer { connection in
        try connection.receive(into: connection.input)
        try connection.answer(400, "Bad Request")
      }
    },
    secure("the connection is closed inside the TLS handshake") { _ in
      try ScriptedServer { try $0.receive(into: $0.input) }
    },
    secure("the certificate is another host's") { matrix in
      try ScriptedServer(certificate: matrix.server("wrong-host")) { _ = try $0.request() }
    },
    secure("the certificate's authority is not trusted") { matrix in
      try ScriptedServer(certificate: matrix.server("unknown-root")) { _ = try $0.request() }
    },
    secure("the file of `--cacert` is missing", authority: "none.pem") { _ in
      try ScriptedServer { try $0.stall() }
    },
  ]

  private static let settings: [BrokenSetup] = [
    here("the file of `--secret-file` is missing") {
      [
        "subscribe private-a", "trigger --app-id 1 -c a -e e {}", "channels --app-id 1",
        "users --app-id 1 presence-a", "terminate --app-id 1 7", "serve",
        "auth private-a --socket-id 1.2", "sign channel private-a --socket-id 1.2",
        "verify channel private-a --signature 00 --socket-id 1.2", "webhook listen",
      ].map { line in
        let command = line.hasPrefix("webhook") ? line : words(line)[0]
        return (command, words(line) + ["--secret-file", "/nonexistent", "--key", "k"])
      }
    },
    here("an unknown option") {
      [
        "subscribe", "sse", "trigger", "channels", "users", "terminate", "serve", "auth", "sign",
        "verify", "webhook listen",
      ].map { ($0, words($0) + ["--nonsense"]) }
    },
    BrokenSetup(name: "the port to listen on is taken") {
      let server = try ScriptedServer { try $0.stall() }
      let place = ["--listen", "127.0.0.1:\(server.port)"]
      return try results([
        ("serve", ["serve"] + place),
        ("webhook listen", ["webhook", "listen", "--key", "k"] + place),
      ])
    },
    BrokenSetup(name: "the secret is another app's") {
      let server = try ScriptedServer { connection in
        let request = try connection.question().head
        guard request.headers["Upgrade"] != nil else { return try connection.answer(401) }
        try connection.welcome(request)
        try connection.refuseSubscription()
      }
      let commands = clients(server.address, "").filter { $0.command != "sse" }.map {
        $0.command == "subscribe" ? ($0.command, $0.arguments + ["private-a"]) : $0
      }
      let verify = ["verify", "channel", "private-a", "--signature", "00"]
      return try results(commands + [("verify", verify + ["--socket-id", "1.2", "--key", "k"])])
    },
  ]

  private static let ends: [BrokenSetup] = [
    here("standard output is closed", output: .closed) {
      [
        ("subscribe", ["subscribe"] + nobody + ["news"]), ("sse", ["sse", "http://127.0.0.1/"]),
        ("serve", ["serve", "--listen", "127.0.0.1:0", "--log-events"]),
        ("auth", ["auth", "private-a", "--socket-id", "1.2", "--key", "k"]),
        ("sign", ["sign", "channel", "private-a", "--socket-id", "1.2", "--key", "k"]),
        ("webhook listen", ["webhook", "listen", "--key", "k", "--listen", "127.0.0.1:0"]),
      ]
    },
    here("`--timeout` passes and there never was a connection") {
      let port = try Loopback.closedPort()
      let options = ["--reconnect", "always", "-W", "300ms"]
      return clients(nobody + ["--port", "\(port)"], "http://127.0.0.1:\(port)/", options)
        .filter { ["subscribe", "sse"].contains($0.command) }
    },
    BrokenSetup(name: "nobody listens where `--forward` leads") {
      let port = try Loopback.closedPort()
      let receiver = ["--forward", "http://127.0.0.1:\(port)/", "--forward-timeout", "1ms"]
      return try withExtendedLifetime(feeding("data: 1\n\n")) { server in
        try results(listeners(server, ["-n", "1"] + receiver))
      }
    },
    BrokenSetup(name: "`--timeout` passes before `--count` is reached") {
      let options = ["-n", "1", "-W", "500ms"]
      let listen = ["webhook", "listen", "--key", "k", "--listen", "127.0.0.1:0"] + options
      return try withExtendedLifetime(feeding()) { server in
        try results(listeners(server, options) + [("webhook listen", listen)])
      }
    },
  ]

  private static func words(_ line: String) -> [String] {
    line.split(separator: " ").map(String.init)
  }

  private static func feeding(_ event: String? = nil) throws -> ScriptedServer {
    try ScriptedServer { connection in
      let request = try connection.request()
      guard request.headers["Upgrade"] != nil else {
        try connection.send(
          stream: "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + (event ?? ""))
        try connection.remain()
      }
      try connection.welcome(request)
      try connection.acceptSubscription()
      if event != nil { try connection.send(event: "e", data: "1") }
      try connection.stay()
    }
  }

  private static func listeners(_ server: ScriptedServer, _ options: [String]) -> [Line] {
    clients(server.address, "http://127.0.0.1:\(server.port)/", options)
      .filter { ["subscribe", "sse"].contains($0.command) }
  }
}

enum ConnectionErrorTable {
  struct Row: Equatable, CustomStringConvertible {
    var message: String
    var status: String
    var isRetried: String

    var description: String { "`\(message)` | \(status) | \(isRetried)" }
  }

  static let lines: [String] = {
    let text = (try? Documentation.text("docs/connection-errors.md")) ?? ""
    return text.split(separator: "\n").map(String.init).filter { $0.hasPrefix("| ") }
  }()

  static let rows: [String: Row] = {
    var rows: [String: Row] = [:]
    for line in lines {
      let cells = line.dropFirst(2).dropLast(2).split(separator: " | ").map(String.init)
      guard cells.count == 4, cells[1].hasPrefix("`") else { continue }
      let message = String(cells[1].dropFirst().dropLast())
      rows[cells[0]] = Row(message: message, status: cells[2], isRetried: cells[3])
    }
    return rows
  }()

  /// Compares the end of a run, and of a second run with zero retries, with the case's row.
  static func check(
    _ name: String, _ result: ProgramResult, retrying: ProgramResult, port: UInt16,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let lines = result.errorLines.filter { !$0.contains("warning: --insecure") }
    #expect(result.output.isEmpty, sourceLocation: sourceLocation)
    #expect(lines.count == 1, "\(result.errorText)", sourceLocation: sourceLocation)
    var message = String(lines.first ?? "").replacing("pusher-cli: error: ", with: "")
    message = message.replacing(":\(port)", with: ":PORT")
    message = message.replacing(#/sha256/[A-Za-z0-9+/]{43}=/#, with: "sha256/HASH")
    message = message.replacing(#/\(\d+ bytes received\)/#, with: "(N bytes received)")
    var status = "\(result.ending)"
    if case .exited(let number) = result.ending { status = "\(number)" }
    let isRetried = retrying.errorText.contains("gave up after 0 attempts")
    let seen = Row(message: message, status: status, isRetried: isRetried ? "yes" : "no")
    #expect(
      rows[name] == seen, "docs/connection-errors.md: expected | \(name) | \(seen) |",
      sourceLocation: sourceLocation)
  }
}
