import Foundation
import PusherCluster
import PusherCore
import PusherServer
import TestSupport

/// A redis-server or Sentinel for this test only, on a port of 127.0.0.1; it ends with the
/// object.
final class RedisServer {
  struct Failure: Error, CustomStringConvertible { let description: String }

  /// True if redis-server is installed.
  ///
  /// In CI it must be.
  static let isInstalled =
    ProcessInfo.processInfo.environment["CI"] == "true"
    || ["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"].contains {
      FileManager.default.isExecutableFile(atPath: $0 + "/redis-server")
    }

  private(set) var port: UInt16 = 0
  private let folder: URL
  private let lines: [String]
  private let isSentinel: Bool
  private var process: pid_t?

  var endpoint: Route { Route(host: "127.0.0.1", port: port) }
  var place: String { "127.0.0.1:\(port)" }

  /// A Sentinel that watches a server as `mymaster`.
  static func sentinel(of server: RedisServer, _ lines: String...) throws -> RedisServer {
    try RedisServer(
      lines: ["sentinel monitor mymaster 127.0.0.1 \(server.port) 1"] + lines, isSentinel: true)
  }

  /// Starts a server with these extra configuration lines; `PORT` in them is replaced by its
  /// port.
  convenience init(_ lines: String...) throws { try self.init(lines: lines, isSentinel: false) }

  private init(lines: [String], isSentinel: Bool) throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "redis-" + UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    self.lines = lines
    self.isSentinel = isSentinel
    for _ in 0..<10 {
      port = try LoopHarness().closedAddress().port
      if try start() { return }
    }
    throw Failure(description: "redis-server found no port")
  }

  deinit {
    stop()
    try? FileManager.default.removeItem(at: folder)
  }

  /// Starts the server on its port and waits until it listens; returns false if the port was taken.
  @discardableResult func start() throws -> Bool {
    var text = lines.contains { $0.hasPrefix("tls-port") } ? ["port 0"] : ["port \(port)"]
    text += ["bind 127.0.0.1", "dir \"\(folder.path)\"", "daemonize no"]
    if !isSentinel { text += ["save \"\"", "appendonly no", "enable-debug-command yes"] }
    text += lines.map { $0.replacingOccurrences(of: "PORT", with: "\(port)") }
    let file = folder.appending(path: "redis.conf")
    try (text.joined(separator: "\n") + "\n").write(to: file, atomically: true, encoding: .utf8)
    let log = folder.appending(path: "log")
    try Data().write(to: log)
    let words = ["redis-server", file.path] + (isSentinel ? ["--sentinel"] : [])
    let process = try Spawn.program(words, output: .file(log.path))
    self.process = process
    func said() throws -> String { try String(contentsOf: log, encoding: .utf8) }
    while Spawn.isRunning(process) {
      // An answer to PING may be that of another test's server, which took the port.
      if try said().contains(isSentinel ? "Sentinel ID" : "Ready to accept") { return true }
      usleep(2000)
    }
    self.process = nil
    if try said().contains("Address already in use") { return false }
    throw Failure(description: "redis-server ended: \(try said())")
  }

  func stop() {
    guard let process else { return }
    kill(process, SIGKILL)
    Spawn.collect(process)
    self.process = nil
  }

  @discardableResult func cli(_ words: String...) throws -> String { try run(words) }

  private func run(_ words: [String]) throws -> String {
    let isSecure = lines.contains { $0.hasPrefix("tls-port") }
    let options = ["-h", "127.0.0.1", "-p", "\(port)"] + (isSecure ? ["--tls", "--insecure"] : [])
    return try Spawn.text(of: ["redis-cli"] + options + words)
  }

  /// Repeats a command until redis-cli prints the wanted text.
  func wait(_ words: [String], until isWanted: (String) -> Bool) throws {
    for _ in 0..<1200 {
      if isWanted(try run(words)) { return }
      usleep(50_000)
    }
    throw Failure(description: "\(words) did not come to what was wanted")
  }
}
