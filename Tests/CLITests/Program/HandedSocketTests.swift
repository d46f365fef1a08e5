import Foundation
import PusherCore
import Testing

/// sd_listen_fds(3); the test plays systemd.
@Suite("serve with a socket that is handed over", .runsPrograms)
struct HandedSocketTests {
  private static func listener() throws -> (socket: OwnedDescriptor, port: UInt16) {
    let (descriptor, port) = try Loopback.listen(backlog: 128)
    return (try OwnedDescriptor(descriptor), port)
  }

  @Test func `its address is announced, and the programs that serve starts get nothing of it`()
    throws
  {
    let (socket, port) = try Self.listener()
    let (file, told) = (
      TemporaryFolder.shared.file("port"), TemporaryFolder.shared.file("told")
    )
    let hook = "{ env; ls -l /proc/self/fd; } >'\(told).new'; mv '\(told).new' '\(told)'"
    let server = try PusherCLI.serve(
      handed: [socket.number], names: "pusher-serve.socket",
      ["--port-file", file, "--on-ready", hook])
    #expect(try server.port(in: file) == port)
    try server.errorLine(containing: "listening on http://127.0.0.1:\(port) ")
    let text = try waitFor("the command has run") {
      try? String(contentsOfFile: told, encoding: .utf8)
    }
    #expect(text.contains("\nPUSHER_CLI_PORT=\(port)\n") || text.hasPrefix("PUSHER_CLI_PORT="))
    #expect(!text.contains("LISTEN_") && !text.contains("socket:"), "\(text)")
    let client = try PusherCLI.start(["subscribe", "--local", "--port", "\(port)", "news", "-L"])
    #expect(try client.lines(2).last?.contains("subscription_succeeded") == true)
    server.send(SIGTERM)
    #expect(try server.result().ending == .signalled(SIGTERM))
  }

  @Test func `the sockets of another process are not touched`() throws {
    let (socket, port) = try Self.listener()
    let file = TemporaryFolder.shared.file("port")
    let server = try ChildProgram(
      PusherCLI.path, ["serve", "--listen", "127.0.0.1:0", "--port-file", file],
      environment: PusherCLI.environment.merging(["LISTEN_PID": "1", "LISTEN_FDS": "1"]) { $1 },
      handed: [socket.number])
    #expect(try server.port(in: file) != port)
    server.send(SIGTERM)
    try server.wait()
  }

  @Test func `a second socket, called metrics, is that of --metrics`() throws {
    let (clients, port) = try Self.listener()
    let (metrics, metricsPort) = try Self.listener()
    let server = try PusherCLI.serve(
      handed: [metrics.number, clients.number], names: "metrics:serve", ["--listen", "[::1]:1"])
    try server.errorLine(
      containing: "--listen [::1]:1 is ignored: the service manager passed a socket at "
        + "127.0.0.1:\(port)")
    try server.errorLine(containing: "listening on http://127.0.0.1:\(port) ")
    #expect(try Monitored(port: metricsPort).ask("/healthz").body == "ok\n")
    #expect(try PlainRequest(port).outcome() == .answered(status: 404))
    server.send(SIGTERM)
    try server.wait()
  }

  /// Invalid descriptors that a manager may hand over.
  enum Mistake: String, CaseIterable {
    case file = "it is not a socket"
    case datagrams = "it is not a stream socket"
    case connection = "it is not a listening socket"
    case unix = "it has no IP address"
  }

  @Test(arguments: Mistake.allCases)
  func `what cannot be listened on ends it with status 2`(mistake: Mistake) throws {
    let handed: OwnedDescriptor =
      switch mistake {
      case .file: try OwnedDescriptor(open("/dev/null", O_RDWR))
      case .datagrams: try .socket(AF_INET, isStream: false)
      case .connection: try .socket(AF_INET, isStream: true)
      case .unix: try .unixListener(TemporaryFolder.shared.file("unix"))
      }
    let server = try PusherCLI.serve(handed: [handed.number])
    let result = try server.result()
    #expect(result.ending == .exited(2))
    #expect(
      result.errorText
        == "pusher-cli: error: LISTEN_FDS: cannot listen on descriptor 3: "
        + "\(mistake.rawValue); serve takes ListenStream=ADDRESS:PORT with Accept=no\n")
  }

  @Test func `no connection is refused or lost while one server ends and the next begins`() throws {
    let (socket, port) = try Self.listener()
    let old = try PusherCLI.serve(handed: [socket.number])
    let requests = RepeatedRequest(port)
    try requests.wait(for: 20)
    old.send(SIGTERM)
    #expect(try old.wait() == .signalled(SIGTERM))
    // The requests wait in the listening socket.
    let waiting = try (0..<50).map { _ in try PlainRequest(port) }
    for request in waiting { #expect(try request.send()) }
    let new = try PusherCLI.serve(handed: [socket.number])
    for request in waiting { #expect(try request.outcome() == .answered(status: 404)) }
    try requests.wait(for: 20)
    #expect(Set(try requests.stop().map(String.init(describing:))) == ["answered(status: 404)"])
    new.send(SIGTERM)
    try new.wait()
  }

  @Test(.needs(.program("systemd-socket-activate")))
  func `systemd-socket-activate starts it by the first connection`() throws {
    let port = try Loopback.closedPort()
    let program = try ChildProgram(
      "/usr/bin/systemd-socket-activate",
      ["--listen", "127.0.0.1:\(port)", "--fdname", "serve", PusherCLI.path, "serve"],
      environment: PusherCLI.environment)
    try program.errorLine(containing: "Listening on 127.0.0.1:\(port)")
    #expect(try PlainRequest(port).outcome() == .answered(status: 404))
    try program.errorLine(containing: "listening on http://127.0.0.1:\(port) ")
    program.send(SIGTERM)
    #expect(try program.wait() == .signalled(SIGTERM))
  }
}
