import Foundation
import PusherCore
import Testing

/// SIGHUP makes `serve --apps` read its file again.
@Suite("serve --apps, read again on SIGHUP", .runsPrograms) struct RenewedAppsTests {
  private let file: String
  private let server: LocalServer

  private static let first = #"{"id": "1", "key": "one", "secret": "s1"}"#
  private static let second = #"{"id": "2", "key": "two", "secret": "s2"}"#

  init() throws {
    file = try TemporaryFolder.shared.file("apps", holding: "[\(Self.first), \(Self.second)]")
    server = try LocalServer(options: ["--apps", file])
  }

  private func renew(_ text: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: file))
    server.signal(SIGHUP)
  }

  private func environment(_ app: String) -> [String: String] {
    let key = ["1": "one", "2": "two", "3": "three"][app] ?? ""
    return ["PUSHER_APP_ID": app, "PUSHER_APP_KEY": key, "PUSHER_APP_SECRET": "s\(app)"]
  }

  private func subscriber(_ app: String) throws -> ChildProgram {
    let program = try PusherCLI.start(
      ["subscribe", "-c", "private-x", "-L", "--reconnect", "never"] + server.address,
      environment: environment(app))
    _ = try program.outputLine(containing: "succeeded")
    return program
  }

  private func trigger(_ app: String, _ changes: [String: String] = [:]) throws -> ProgramResult {
    try PusherCLI.run(
      ["trigger"] + server.address + ["-c", "private-x", "-e", "e", "1"],
      environment: environment(app).merging(changes) { $1 })
  }

  @Test func `a new app is served, one that is gone closed with 4001, others go on`() throws {
    let staying = try subscriber("1")
    let leaving = try subscriber("2")
    #expect(try trigger("3").ending != .exited(0))
    try renew(#"[\#(Self.first), {"id": "3", "key": "three", "secret": "s3"}]"#)
    let said = try server.errorLine(containing: "again")
    #expect(said.hasSuffix("-apps again: app '3' is new; app '2' is gone"), "\(said)")
    #expect(try leaving.result().errorText.contains("4001"))
    let new = try subscriber("3")
    for app in ["1", "3"] { try trigger(app).expect(0) }
    #expect(try trigger("2").errorText.contains("404"))
    for program in [staying, new] { #expect(try program.line().contains(#""event":"e""#)) }
    // A removed app comes back as a new one.
    try renew("[\(Self.first), \(Self.second)]")
    #expect(try server.errorLine(containing: "again").contains("app '2' is new; app '3' is gone"))
    let back = try subscriber("2")
    try trigger("2").expect(0)
    #expect(try back.line().contains(#""event":"e""#))
  }

  @Test func `an app that has changed keeps its sockets, and counts as it is now`() throws {
    let subscriber = try subscriber("1")
    try renew(
      #"[{"id": "1", "key": "one", "secret": "neu", "limits": {"event_bytes": 10}}, \#(Self.second)]"#
    )
    #expect(try server.errorLine(containing: "again").hasSuffix("app '1' has changed"))
    #expect(try trigger("1").errorText.contains("401"))
    let new = ["PUSHER_APP_SECRET": "neu"]
    try trigger("1", new).expect(0)
    #expect(try subscriber.line().contains(#""event":"e""#))
    let large = try PusherCLI.run(
      ["trigger"] + server.address + ["-c", "private-x", "-e", "e", #"{"a":"0123456789"}"#],
      environment: environment("1").merging(new) { $1 })
    #expect(large.errorText.contains("413"))
  }

  @Test func `an app that is not enabled any more closes its sockets with 4003`() throws {
    let program = try subscriber("1")
    let other = try subscriber("2")
    try renew(#"[{"id": "1", "key": "one", "secret": "s1", "enabled": false}, \#(Self.second)]"#)
    #expect(try program.result().errorText.contains("4003"))
    #expect(try trigger("1").errorText.contains("403"))
    try trigger("2").expect(0)
    #expect(try other.line().contains(#""event":"e""#))
  }

  @Test(arguments: [
    ("[{", "the file is "), ("[]", "a JSON array with at least one app"),
    (#"[{"id": "1", "key": "one"}]"#, "secret"), (nil, "cannot read"),
  ])
  func `a file that is wrong or gone changes nothing`(text: String?, reason: String) throws {
    let program = try subscriber("2")
    if let text {
      try renew(text)
    } else {
      try FileManager.default.removeItem(atPath: file)
      server.signal(SIGHUP)
    }
    let said = try server.errorLine(containing: "SIGHUP")
    #expect(said.contains(reason) && !said.contains("s1"), "\(said)")
    #expect(said.hasSuffix("; the apps stay as they are"), "\(said)")
    try trigger("2").expect(0)
    #expect(try program.line().contains(#""event":"e""#))
  }

  @Test func `a file that says the same changes nothing, also through the configuration`() throws {
    let options = try TemporaryFolder.shared.file("serve", holding: "[serve]\napps = \(file)\n")
    for server in [server, try LocalServer(options: ["--config", options])] {
      server.signal(SIGHUP)
      #expect(try server.errorLine(containing: "again").hasSuffix("nothing has changed"))
    }
  }

  @Test func `webhooks that wait for their receiver are still sent when the app changes`() throws {
    let port = try Loopback.closedPort()
    func app(_ secret: String) -> String {
      #"[{"id": "1", "key": "one", "secret": "\#(secret)", "webhooks": ["http://127.0.0.1:\#(port)/"]}]"#
    }
    try renew(app("s1"))
    #expect(try server.errorLine(containing: "again").contains("has changed"))
    let program = try subscriber("1")
    _ = try server.errorLine(containing: "webhook channel_occupied")
    try renew(app("neu"))
    #expect(try server.errorLine(containing: "again").contains("app '1' has changed"))
    let receiver = try PusherCLI.start(
      ["webhook", "listen", "--listen", "127.0.0.1:\(port)", "-n", "1"],
      environment: environment("1"))
    #expect(try receiver.result().outputText.contains("channel_occupied"))
    try program.end()
  }
}
