import Foundation
import PusherCore

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

  deinit {
    close(number)
  }

  static func socket(_ family: Int32, isStream: Bool) throws -> OwnedDescriptor {
    #if canImport(Glibc)
      let kind = Int32((isStream ? SOCK_STREAM : SOCK_DGRAM).rawValue)
    #else
      let kind = isStream ? SOCK_STREAM : SOCK_DGRAM
    #endif
    return try OwnedDescriptor(Foundation.socket(family, kind, 0))
  }

  static func unixListener(_ path: String) throws -> OwnedDescriptor {
    let socket = try Self.socket(AF_UNIX, isStream: true)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket.number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard result == 0, listen(socket.number, 1) == 0 else {
      throw SystemFailure("listening", errno)
    }
    return socket
  }
}
