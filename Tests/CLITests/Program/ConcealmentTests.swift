import Foundation
import Testing

@testable import pusher_cli

@Suite("What messages and the system must not show", .runsPrograms) struct ConcealmentTests {
  /// Every option that takes a URL or something similar, with the other arguments of its command.
  private static let options: [String] = [
    "subscribe --key k --host h private-a --auth-endpoint=URL",
    "subscribe --key k --host h a --user-auth-endpoint=URL", "subscribe --key k --host=URL a",
    "subscribe --key k --proxy=URL a", "subscribe --key k --cluster=URL a", "subscribe --key=URL a",
    "subscribe --key k --path=URL a", "subscribe --key k URL", "sse URL",
    "sse http://h/ --proxy=URL",
    "serve --webhook=URL", "serve --listen=URL", "webhook listen --local --listen=URL",
    "trigger --key k --app-id=URL -c a -e b 1", "channels --key k --app-id 1 URL", "URL",
    "subscribe --local a --secret-file=URL private-b", "subscribe --local a --cacert=URL",
  ]
  /// As the URL of an endpoint, this mistake is found when the run begins.
  private static let late = "https://u:OPEN/SESAME@h:port/"
  private static let wrong = [
    "http://u:SESAME@h h/",
    "ftp://u:SESAME@h/", late,
    "http://u:SESAME@",
    "http://u:OPEN'SESAME@h h", "u:SESAME@h h",
  ]

  private static func words(_ line: String, url: String) -> [String] {
    line.split(separator: " ").map { String($0).replacing("URL", with: url) }
  }

  @Test(arguments: options)
  func `no mistake with a URL shows its password`(line: String) {
    for url in Self.wrong where url != Self.late || !line.contains("auth-endpoint") {
      let preview = Preview(Self.words(line, url: url))
      #expect(preview.mistake != nil, "\(line) \(url)")
      #expect(!preview.messages.contains("SESAME@"), "\(preview.messages)")
      #expect(preview.messages.utf8.count > 20)
    }
  }

  @Test(arguments: [
    ("sse URL", wrong[0]), ("serve --webhook=URL", wrong[0]),
    ("subscribe --key k --host h private-a --auth-endpoint=URL", late),
    ("subscribe --key k --host h a --user-auth-endpoint=URL", late),
  ])
  func `a mistaken URL ends with 2 and hides its password`(line: String, url: String) throws {
    let result = try PusherCLI.start(Self.words(line, url: url)).result()
    result.expect(2, prints: "")
    #expect(result.errorText.hasPrefix("pusher-cli: error: "))
    #expect(!result.errorText.contains("SESAME@"), "\(result.errorText)")
  }

  private static func environment(_ name: String, _ url: String) -> [String: String] {
    var environment = ["PUSHER_APP_SECRET": "s", "PUSHER_APP_ID": "1", "PUSHER_APP_KEY": "k"]
    if name == "PUSHER_URL" { environment["PUSHER_APP_KEY"] = nil }
    environment[name] = url
    return environment
  }

  @Test(
    arguments: [
      "PUSHER_URL", "PUSHER_HOST", "HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "PUSHER_APP_CLUSTER",
      "PUSHER_APP_KEY", "PUSHER_SCHEME", "PUSHER_PORT", "PUSHER_APP_ID",
    ])
  func `no mistake in a variable shows its password`(name: String) {
    for url in Self.wrong + ["https://k:SESAME@api-eu.pusher.com/apps/"] {
      let preview = Preview(["channels"], Self.environment(name, url))
      #expect(!preview.messages.contains("SESAME@"), "\(preview.messages)")
    }
  }

  @Test func `messages keep what is no password`() throws {
    let form = try PusherCLI.run("channels", environment: ["PUSHER_URL": "x"])
    #expect(form.errorText.contains("https://KEY:SECRET@api-CLUSTER.pusher.com/apps/ID"))
    let channel = try PusherCLI.run("subscribe", "--key", "k", "a@b:c")
    #expect(channel.errorText.contains("'a@b:c'"))
  }

  @Test func `the memory is not dumped, and standard output is opened anew all the same`() throws {
    let server = try ScriptedServer.joined { connection in
      try connection.send(event: "e", data: "1")
    }
    // Drops root first, because hidden data belongs to root. The shell's pipe belongs to the other
    // user.
    let line = #""$0" "$@" | cat; :"#
    let (program, environment, handed) = try forAnyUser()
    defer { for descriptor in handed { close(descriptor) } }
    let drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    let command =
      (getuid() == 0 ? drop : []) + ["sh", "-c", line, program, "subscribe"] + server.address
    let shell = try ChildProgram(
      command[0], command.dropFirst() + ["news"], environment: environment, handed: handed)
    #expect(try shell.line().contains(#""event":"e""#))
    let id = try #require(
      shell.children.first {
        (try? fileText("/proc/\($0)/comm")) != "cat\n"
      })
    let process = "/proc/\(id)"
    let files = FileManager.default
    let status = try fileText(process + "/status")
    #expect(!status.contains("Uid:\t0\t"))
    let owner = try files.attributesOfItem(atPath: process + "/fd")[.ownerAccountID]
    #expect(owner as? Int == 0)
    if getuid() == 0 {
      let ends = try files.contentsOfDirectory(atPath: process + "/fd").compactMap {
        try? files.destinationOfSymbolicLink(atPath: "\(process)/fd/\($0)")
      }
      let output = try files.destinationOfSymbolicLink(atPath: process + "/fd/1")
      #expect(ends.count { $0 == output } == 2, "the pipe, and the same once more: \(ends)")
    }
    shell.endWithChildren()
  }

  /// Returns the program as a child of any user can start it, with its environment and descriptors.
  ///
  /// Another user may enter neither a home directory nor the folders below it. So the child gets a
  /// copy of the program as descriptor 3, and the folder of the Swift libraries as descriptor 4.
  private func forAnyUser() throws -> (
    path: String, environment: [String: String], handed: [Int32]
  ) {
    let copy = TemporaryFolder.shared.file("program")
    // A copy made here could not start while a child of another test, just forked, holds it open.
    try ChildProgram(
      "install", ["-m", "755", PusherCLI.path, copy], environment: PusherCLI.environment
    ).result().expect()
    var environment = PusherCLI.environment
    var handed = [open(copy, O_RDONLY | O_CLOEXEC)]
    let maps = try SystemFile.text("/proc/self/maps")
    let library = maps.split(separator: "\n").first { $0.hasSuffix("/libswiftCore.so") }
    if let library, let start = library.firstIndex(of: "/"), let end = library.lastIndex(of: "/") {
      handed.append(open(String(library[start..<end]), O_RDONLY | O_DIRECTORY | O_CLOEXEC))
      environment["LD_LIBRARY_PATH"] = "/proc/self/fd/4"
    }
    return ("/proc/self/fd/3", environment, handed)
  }
}
