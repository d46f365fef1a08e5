import Foundation
import PusherCore

/// Debian's nginx with its nchan module, on a port of 127.0.0.1; it ends with the object.
///
/// The event stream `/stream` delivers messages posted to `/publish`. They stay in memory until a
/// restart.
final class LocalNginx {
  private static let program = "/usr/sbin/nginx"
  private static let module = "/usr/lib/nginx/modules/ngx_nchan_module.so"

  static var isInstalled: Bool {
    FileManager.default.isExecutableFile(atPath: program)
      && FileManager.default.fileExists(atPath: module)
  }

  let port: UInt16
  private let configuration: String
  private var child: ChildProgram

  init() throws {
    port = try Loopback.closedPort()
    configuration = try Self.configuration(Self.stream(port: port), hasNchan: true)
    child = try Self.start(configuration, port: port)
  }

  var url: String { "http://127.0.0.1:\(port)/stream" }

  func restart() throws {
    child.send(SIGTERM)
    try child.wait()
    child = try Self.start(configuration, port: port)
  }

  /// Publishes each text as a message, over one connection.
  func publish(_ messages: [String]) throws {
    let requests = messages.map { message in
      let quoted = message.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
      return "url = \"http://127.0.0.1:\(port)/publish\"\ndata = \"\(quoted)\"\n"
        + "output = /dev/null\nsilent\nshow-error\nfail\n"
    }
    let file = try TemporaryFolder.shared.file(
      "requests", holding: requests.joined(separator: "next\n"))
    let result = try PusherCLI.tool(["curl", "-K", file])
    guard result.ending == .exited(0) else { throw Unexpected("curl: \(result.errorText)") }
  }

  private static func start(_ configuration: String, port: UInt16) throws -> ChildProgram {
    let folder = URL(filePath: configuration).deletingLastPathComponent().path
    let child = try ChildProgram(
      program, ["-e", "stderr", "-p", folder, "-c", configuration],
      environment: PusherCLI.environment)
    try waitUntil("nginx listens: \(child.peekAtErrors())") { try Loopback.isListened(port) }
    return child
  }

  /// Starts nginx with these `http` blocks, one of which listens on the port.
  static func start(site: String, port: UInt16) throws -> ChildProgram {
    try start(configuration(site, hasNchan: false), port: port)
  }

  private static func configuration(_ site: String, hasNchan: Bool) throws -> String {
    let folder = TemporaryFolder.shared.file("nginx")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    // Workers of a root process switch to a user who may not access the folder.
    let user = getuid() == 0 ? "user root;" : ""
    // The defaults are folders of the system, which only root may make.
    let spools = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
      "\($0)_temp_path \(folder)/\($0);"
    }
    let text = """
      \(hasNchan ? "load_module \(try ownModule(in: folder));" : "")
      daemon off;
      \(user)
      worker_processes 1;
      pid \(folder)/pid;
      error_log stderr error;
      events { worker_connections 64; }
      http {
        access_log off;
        keepalive_requests 1000000;
        \(spools.joined(separator: "\n  "))
        \(site)
      }

      """
    let path = folder + "/nginx.conf"
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    return path
  }

  /// Returns the path of a copy of the module that keeps long messages below nginx's prefix.
  ///
  /// Debian's module has the path of a folder of the system for them, which only root may make. It
  /// takes no other path: it calls its own directive `nchan_message_temp_path` a duplicate.
  private static func ownModule(in folder: String) throws -> String {
    var bytes = try Data(contentsOf: URL(filePath: module))
    let system = Data("/var/lib/nginx/body".utf8)
    // As many bytes. Other systems' modules may have a folder below the prefix already.
    let own = Data("spool-of-nchan-body".utf8)
    while let place = bytes.range(of: system) { bytes.replaceSubrange(place, with: own) }
    let path = folder + "/nchan.so"
    try bytes.write(to: URL(filePath: path))
    return path
  }

  private static func stream(port: UInt16) -> String {
    """
    server {
      listen 127.0.0.1:\(port);
      location = /publish {
        nchan_publisher;
        nchan_channel_id test;
        nchan_message_buffer_length 20000;
        nchan_message_timeout 1h;
      }
      location = /stream {
        nchan_subscriber eventsource;
        nchan_channel_id test;
      }
    }
    """
  }
}
