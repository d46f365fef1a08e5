import Foundation
import PusherCore
import Testing

/// sd_notify(3).
@Suite("What the service manager is told")
struct ServiceManagerTests {
  /// A datagram socket under a path, or under an abstract name that begins with `@`.
  private final class Manager {
    let descriptor: Int32
    let name: String

    init(isAbstract: Bool) throws {
      descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
      name = isAbstract ? "@pusher-cli-\(UUID())" : TemporaryFolder.shared.file("notify")
      var bytes = Array(name.utf8)
      if isAbstract { bytes[0] = 0 } else { bytes.append(0) }
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
      let length = socklen_t(2 + bytes.count)
      let result = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
      }
      guard result == 0 else { throw Unexpected("cannot bind \(name)") }
      var limit = timeval(tv_sec: 10, tv_usec: 0)
      setsockopt(
        descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    /// The next datagram; empty after ten seconds without one.
    func next() -> String {
      var bytes = [UInt8](repeating: 0, count: 256)
      return String(decoding: bytes[..<max(recv(descriptor, &bytes, 256, 0), 0)], as: UTF8.self)
    }
  }

  @Test(arguments: [false, true])
  func `serve is ready when it listens, and tells that it ends`(isAbstract: Bool) throws {
    let manager = try Manager(isAbstract: isAbstract)
    let server = try PusherCLI.start(
      ["serve", "--listen", "127.0.0.1:0"], environment: ["NOTIFY_SOCKET": manager.name])
    #expect(manager.next() == "READY=1")
    server.send(SIGTERM)
    #expect(manager.next() == "STOPPING=1")
    #expect(try server.wait() == .signalled(SIGTERM))
  }

  @Test func `subscribe is ready when all channels are joined`() throws {
    let manager = try Manager(isAbstract: false)
    let server = try LocalServer()
    let program = try PusherCLI.start(
      ["subscribe"] + server.address + ["news", "private-a", "-L"],
      environment: [
        "NOTIFY_SOCKET": manager.name, "PUSHER_APP_KEY": LocalServer.key,
        "PUSHER_APP_SECRET": "local-secret",
      ])
    #expect(manager.next() == "READY=1")
    #expect(try program.lines(3).last?.contains("subscription_succeeded") == true)
    program.send(SIGTERM)
    #expect(manager.next() == "STOPPING=1")
    #expect(try program.wait() == .signalled(SIGTERM))
  }

  @Test func `serve gives the watchdog signs of life`() throws {
    let manager = try Manager(isAbstract: false)
    let server = try PusherCLI.start(
      ["serve", "--listen", "127.0.0.1:0"],
      environment: ["NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "40000"])
    #expect(
      (0..<4).map { _ in manager.next() } == ["READY=1"]
        + [String](repeating: "WATCHDOG=1", count: 3))
    server.send(SIGKILL)
    try server.wait()
  }

  @Test(arguments: ["/nonexistent/socket", "@nobody", "relative", "vsock:2:1234"])
  func `a manager that is not there harms nothing`(name: String) throws {
    let server = try PusherCLI.start(
      ["serve", "--listen", "127.0.0.1:0"], environment: ["NOTIFY_SOCKET": name])
    try server.errorLine(containing: "listening on")
    server.send(SIGTERM)
    #expect(try server.wait() == .signalled(SIGTERM))
  }
}
