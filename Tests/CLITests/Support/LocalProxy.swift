import Foundation
import PusherCore

/// A proxy program of the system, on a free port of 127.0.0.1; it ends with the object.
final class LocalProxy {
  enum Kind: String, CaseIterable, Sendable {
    case tinyproxy
    case microsocks

    var scheme: String { self == .tinyproxy ? "http" : "socks5h" }
    fileprivate var path: String { "/usr/bin/\(rawValue)" }
    var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: path) }
  }

  let port: UInt16
  private let scheme: String
  private let program: ChildProgram

  private let user: String
  private let password: String

  /// - Parameters:
  ///   - wantsCredentials: Requires user name and password.
  ///   - filter: A host that an HTTP proxy refuses.
  ///   - connectPort: The only permitted CONNECT port, a common setting; any unless given.
  init(
    _ kind: Kind, wantsCredentials: Bool = false, filter: String? = nil, connectPort: Int? = nil
  ) throws {
    scheme = kind.scheme
    // tinyproxy's configuration allows few characters only.
    user = kind == .tinyproxy ? "some.one" : "us er"
    password = kind == .tinyproxy ? "pass-word" : "p@ss:wörd"
    // Neither program can report a port chosen by the system.
    port = try Loopback.closedPort()
    var arguments: [String]
    switch kind {
    case .tinyproxy:
      var lines = ["Port \(port)", "Listen 127.0.0.1", "Timeout 20", "LogLevel Connect"]
      if wantsCredentials { lines.append("BasicAuth \(user) \(password)") }
      if let connectPort { lines.append("ConnectPort \(connectPort)") }
      if let filter {
        let file = try TemporaryFolder.shared.file("filter", holding: "^\(filter)$\n")
        lines.append("Filter \"\(file)\"")
      }
      let text = lines.joined(separator: "\n") + "\n"
      arguments = ["-d", "-c", try TemporaryFolder.shared.file("tinyproxy", holding: text)]
    case .microsocks:
      arguments = ["-i", "127.0.0.1", "-p", "\(port)"]
      if wantsCredentials { arguments += ["-u", user, "-P", password] }
    }
    program = try ChildProgram(kind.path, arguments, environment: PusherCLI.environment)
    try awaitPort()
  }

  var url: String { "\(scheme)://127.0.0.1:\(port)" }
  var urlWithCredentials: String { url(password) }

  func url(_ password: String) -> String {
    let encoded = "\(PercentEncoding.encode(user)):\(PercentEncoding.encode(password))"
    return "\(scheme)://\(encoded)@127.0.0.1:\(port)"
  }

  private func awaitPort() throws {
    try waitUntil("the proxy listens: \(program.peekAtErrors())") { try Loopback.isListened(port) }
  }

  func awaitConnection(to port: String) throws {
    let place = "127.0.0.1:\(port)"
    if scheme == LocalProxy.Kind.microsocks.scheme {
      try program.errorLine(containing: place)
    } else {
      while try !program.line().contains(place) {}
    }
  }
}
