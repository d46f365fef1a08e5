import Foundation
import PusherCore
import Testing

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
      let listening: [(command: String, arguments: [String])] = [
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
    answer("an SSH server", Array("SSH-2.0-OpenSSH_9.2p1\r\n".utf8)),
    answer("an HTTP/2 server", [0, 0, 0, 4, 0, 0, 0, 0, 0]),
    answer("another protocol", Array("220 mail.example.test ESMTP\r\n".utf8)),
    answer(
      "a head of more than 64 KiB",
      Array("HTTP/1.1 200 OK\r\nX: \(String(repeating: "a", count: 66_000))".utf8)),
  ]

  private static let securing: [BrokenSetup] = [
    // A fatal alert: the answer of TLS servers to bytes that are not a ClientHello.
    answer("`--scheme http` to a port of TLS", [21, 3, 1, 0, 2, 2, 70], stalls: false),
    secure("`--scheme https` to a port of plain HTTP") { matrix in
      let server = try ScriptedServer { connection in
        try connection.receive(into: connection.input)
        try connection.answer(400, "Bad Request")
      }
      return (server, ["--cacert", matrix.authority])
    },
    secure("the connection is closed inside the TLS handshake") { matrix in
      (try ScriptedServer { try $0.receive(into: $0.input) }, ["--cacert", matrix.authority])
    },
    secure("the certificate is another host's") { matrix in
      let server = try ScriptedServer(certificate: matrix.server("wrong-host")) {
        _ = try $0.request()
      }
      return (server, ["--cacert", matrix.authority])
    },
    secure("the certificate's authority is not trusted") { matrix in
      let server = try ScriptedServer(certificate: matrix.server("unknown-root")) {
        _ = try $0.request()
      }
      return (server, ["--cacert", matrix.authority])
    },
    secure("the file of `--cacert` is missing") { matrix in
      (try ScriptedServer { try $0.stall() }, ["--cacert", matrix.file("none.pem")])
    },
  ]

  private static let settings: [BrokenSetup] = [
    here("the file of `--secret-file` is missing") {
      let secret = ["--secret-file", "/nonexistent", "--key", "k"]
      return [
        ("subscribe", ["subscribe", "private-a"] + secret),
        ("trigger", ["trigger", "--app-id", "1", "-c", "a", "-e", "e", "{}"] + secret),
        ("channels", ["channels", "--app-id", "1"] + secret),
        ("users", ["users", "--app-id", "1", "presence-a"] + secret),
        ("terminate", ["terminate", "--app-id", "1", "7"] + secret),
        ("serve", ["serve"] + secret),
        ("auth", ["auth", "private-a", "--socket-id", "1.2"] + secret),
        ("sign", ["sign", "channel", "private-a", "--socket-id", "1.2"] + secret),
        (
          "verify",
          ["verify", "channel", "private-a", "--signature", "00", "--socket-id", "1.2"] + secret
        ),
        ("webhook listen", ["webhook", "listen"] + secret),
      ]
    },
    here("an unknown option") {
      [
        "subscribe", "sse", "trigger", "channels", "users", "terminate", "serve", "auth", "sign",
        "verify", "webhook listen",
      ].map { ($0, $0.split(separator: " ").map(String.init) + ["--nonsense"]) }
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
        _ = try connection.subscription()
        try connection.send(
          text: #"{"event":"pusher:error","data":{"code":4009,"message":"Invalid signature"}}"#)
        try connection.stay()
      }
      let commands = clients(server.address, "").filter { $0.command != "sse" }.map {
        $0.command == "subscribe" ? ($0.command, $0.arguments + ["private-a"]) : $0
      }
      let verify = ["verify", "channel", "private-a", "--signature", "00"]
      return try results(
        commands + [("verify", verify + ["--socket-id", "1.2", "--key", "k"])])
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

  /// Returns the commands that print events, with arguments for a server.
  private static func listeners(
    _ server: ScriptedServer, _ options: [String]
  ) -> [(command: String, arguments: [String])] {
    clients(server.address, "http://127.0.0.1:\(server.port)/", options)
      .filter { ["subscribe", "sse"].contains($0.command) }
  }
}
