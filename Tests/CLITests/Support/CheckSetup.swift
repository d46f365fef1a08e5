import Foundation
import PusherCore
import Testing

struct CheckSetup: Sendable, CustomTestStringConvertible {
  var name: String
  var stage: String
  var status: Int32
  var tells: String
  /// Returns the arguments, and an object that must live during the run.
  var make: @Sendable () throws -> ([String], AnyObject?)

  var testDescription: String { name }

  private init(
    _ name: String, _ stage: String, _ status: Int32, _ tells: String,
    _ make: @escaping @Sendable () throws -> ([String], AnyObject?)
  ) {
    (self.name, self.stage, self.status, self.tells, self.make) = (name, stage, status, tells, make)
  }

  /// Returns a set-up whose server runs the script on every connection except the trial.
  static func server(
    _ name: String, _ stage: String, _ status: Int32, _ tells: String,
    _ options: [String] = [], _ script: @escaping ScriptedServer.Script
  ) -> CheckSetup {
    CheckSetup(name, stage, status, tells) {
      let server = try ScriptedServer(script)
      return (server.address + options, server)
    }
  }

  static func status(_ number: Int, _ status: Int32, _ tells: String) -> CheckSetup {
    server("the server answers HTTP \(number)", "upgrade", status, tells) { connection in
      _ = try connection.question()
      try connection.answer(number)
    }
  }

  static func certificate(_ name: String, _ certificate: String, _ tells: String) -> CheckSetup {
    CheckSetup(name, "tls", 4, tells) {
      let matrix = try #require(CertificateMatrix.shared)
      let server = try ScriptedServer(certificate: matrix.server(certificate)) {
        _ = try $0.request()
      }
      return (server.address + ["--cacert", matrix.authority], server)
    }
  }

