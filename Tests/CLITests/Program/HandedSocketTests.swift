import Foundation
import PusherCore
import Testing

/// sd_listen_fds(3); the test plays systemd.
@Suite("serve with a socket that is handed over", .runsPrograms) struct HandedSocketTests {
  private static func listener() throws -> (socket: OwnedDescriptor, port: UInt16) {
    let (descriptor, port) = try Loopback.listen(backlog: 128)
    return (try OwnedDescriptor(descriptor), port)
  }

  @Test func `the address is announced, and hooks of serve get nothing of the socket`() throws {
    let (socket, port) = try Self.listener()
    let (file, told) = (TemporaryFolder.shared.file("port"), TemporaryFolder.shared.file("told"))
    let hook = "{ env; ls -l /proc/self/fd; } >'\(told).new'; mv '\(told).new' '\(told)'"
    let server = try PusherCLI.serve(
      handed: [socket.number], names: "pusher-serve.socket",
      ["--port-file", file, "--on-ready", hook])
    #expect(try server.port(in: file) == port)
    try server.errorLine(containing: "listening on http://127.0.0.1:\(port) ")
    let text = try waitFor("the command has run") {
      try? fileText(told)
    }
    #expect(text.contains("\nPUSHER_CLI_PORT=\(port)\n") || text.hasPrefix("PUSHER_CLI_PORT="))
    #expect(!text.contains("LISTEN_") && !text.contains("socket:"), "\(text)")
    let client = try PusherCLI.start(["subscribe", "--local", "--port", "\(port)", "news", "-L"])
    #expect(try client.lines(2).last?.contains("subscription_succeeded") == true)
    try server.result(of: SIGTERM)
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

  @Test func `a handed socket that cannot be listened on ends serve with 2`() throws {
    for (handed, reason) in [
      (try OwnedDescriptor(open("/dev/null", O_RDWR)), "it is not a socket"),
      (try .socket(AF_INET, isStream: false), "it is not a stream socket"),
      (try .socket(AF_INET, isStream: true), "it is not a listening socket"),
      (try .unixListener(TemporaryFolder.shared.file("unix")), "it has no IP address"),
    ] {
      try PusherCLI.serve(handed: [handed.number]).result().expect(
        2,
        says: "pusher-cli: error: LISTEN_FDS: cannot listen on descriptor 3: \(reason); "
          + "serve takes ListenStream=ADDRESS:PORT with Accept=no\n")
    }
  }

  @Test func `no connection is refused or lost while one server ends and the next begins`() throws {
    let (socket, port) = try Self.listener()
    let old = try PusherCLI.serve(handed: [socket.number])
    let requests = RepeatedRequest(port)
    try requests.wait(for: 20)
    try old.result(of: SIGTERM)
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
    try program.result(of: SIGTERM)
  }
}
