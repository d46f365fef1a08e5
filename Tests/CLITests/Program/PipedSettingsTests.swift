import Foundation
import PusherCore
import Testing

@testable import pusher_cli

/// Pipes and other special files as sources of settings.
@Suite("Settings from pipes", .runsPrograms) struct PipedSettingsTests {
  private func server() throws -> ScriptedServer {
    try ScriptedServer { connection in
      let value = try connection.question().head.headers["x-token"]
      try connection.send(
        stream: "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
          + "retry: 1\ndata: \(value ?? "none")\n\n")
    }
  }

  @Test(arguments: ["/dev/stdin", "/dev/fd/0", "-"])
  func `the fields of standard input go with each request`(path: String) throws {
    let server = try server()
    let program = try PusherCLI.start(
      ["sse", server.url, "-o", "raw", "-n", "3", "-H", "@\(path)"], input: .pipe)
    program.write(line: "X-Token: 7")
    program.closeInput()
    try program.result().expect(0, prints: "7\n7\n7\n")
  }

  @Test func `authorities of a process substitution check each connection`() throws {
    let matrix = try #require(CertificateMatrix.shared)
    let server = try ScriptedServer(certificate: matrix.trusted) { connection in
      try connection.beginStream()
      try connection.send(stream: "retry: 1\ndata: 7\n\n")
    }
    let script = #"exec "$0" sse "$1" -o raw -n 3 --cacert <(cat "$2")"#
    let result = try PusherCLI.shell(script, [server.url, matrix.authority], by: "bash").result()
    result.expect(0, prints: "7\n7\n7\n")
  }

  @Test func `certificate and key of process substitutions serve; SIGHUP keeps them`() throws {
    let matrix = try #require(CertificateMatrix.shared)
    let own = matrix.trusted
    let server = try PusherCLI.shell(
      #"exec "$0" serve --port 0 -v --tls-cert <(cat "$1") --tls-key <(cat "$2")"#,
      [own.certificate, own.key], by: "bash")
    let place = try server.errorLine(containing: "listening on https://127.0.0.1:")
    let port = try #require(place.firstMatch(of: /127\.0\.0\.1:(\d+)/)).output.1
    server.send(SIGHUP)
    #expect(try server.errorLine(containing: "SIGHUP").contains("cannot be read again"))
    try PusherCLI.run(
      "trigger", "--local", "--host", "localhost", "--scheme", "https", "--port", "\(port)",
      "--cacert", matrix.authority, "-c", "a", "-e", "e", "1"
    ).expect(0)
    try server.end()
  }

  /// Every option whose file the settings read.
  ///
  /// Only this access waits for a pipe.
  @Test(arguments: [
    "subscribe --host 127.0.0.1 --key k a -H @FILE", "sse http://127.0.0.1:1/ -H @FILE",
    "sse @FILE", "sse http://127.0.0.1:1/ -d @FILE",
    "sse http://127.0.0.1:1/ --forward @FILE",
    "sse http://127.0.0.1:1/ --forward http://127.0.0.1:1/ --forward-header @FILE",
    "subscribe --local private-a --secret-file FILE", "subscribe a --env-file FILE",
    "subscribe --key k a --config FILE", "trigger --local -c a -e b -d @FILE", "serve --apps FILE",
    "serve --secret-file FILE",
    "auth --local private-encrypted-a --socket-id 1.2 --encryption-key-file FILE",
    "subscribe --local presence-a --user-id 1 --user-info @FILE",
    "subscribe --key k private-a --auth-endpoint http://127.0.0.1:1/ --auth-header @FILE",
  ])
  func `each file of the start is read by the access that waits for pipes`(line: String) {
    let read = Record<String>()
    var files = PretendFiles(contents: ["FILE": "x\n"]).access
    files.read = { [pretend = files.read] path, limit in
      read.add(path)
      return pretend(path, limit)
    }
    _ = Preview(line.split(separator: " ").map(String.init), files: files)
    #expect(read.values.contains("FILE"), "\(line)")
  }

  @Test(arguments: [
    "sse http://127.0.0.1:1/ -H @FILE", "sse https://127.0.0.1:1/ --cacert FILE",
    "subscribe --local a --tls-cert FILE", "serve --tls-key /dev/null --tls-cert FILE",
  ])
  func `a pipe without a writer is awaited with a word, until a signal`(line: String) throws {
    let pipe = try NamedPipe()
    let words = line.split(separator: " ").map { String($0).replacing("FILE", with: pipe.path) }
    let program = try PusherCLI.start(words)
    #expect(try program.errorLine() == "pusher-cli: waiting for input from '\(pipe.path)'")
    try program.end()
  }

  // MARK: SIGHUP

  @Test func `apps of a pipe stay as they were at the start, and SIGHUP says so`() throws {
    let pipe = try NamedPipe()
    let server = try PusherCLI.start(["serve", "--listen", "127.0.0.1:0", "--apps", pipe.path])
    try pipe.write(#"[{"id": "17", "key": "local-key", "secret": "local-secret"}]"#)
    try server.errorLine(containing: "listening")
    server.send(SIGHUP)
    #expect(
      try server.errorLine(containing: "SIGHUP")
        == "pusher-cli: warning: SIGHUP: --apps: cannot read '\(pipe.path)' again; the apps stay as they are"
    )
    try server.end()
  }
}
