import Foundation
import PusherCore
import Testing

@testable import pusher_cli

/// Pipes and other special files as sources of settings.
@Suite("Settings from pipes", .runsPrograms)
struct PipedSettingsTests {
  private func server() throws -> ScriptedServer {
    try ScriptedServer { connection in
      let value = try connection.question().head.headers["x-token"]
      try connection.send(
        stream: "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
          + "retry: 1\ndata: \(value ?? "none")\n\n")
    }
  }

  private func data(_ result: ProgramResult) -> [String] {
    result.outputText.split(separator: "\n").map(String.init)
  }

  @Test(arguments: ["/dev/stdin", "/dev/fd/0", "-"])
  func `the fields of standard input go with each request`(path: String) throws {
    let server = try server()
    let program = try PusherCLI.start(
      ["sse", server.url, "-r", "-n", "3", "-H", "@\(path)"], input: .pipe)
    program.write(Array("X-Token: 7\n".utf8))
    program.closeInput()
    let result = try program.result()
    #expect(data(result) == ["7", "7", "7"], "\(result.errorText)")
  }

  @Test func `the fields of a process substitution go with each request`() throws {
    let server = try server()
    let result = try ChildProgram(
      "/bin/bash",
      [
        "-c", #"exec "$0" sse "$1" -r -n 3 -H @<(echo X-Token: 7)"#, PusherCLI.path, server.url,
      ], environment: PusherCLI.environment
    ).result()
    #expect(data(result) == ["7", "7", "7"], "\(result.errorText)")
  }

  @Test func `the fields of a pipe go with the list of channels too`() throws {
    let server = try LocalServer()
    let guest = try server.subscribe(["private-a"], "-L")
    let pipe = try NamedPipe()
    let program = try PusherCLI.start(
      ["subscribe"] + server.address + ["private-*", "-L", "-H", "@\(pipe.path)"],
      environment: LocalServer.environment("local-secret"))
    try pipe.write("X-Token: 7\n")
    #expect(try program.line().contains("pusher:connection_established"))
    withExtendedLifetime(guest) {}
  }

  @Test func `authorities of a process substitution check each connection`() throws {
    let matrix = try #require(CertificateMatrix.shared)
    let server = try ScriptedServer(certificate: matrix.trusted) { connection in
      try connection.beginStream()
      try connection.send(stream: "retry: 1\ndata: 7\n\n")
    }
    let result = try ChildProgram(
      "/bin/bash",
      [
        "-c", #"exec "$0" sse "$1" -r -n 3 --cacert <(cat "$2")"#, PusherCLI.path, server.url,
        matrix.authority,
      ], environment: PusherCLI.environment
    ).result()
    #expect(data(result) == ["7", "7", "7"], "\(result.errorText)")
  }

  @Test func `certificate and key of process substitutions serve, and SIGHUP says that they stay`()
    throws
  {
    let matrix = try #require(CertificateMatrix.shared)
    let own = matrix.trusted
    let server = try ChildProgram(
      "/bin/bash",
      [
        "-c", #"exec "$0" serve --port 0 -v --tls-cert <(cat "$1") --tls-key <(cat "$2")"#,
        PusherCLI.path, own.certificate, own.key,
      ], environment: PusherCLI.environment)
    let place = try server.errorLine(containing: "listening on https://127.0.0.1:")
    let port = place.split(separator: " ").first { $0.hasPrefix("https://") }?
      .split(separator: ":").last
    server.send(SIGHUP)
    #expect(try server.errorLine(containing: "SIGHUP").contains("cannot be read again"))
    let sent = try PusherCLI.start([
      "trigger", "--local", "--host", "localhost", "--scheme", "https", "--port",
      String(try #require(port)), "--cacert", matrix.authority, "-c", "a", "-e", "e", "1",
    ]).result()
    #expect(sent.ending == .exited(0), "\(sent.errorText)")
    server.send(SIGTERM)
    #expect(try server.wait() == .signalled(SIGTERM))
  }

  @Test func `the fields of a pipe go with each upgrade of subscribe`() throws {
    let tokens = Record<String?>()
    let server = try ScriptedServer { connection in
      let request = try connection.request()
      tokens.add(request.headers["X-Token"])
      try connection.welcome(request)
      _ = try connection.acceptSubscription()
      if connection.number == 2 { try connection.send(event: "e", data: "1") }
    }
    let pipe = try NamedPipe()
    let program = try PusherCLI.subscribe(
      to: server, "news", "-n", "1", "--retry-max-delay", "10ms", "-H", "@\(pipe.path)")
    try pipe.write("X-Token: 7\n")
    #expect(try program.result().ending == .exited(0))
    #expect(tokens.values.prefix(2) == ["7", "7"])
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
  func `a pipe that nobody writes to is waited for with a word, and a signal ends that`(
    line: String
  ) throws {
    let pipe = try NamedPipe()
    let words = line.split(separator: " ").map { String($0).replacing("FILE", with: pipe.path) }
    let program = try PusherCLI.start(words)
    #expect(try program.errorLine() == "pusher-cli: waiting for input from '\(pipe.path)'")
    program.send(SIGTERM)
    #expect(try program.wait() == .signalled(SIGTERM))
  }

  @Test func `a pipe in place of the file of --header leaves the former fields, with a warning`()
    throws
  {
    let token = try TemporaryFolder.shared.file("token", holding: "X-Token: 1\n")
    let server = try server()
    let program = try PusherCLI.start(["sse", server.url, "-r", "-H", "@\(token)"])
    #expect(try program.line() == "1")
    let pipe = try NamedPipe(at: token)
    #expect(
      try program.errorLine(containing: "--header")
        == "pusher-cli: warning: --header: '\(pipe.path)': it is a pipe, not a file; sending its "
        + "previous fields")
    _ = try program.lines(20).map { #expect($0 == "1") }
    unlink(token)
    try "X-Token: 2\n".write(toFile: token, atomically: true, encoding: .utf8)
    var line = try program.line()
    while line == "1" || line == "none" { line = try program.line() }
    #expect(line == "2")
    program.send(SIGTERM)
    #expect(try program.wait() == .signalled(SIGTERM))
  }

  @Test func `a file of --header that has lost its fields leaves the former ones, with a warning`()
    throws
  {
    let token = try TemporaryFolder.shared.file("token", holding: "X-Token: 1\n")
    let server = try server()
    let program = try PusherCLI.start(["sse", server.url, "-r", "-H", "@\(token)"])
    #expect(try program.line() == "1")
    try "".write(toFile: token, atomically: true, encoding: .utf8)
    #expect(
      try program.errorLine(containing: "--header")
        == "pusher-cli: warning: --header: '\(token)': it has no header field; sending its "
        + "previous fields")
    _ = try program.lines(20).map { #expect($0 == "1") }
  }

  // MARK: SIGHUP

  @Test func `a pipe in place of --apps stops no server`() throws {
    let file = try TemporaryFolder.shared.file(
      "apps", holding: #"[{"id": "17", "key": "local-key", "secret": "local-secret"}]"#)
    let server = try LocalServer(options: ["--apps", file])
    _ = try NamedPipe(at: file)
    server.signal(SIGHUP)
    #expect(
      try server.errorLine(containing: "SIGHUP")
        == "pusher-cli: warning: SIGHUP: --apps: cannot read '\(file)': it is a pipe, not a file; "
        + "the apps stay as they are")
    #expect(try server.trigger("a", "e", "1").ending == .exited(0))
    #expect(try server.stop().ending == .signalled(SIGTERM))
  }

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
    server.send(SIGTERM)
    #expect(try server.wait() == .signalled(SIGTERM))
  }
}