  /// Returns a set-up of `--publish` whose server confirms the subscription and delivers nothing.
  static func silent(
    _ name: String, _ status: Int32, _ tells: String, call: Int = 200,
    channel: String = #"{"occupied":true}"#
  ) -> CheckSetup {
    server(
      name, "round trip", status, tells, ["--publish", "--app-id", "1", "--connect-timeout", "1s"]
    ) { connection in
      let head = try connection.question().head
      guard head.headers["Upgrade"] == nil else {
        try connection.welcome(head)
        try connection.acceptSubscription()
        try connection.stay()
      }
      guard head.method == "GET" else {
        return try connection.answer(call, body: call == 200 ? "{}" : "the app takes no events")
      }
      let isOne = head.target.contains("/channels/")
      try connection.answer(200, body: isOne ? channel : #"{"channels":{}}"#)
    }
  }

  private static let nobody = ["--host", "127.0.0.1", "--scheme", "http", "--key", "k"]

  static let all: [CheckSetup] = [
    CheckSetup("nobody listens on the port", "connection", 4, "connection refused") {
      (nobody + ["--port", "\(try Loopback.closedPort())"], nil)
    },
    CheckSetup(
      "the host's name does not exist", "name service", 4, "cannot resolve nowhere.invalid"
    ) { (["--host", "nowhere.invalid", "--key", "k"], nil) },
    CheckSetup("nobody listens on the proxy's port", "connection", 4, "is that a proxy?") {
      let proxy = "http://127.0.0.1:\(try Loopback.closedPort())"
      return (nobody + ["--port", "1", "--proxy", proxy], nil)
    },
    CheckSetup(
      "the proxy is in the way of a server that can be reached", "connection", 4,
      "it works without the proxy"
    ) {
      let server = try LocalServer()
      let proxy = "socks5h://127.0.0.1:\(try Loopback.closedPort())"
      return (server.address + ["--key", LocalServer.key, "--proxy", proxy], server)
    },
    CheckSetup("nothing comes from beyond the proxy", "upgrade", 4, "did not answer the upgrade") {
      let proxy = try ScriptedServer { connection in
        _ = try connection.request()
        try connection.send(stream: "HTTP/1.1 200 Connection established\r\n\r\n")
        try connection.stall()
      }
      return (
        [
          "--host", "far.invalid", "--scheme", "http", "--key", "k", "--proxy",
          "http://127.0.0.1:\(proxy.port)", "--connect-timeout", "300ms",
        ], proxy
      )
    },
    .server(
      "the server accepts the connection and says nothing", "upgrade", 4,
      "did not answer the upgrade",
      ["--connect-timeout", "300ms"]
    ) { try $0.stall() },
    .server(
      "the server closes the connection before it answers", "upgrade", 4,
      "closed the connection before it answered"
    ) { _ = try $0.question() },
    .status(401, 3, "wants credentials"), .status(403, 3, "does not let this client in"),
    .status(404, 5, "are --path and key"), .status(429, 4, "too many connections"),
    .status(503, 4, "try again later"),
    .server("a web page", "upgrade", 5, "no WebSocket at this address") { connection in
      _ = try connection.question()
      try connection.answer(200, body: "<!DOCTYPE html><title>Welcome</title>")
    },
    .server("an SSH server", "upgrade", 5, "SSH") {
      try $0.speak(ForeignBytes.ssh)
      try $0.stall()
    },
    .server("http to a port of TLS", "upgrade", 4, "add --scheme https") {
      try $0.speak(ForeignBytes.alert)
    },
    CheckSetup("https to a port of plain HTTP", "tls", 4, "add --scheme http") {
      let server = try LocalServer()
      return (["--host", "127.0.0.1", "--port", server.port, "--key", LocalServer.key], server)
    },
    .certificate("the certificate is another host's", "wrong-host", "it is not for localhost"),
    .certificate(
      "the certificate's authority is unknown", "unknown-root", "trust it with --cacert FILE"),
    .certificate("the certificate has expired", "expired", "it expired on"),
    .server(
      "the server never greets", "greeting", 4, "sent no connection_established",
      ["--connect-timeout", "300ms"]
    ) { connection in
      try connection.upgrade()
      try connection.stall()
    },
    .server(
      "pings are not answered", "ping", 4, "no answer within 0.3 s", ["--connect-timeout", "300ms"]
    ) { connection in
      try connection.welcome()
      // An event that only resembles the answer.
      try connection.send(event: "pong", channel: "a", data: #"{"event":"pusher:pong"}"#)
      try connection.stall()
    },
    CheckSetup("the key is another app's", "greeting", 3, "is key zzzz… right") {
      let server = try LocalServer()
      return (server.address + ["--key", "zzzzz"], server)
    },
    .server("a channel is refused", "private-a", 3, "Invalid signature", ["private-a"]) {
      try $0.welcome()
      try $0.refuseSubscription()
    },
    .server(
      "the HTTP API refuses the signature, and the clocks differ", "http api", 3,
      "this machine's clock is", ["--app-id", "1"]
    ) { connection in
      let request = try connection.question().head
      guard request.headers["Upgrade"] == nil else {
        try connection.welcome(request)
        _ = try connection.message()
        try connection.stay()
      }
      try connection.answer(401, "Unauthorized", [("Date", "Sun, 06 Nov 1994 08:49:37 GMT")])
    },
    .silent("the HTTP API refuses the event of --publish", 3, "takes no events", call: 403),
    .silent(
      "the HTTP API accepts the event, and the server does not deliver it", 4, "inside the server"),
    .silent(
      "the HTTP API serves another app or node than the WebSocket", 4, "sees no subscriber",
      channel: #"{"occupied":false}"#),
    .silent(
      "the HTTP API accepts the event, nothing comes, and it does not show channels", 4,
      "does not say", channel: "{}"),
  ]
}

/// The table of docs/check.md, compared with the program.
enum CheckPage {
  struct Row: Equatable, CustomStringConvertible {
    var setup: String
    var stage: String
    var came: String
    var fault: String
    var advice: [String]
    var status: Int32

    var description: String {
      let advice = advice.isEmpty ? "—" : advice.map { "`\($0)`" }.joined(separator: " ")
      return "| \(setup) | \(stage) | `\(came)` | \(fault) | \(advice) | \(status) |"
    }

    /// The row without details that differ between runs and machines.
    fileprivate var plain: Row {
      var row = self
      row.came = Self.plain(came)
      // Another program may listen on a usual port of this machine.
      row.advice = advice.map(Self.plain).filter {
        $0.wholeMatch(of: /port \d+ of .* answers: .*/) == nil
      }
      if row.advice.isEmpty, !advice.isEmpty { row.advice = [Self.nobodyElse] }
      return row
    }

    private static let nobodyElse =
      "no other usual port of 127.0.0.1 answers: is the server running?"

    private static func plain(_ text: String) -> String {
      text.replacing(#/:\d{4,5}\b/#, with: ":PORT").replacing(
        #/--port \d{4,5}\b/#, with: "--port PORT"
      ).replacing(#/(nowhere\.invalid: ).*/#) { "\($0.1)REASON" }.replacing(
        #/machine's clock is \S+ \w+/#, with: "machine's clock is TIME")
    }
  }

  static let rows: [(setup: String, text: String)] = {
    let text = (try? Documentation.text("docs/check.md")) ?? ""
    return text.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst(2).map {
      (String($0.dropFirst(2).prefix { $0 != "|" }.dropLast()), String($0))
    }
  }()

  static func expect(_ seen: Row, sourceLocation: SourceLocation = #_sourceLocation) {
    let expected = "\(seen.plain)"
    #expect(
      rows.first { $0.setup == seen.setup }?.text == expected,
      "docs/check.md: expected\n\(expected)", sourceLocation: sourceLocation)
  }
}
