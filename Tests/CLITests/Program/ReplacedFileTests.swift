import Foundation
import PusherCore
import Testing

@Suite("Files that are written in place of others: --port-file, --trace", .runsPrograms)
struct ReplacedFileTests {
  /// Runs `serve` with a port file until it writes the file or ends.
  private func serve(_ path: String) throws -> ChildProgram {
    try PusherCLI.start(["serve", "--listen", "127.0.0.1:0", "--port-file", path])
  }

  private func isKind(_ path: String, _ kind: mode_t) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == kind
  }

  @Test func `the port goes through a pipe, which stays one`() throws {
    let fifo = TemporaryFolder.shared.file("fifo")
    #expect(mkfifo(fifo, 0o600) == 0)
    let reading = open(fifo, O_RDONLY | O_NONBLOCK)
    let reader = PipeReader(reading)
    let server = try serve(fifo)
    try server.errorLine(containing: "listening on http://127.0.0.1:")
    reader.fill()
    let port = String(decoding: reader.takeAll(), as: UTF8.self)
    #expect(Int(port.dropLast()) != nil, "\(port)")
    #expect(isKind(fifo, S_IFIFO))
  }

  @Test func `a pipe without a reader, a link to a file and a folder are refused`() throws {
    let fifo = TemporaryFolder.shared.file("fifo")
    #expect(mkfifo(fifo, 0o600) == 0)
    let target = try TemporaryFolder.shared.file("target", holding: "mine")
    let link = TemporaryFolder.shared.file("link")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
    let dangling = TemporaryFolder.shared.file("dangling")
    try FileManager.default.createSymbolicLink(
      atPath: dangling, withDestinationPath: TemporaryFolder.shared.file("none"))
    for (path, reason) in [
      (fifo, "it is a pipe that nobody reads"), (link, "it is a symbolic link"),
      (dangling, "it is a symbolic link"), (TemporaryFolder.shared.path, "it is a folder"),
    ] {
      let result = try serve(path).result()
      #expect(result.ending == .exited(6))
      #expect(result.errorText.contains(reason), "\(result.errorText)")
      let traced = try PusherCLI.run("sse", "http://127.0.0.1:9/", "--trace", path)
      #expect(traced.ending == .exited(2))
      #expect(traced.errorText.contains("--trace: cannot write '\(path)': \(reason)"))
    }
    #expect(isKind(fifo, S_IFIFO))
    #expect(isKind(link, S_IFLNK))
    #expect(try String(contentsOfFile: target, encoding: .utf8) == "mine")
  }

  @Test func `a link in the place of the draft is not followed`() throws {
    let path = TemporaryFolder.shared.file("port")
    let victim = try TemporaryFolder.shared.file("victim", holding: "mine")
    let script = "ln -s \(victim) \(path).$$; umask 027; exec \"$0\" \"$@\""
    let server = try ChildProgram(
      "/bin/sh",
      ["-c", script, PusherCLI.path, "serve", "--listen", "127.0.0.1:0", "--port-file", path],
      environment: PusherCLI.environment)
    try server.errorLine(containing: "listening on http://127.0.0.1:")
    #expect(try String(contentsOfFile: victim, encoding: .utf8) == "mine")
    #expect(isKind(path, S_IFREG))
    let bits = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(bits == 0o640)
  }

  @Test func `a trace goes where a link to a descriptor leads`() throws {
    let server = try NumberedStream.server(last: 1)
    let result = try PusherCLI.sse(server, "-n", "1", "--trace", "/dev/stderr").result()
    #expect(result.errorText.contains("> GET /stream"))
  }
}

@Suite("Numbers and limits that must not stop the program", .runsPrograms)
struct TrapTests {
  private static let environment = [
    "PUSHER_APP_KEY": LocalServer.key, "PUSHER_APP_ID": LocalServer.appID,
    "PUSHER_APP_SECRET": "local-secret",
  ]

  @Test(arguments: ["0.00000000001", "0.0000000000000000000000000000000000000001", "1000000"])
  func `any rate can be kept`(rate: String) throws {
    let server = try LocalServer()
    let lines = #"{"event":"e","channel":"c","data":1}"# + "\n"
    let input = try TemporaryFolder.shared.file("lines", holding: lines)
    let result = try PusherCLI.run(
      ["trigger", "--rate", rate, "-"] + server.address, environment: Self.environment,
      input: .file(input))
    #expect(result.ending == .exited(0), "\(result.errorText)")
  }

  @Test(arguments: ["-9223372036854775808", "9223372036854775807", "99999999999999999999"])
  func `any time stamp can be verified`(time: String) throws {
    let target = "/apps/17/channels?auth_key=local-key&auth_timestamp=\(time)&auth_version=1.0"
    let result = try PusherCLI.run(
      "verify", "request", "GET", target, environment: Self.environment)
    #expect(result.errorText.isEmpty)
    #expect(result.outputText.contains("auth_timestamp is more than 600 s off"))
  }

  @Test(arguments: [4, 5, 6, 7])
  func `too few descriptors are told, and may be more another time`(limit: Int) throws {
    let port = try Loopback.closedPort()
    for arguments in [
      ["sse", "http://127.0.0.1:\(port)/", "--reconnect", "never"],
      ["subscribe", "--local", "--port", "\(port)", "c", "--reconnect", "never"],
      ["trigger", "--local", "-c", "c", "-e", "e", "1", "--connect-timeout", "500ms"],
      ["channels", "--local", "--connect-timeout", "500ms"],
    ] {
      let result = try ChildProgram(
        "/bin/sh",
        ["-c", "ulimit -n \(limit); exec \"$0\" \"$@\"", PusherCLI.path] + arguments,
        environment: PusherCLI.environment
      ).result()
      #expect(result.ending == .exited(4), "\(arguments[0]): \(result.errorText)")
      #expect(result.errorText.hasPrefix("pusher-cli: error: cannot "), "\(result.errorText)")
    }
  }

  @Test func `a server goes on when its limit on descriptors is lowered`() throws {
    let file = TemporaryFolder.shared.file("port")
    let server = try PusherCLI.start(
      ["serve", "--listen", "127.0.0.1:0", "--port-file", file, "--log-events"])
    try server.errorLine(containing: "listening on http://127.0.0.1:")
    let port = try String(contentsOfFile: file, encoding: .utf8).dropLast()
    let arguments = ["subscribe", "--local", "--port", String(port), "news", "-L", "-n", "1"]
    let subscriber = try PusherCLI.start(arguments)
    _ = try subscriber.lines(2)
    let lowered = try PusherCLI.tool(["prlimit", "--pid", "\(server.id)", "--nofile=3:1024"])
    try #require(lowered.ending == .exited(0), "\(lowered.errorText)")
    subscriber.send(SIGTERM)
    #expect(try subscriber.wait() == .signalled(SIGTERM))
    let restored = try PusherCLI.tool(["prlimit", "--pid", "\(server.id)", "--nofile=1024:1024"])
    try #require(restored.ending == .exited(0), "\(restored.errorText)")
    let next = try PusherCLI.start(arguments)
    _ = try next.lines(2)
    server.send(SIGTERM)
    #expect(try server.wait() == .signalled(SIGTERM))
  }
}
