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
    let fifo = try NamedPipe().path
    let reader = PipeReader(open(fifo, O_RDONLY | O_NONBLOCK))
    let server = try serve(fifo)
    try server.errorLine(containing: "listening on http://127.0.0.1:")
    reader.fill()
    let port = String(decoding: reader.takeAll(), as: UTF8.self)
    #expect(Int(port.dropLast()) != nil, "\(port)")
    #expect(isKind(fifo, S_IFIFO))
  }

  @Test func `a pipe without a reader, a link to a file and a folder are refused`() throws {
    let fifo = try NamedPipe().path
    let target = try TemporaryFolder.shared.file("target", holding: "mine")
    let (link, dangling) = (target + "-link", target + "-dangling")
    for (link, target) in [(link, target), (dangling, target + "-none")] {
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
    }
    for (path, reason) in [
      (fifo, "it is a pipe that nobody reads"), (link, "it is a symbolic link"),
      (dangling, "it is a symbolic link"), (TemporaryFolder.shared.path, "it is a folder"),
    ] {
      try serve(path).result().expect(6, telling: reason)
      try PusherCLI.run("sse", "http://127.0.0.1:9/", "--trace", path)
        .expect(2, telling: "--trace: cannot write '\(path)': \(reason)")
    }
    #expect(isKind(fifo, S_IFIFO) && isKind(link, S_IFLNK))
    #expect(try SystemFile.text(target) == "mine")
  }

  @Test func `a link in the place of the draft is not followed`() throws {
    let path = TemporaryFolder.shared.file("port")
    let victim = try TemporaryFolder.shared.file("victim", holding: "mine")
    let script = "ln -s \(victim) \(path).$$; umask 027; exec \"$0\" \"$@\""
    let server = try PusherCLI.shell(
      script, ["serve", "--listen", "127.0.0.1:0", "--port-file", path])
    try server.errorLine(containing: "listening on http://127.0.0.1:")
    #expect(try SystemFile.text(victim) == "mine")
    #expect(isKind(path, S_IFREG))
    #expect(try SystemFile.mode(path) == 0o640)
  }

  @Test func `a trace goes where a link to a descriptor leads`() throws {
    let server = try NumberedStream.server(last: 1)
    let result = try PusherCLI.sse(server, "-n", "1", "--trace", "/dev/stderr").result()
    #expect(result.errorText.contains("> GET /stream"))
  }
}

@Suite("Numbers and limits that must not stop the program", .runsPrograms) struct TrapTests {
  @Test(arguments: ["0.00000000001", "0.0000000000000000000000000000000000000001", "1000000"])
  func `any --rate can be kept`(rate: String) throws {
    let server = try LocalServer()
    let program = try server.start("trigger", "--rate", rate, "-", input: .pipe)
    program.write(line: #"{"event":"e","channel":"c","data":1}"#)
    program.closeInput()
    try program.result().expect(0)
  }

  @Test(arguments: ["-9223372036854775808", "9223372036854775807", "99999999999999999999"])
  func `a request with any time stamp can be verified`(time: String) throws {
    let target = "/apps/17/channels?auth_key=local-key&auth_timestamp=\(time)&auth_version=1.0"
    let result = try PusherCLI.run(
      "verify", "request", "GET", target, environment: LocalServer.environment())
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
      let result = try PusherCLI.shell("ulimit -n \(limit); exec \"$0\" \"$@\"", arguments).result()
      #expect(result.ending == .exited(4), "\(arguments[0]): \(result.errorText)")
      #expect(result.errorText.hasPrefix("pusher-cli: error: cannot "), "\(result.errorText)")
    }
  }

  @Test func `a server goes on when its limit on descriptors is lowered`() throws {
    let (server, port) = try PusherCLI.listening(["serve", "--log-events"])
    func limit(_ descriptors: Int) throws {
      try PusherCLI.tool(["prlimit", "--pid", "\(server.id)", "--nofile=\(descriptors):1024"])
        .expect(0)
    }
    func subscribe() throws -> ChildProgram {
      let program = try PusherCLI.start(
        ["subscribe", "--local", "--port", "\(port)", "news", "-L", "-n", "1"])
      _ = try program.lines(2)
      return program
    }
    let subscriber = try subscribe()
    try limit(3)
    try subscriber.end()
    try limit(1024)
    let next = try subscribe()
    try server.end()
    withExtendedLifetime(next) {}
  }
}
