import Foundation
import PusherCore
import TestSupport

extension PusherCLI {
  /// Starts `serve` with handed sockets as systemd does: descriptors from 3 on, and variables with
  /// the child's process ID.
  static func serve(
    handed: [Int32], names: String? = nil, _ arguments: [String] = [],
    environment: [String: String] = [:]
  ) throws -> ChildProgram {
    var variables = self.environment
    variables["LISTEN_FDS"] = String(handed.count)
    variables["LISTEN_FDNAMES"] = names
    variables.merge(environment) { $1 }
    // `exec` keeps the shell's process ID for the program.
    let script = #"export LISTEN_PID=$$; exec "$@""#
    return try ChildProgram(
      "/bin/sh", ["-c", script, "sh", path] + served(["serve"] + arguments), environment: variables,
      handed: handed)
  }
}

/// A descriptor that is closed with its last reference.
final class OwnedDescriptor {
  let number: Int32

  init(_ number: Int32) throws {
    guard number >= 0 else { throw SystemFailure("a descriptor", errno) }
    self.number = number
    _ = fcntl(number, F_SETFD, FD_CLOEXEC)
  }

  deinit { close(number) }

  static func socket(_ family: Int32, isStream: Bool) throws -> OwnedDescriptor {
    try OwnedDescriptor(Foundation.socket(family, isStream ? Socket.stream : Socket.datagram, 0))
  }

  static func unixListener(_ path: String) throws -> OwnedDescriptor {
    let socket = try Self.socket(AF_UNIX, isStream: true)
    try Socket.bind(socket.number, to: path)
    guard listen(socket.number, 1) == 0 else { throw SystemFailure("listening", errno) }
    return socket
  }
}

/// A service manager as in sd_notify(3): a datagram socket under a path, or an abstract name with
/// `@`.
final class ListeningManager {
  let descriptor: Int32
  let name: String

  init(isAbstract: Bool) throws {
    descriptor = socket(AF_UNIX, Socket.datagram, 0)
    name = isAbstract ? "@pusher-cli-\(UUID())" : TemporaryFolder.shared.file("notify")
    try Socket.bind(descriptor, to: isAbstract ? "\0\(name.dropFirst())" : name)
    limit(seconds: 60)
  }

  func limit(seconds: Int) {
    var limit = timeval(tv_sec: seconds, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  /// Waits for a datagram and drops those before it; returns false after the limit.
  func await(_ text: String) -> Bool {
    while true {
      let came = next()
      if came == text { return true }
      if came.isEmpty { return false }
    }
  }

  func rest() -> [String] {
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    var all: [String] = []
    while case let text = next(), !text.isEmpty { all.append(text) }
    return all
  }

  deinit { close(descriptor) }

  func next() -> String {
    var bytes = [UInt8](repeating: 0, count: 256)
    return String(decoding: bytes[..<max(recv(descriptor, &bytes, 256, 0), 0)], as: UTF8.self)
  }
}
