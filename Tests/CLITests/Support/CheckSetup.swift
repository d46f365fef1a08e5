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

  /// Returns a set-up whose server runs the script on every connection except the trial.
  static func server(
    _ name: String, _ stage: String, _ status: Int32, _ tells: String,
    _ options: [String] = [], _ script: @escaping ScriptedServer.Script
  ) -> CheckSetup {
    CheckSetup(name: name, stage: stage, status: status, tells: tells) {
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

  static func certificate(
    _ name: String, _ certificate: String, _ tells: String
  ) -> CheckSetup {
    CheckSetup(name: name, stage: "tls", status: 4, tells: tells) {
      let matrix = try #require(CertificateMatrix.shared)
      let server = try ScriptedServer(certificate: matrix.server(certificate)) {
        _ = try $0.request()
      }
      return (secure(server) + ["--cacert", matrix.authority], server)
    }
  }

  static func secure(_ server: ScriptedServer) -> [String] {
    [
      "--host", "localhost", "--port", "\(server.port)", "--scheme", "https", "--key", "test-key",
    ]
  }
}

extension CheckSetup {
  /// Returns a set-up of `--publish` whose server confirms the subscription and delivers nothing.
  static func silent(
    _ name: String, _ status: Int32, _ tells: String, call: Int = 200,
    channel: String = #"{"occupied":true}"#
  ) -> CheckSetup {
    server(
      name, "round trip", status, tells,
      ["--publish", "--app-id", "1", "--connect-timeout", "1s"]
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
}

extension CheckSetup {
  private static let nobody = ["--host", "127.0.0.1", "--scheme", "http", "--key", "k"]

  static let all: [CheckSetup] = [
    CheckSetup(
      name: "nobody listens on the port", stage: "connection", status: 4,
      tells: "connection refused"
    ) { (nobody + ["--port", "\(try Loopback.closedPort())"], nil) },
    CheckSetup(
      name: "the host's name does not exist", stage: "name service", status: 4,
      tells: "cannot resolve nowhere.invalid"
    ) { (["--host", "nowhere.invalid", "--key", "k"], nil) },
    CheckSetup(
      name: "nobody listens on the proxy's port", stage: "connection", status: 4,
      tells: "is that a proxy?"
    ) {
      let port = try Loopback.closedPort()
      return (nobody + ["--port", "1", "--proxy", "http://127.0.0.1:\(port)"], nil)
    },
    CheckSetup(
      name: "the proxy is in the way of a server that can be reached", stage: "connection",
      status: 4, tells: "it works without the proxy"
    ) {
      let server = try LocalServer()
      let port = try Loopback.closedPort()
      return (
        server.address + ["--key", LocalServer.key, "--proxy", "socks5h://127.0.0.1:\(port)"],
        server
      )
    },
    CheckSetup(
      name: "nothing comes from beyond the proxy", stage: "upgrade", status: 4,
      tells: "did not answer the upgrade"
    ) {
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
    .server("an SSH server", "upgrade", 5, "SSH") { connection in
      _ = try connection.question()
      try connection.send(bytes: Array("SSH-2.0-OpenSSH_9.2p1\r\n".utf8))
      try connection.stall()
    },
    .server("http to a port of TLS", "upgrade", 4, "add --scheme https") { connection in
      _ = try connection.question()
      try connection.send(bytes: [21, 3, 1, 0, 2, 2, 70])
    },
    CheckSetup(
      name: "https to a port of plain HTTP", stage: "tls", status: 4, tells: "add --scheme http"
    ) {
      let server = try LocalServer()
      return (
        ["--host", "127.0.0.1", "--port", server.port, "--key", LocalServer.key], server
      )
    },
    .certificate(
      "the certificate is another host's", "wrong-host", "it is not for localhost"),
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
    CheckSetup(
      name: "the key is another app's", stage: "greeting", status: 3, tells: "is key zzzz… right"
    ) {
      let server = try LocalServer()
      return (server.address + ["--key", "zzzzz"], server)
    },
    .server(
      "a channel is refused", "private-a", 3, "Invalid signature", ["private-a"]
    ) { connection in
      try connection.welcome()
      _ = try connection.subscription()
      try connection.send(
        text: #"{"event":"pusher:error","data":{"code":4009,"message":"Invalid signature"}}"#)
      try connection.stay()
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
      let head =
        "HTTP/1.1 401 Unauthorized\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
        + "Content-Length: 0\r\nConnection: close\r\n\r\n"
      try connection.send(bytes: Array(head.utf8))
    },
    .silent("the HTTP API refuses the event of --publish", 3, "takes no events", call: 403),
    .silent(
      "the HTTP API accepts the event, and the server does not deliver it", 4,
      "inside the server"),
    .silent(
      "the HTTP API serves another app or node than the WebSocket", 4, "sees no subscriber",
      channel: #"{"occupied":false}"#),
    .silent(
      "the HTTP API accepts the event, nothing comes, and it does not show channels", 4,
      "does not say", channel: "{}"),
  ]
}
