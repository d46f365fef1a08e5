import Foundation
import PusherCore
import Testing

/// Jobs that wait for the event of a build.
final class JobPlay {
  private let page: RecipePage
  private let scene: RecipeScene
  private let environment = RecipeScene.app.merging(["RUN_ID": "17"]) { $1 }

  init(_ page: RecipePage) throws {
    self.page = page
    scene = try RecipeScene()
  }

  func play(_ recipe: Recipe) throws {
    guard recipe != .local else { return try local() }
    guard recipe != .load else { return try load() }
    let finish = "pusher-cli trigger -c private-build-17 -e build.finished "
    for (build, ending, printed) in [
      (finish + #"'{"status":"passed"}'"#, 0, "true\n"),
      (finish + #"'{"status":"failed"}'"#, 1, "false\n"),
    ] {
      let result = try run("#!/bin/sh\n\(build)\n", page.script, environment)
      #expect(result.ending == .exited(Int32(ending)), "\(build): \(result.errorText)")
      #expect(result.outputText == printed)
    }
    let brief = page.script.replacing("5m", with: "3s")
    #expect(brief != page.script)
    #expect(try run("#!/bin/sh\nexit 0\n", brief, environment).ending == .exited(124))
    let other = environment.merging(["PUSHER_APP_SECRET": "another"]) { $1 }
    #expect(try run("#!/bin/sh\nexit 0\n", page.script, other).ending == .exited(3))
    guard recipe == .build else { return }
    #expect(try run("#!/bin/sh\nexit 3\n", page.script, environment).ending == .exited(7))
  }

  private func run(
    _ build: String, _ script: String, _ environment: [String: String]
  ) throws -> ProgramResult {
    try? FileManager.default.removeItem(atPath: scene.stage.folder + "/ready")
    try scene.stage.write("start-build.sh", build)
    return try scene.stage.start(script, environment, by: page.shell).result()
  }

  /// The load runs against the server that the script starts, and ends with 8 if events are lost.
  private func load() throws {
    let brief = page.script.replacing("--time 5s", with: "--time 200ms")
    #expect(brief != page.script)
    let lossy = brief.replacing("serve &", with: "serve --fault bad-json:times=1 &")
    #expect(lossy != brief)
    for (script, ending) in [(brief, Int32(0)), (lossy, 8)] {
      let stage = try RecipeStage(port: String(Loopback.closedPort()))
      let result = try stage.start(script, by: page.shell).result()
      #expect(result.ending == .exited(ending), "\(result.errorText)")
      let figures = try JSONParser.parse(stage.contents("bench.json"))
      #expect(figures["lost"]?.integer == (ending == 0 ? 0 : 1))
    }
  }

  /// The program that is tested finds app and server in the variables alone.
  private func local() throws {
    let stage = try RecipeStage(port: "1", leads: .never)
    for (total, ending) in [("1.10", 0), ("2", 1)] {
      try stage.write(
        "place-order.sh",
        "#!/bin/sh\nexec \"$PROGRAM\" trigger -c orders -e placed '{\"total\":\(total)}'\n")
      let result = try stage.start(page.script, by: page.shell).result()
      #expect(result.ending == .exited(Int32(ending)), "\(result.errorText)")
      #expect(result.outputText == (ending == 0 ? "true\n" : "false\n"))
    }
  }
}

/// Programs that run for months, and those that watch them.
final class OperatorPlay {
  private let page: RecipePage
  private let scene: RecipeScene

  init(_ page: RecipePage) throws {
    self.page = page
    scene = try RecipeScene(leads: .never)
    try page.install(on: scene.stage)
    try scene.stage.write("page-someone.sh", "#!/bin/sh\necho \"$1\" >>paged\ncat >>read\n")
  }

  func play(_ recipe: Recipe) throws {
    switch recipe {
    case .outside: try outside()
    case .quiet: try quiet()
    case .minutes: try minutes()
    case .replace: try replace()
    default: try forward()
    }
  }

  private func outside() throws {
    let well = app(port: scene.server.port)
    #expect(try scene.stage.start(page.script, well).wait() == .exited(0))
    let ill = app(port: String(try Loopback.closedPort()))
    #expect(try scene.stage.start(page.script, ill).wait() == .exited(4))
    #expect(try scene.stage.contents("paged") == "check: status 4\n")
    #expect(try scene.stage.contents("read").contains("connection      FAILED: "))
  }

  private func forward() throws {
    let (hook, taken) = try receiver()
    let brief = page.script.replacing("1h", with: "300ms")
    #expect(brief != page.script)
    let url = ["WEBHOOK_URL": "http://127.0.0.1:\(hook.port)/orders"]
    let app = app(port: scene.server.port).merging(url) { $1 }
    let program = try scene.stage.start(brief, app)
    for data in [#"{"id":1}"#, #"{"id":"refuse"}"#] {
      try scene.send("private-orders", "order.created", data, to: program)
    }
    #expect(try scene.stage.contents("undelivered.jsonl") == Self.line(#""refuse""#) + "\n")
    #expect(taken.values.first?.hasPrefix(Self.line("1")) == true)
    program.endWithChildren()
  }

  private static func line(_ id: String) -> String {
    #"{"event":"order.created","channel":"private-orders","data":{"id":\#(id)}}"#
  }

  private func quiet() throws {
    let brief = page.script.replacing("2m", with: "300ms")
    #expect(brief != page.script)
    let program = try scene.stage.start(brief, app(port: scene.server.port))
    let page = "no tick within 2 minutes\n"
    #expect(try scene.stage.contents("paged") == page)
    try scene.send("ticker", "tick", "1", to: program)
    #expect(try scene.stage.contents("paged", lines: 2) == page + page)
    program.endWithChildren()
  }

  private func minutes() throws {
    let brief = page.script.replacing("--timeout 1h", with: "-n 3")
    let program = try scene.stage.start(brief, app(port: scene.server.port))
    for _ in 1...3 { try scene.send("ticker", "tick", "1", to: program) }
    let rows = try program.result().outputText.split(separator: "\n")
    #expect(rows.compactMap { Int($0.split(separator: " ")[0]) }.reduce(0, +) == 3, "\(rows)")
  }

  /// Starts a server three times; each ends the one before.
  private func replace() throws {
    let port = try Loopback.closedPort()
    let stage = try RecipeStage(port: String(port))
    try page.install(on: stage)
    var former: ChildProgram?
    for _ in 0..<3 {
      let server = try stage.start(page.script)
      try server.errorLine(containing: "listening on http://127.0.0.1:\(port) ")
      #expect(try former?.wait() ?? .exited(143) == .exited(143))
      try waitUntil("the server is the one of server.pid") {
        try stage.contents("serve.pid") == stage.contents("server.pid")
      }
      #expect(try PlainRequest(port).outcome() == .answered(status: 404))
      former = server
    }
    stage.end("serve")
    #expect(try former?.wait() == .exited(143))
  }

  /// Does with the unit what systemd does with it: variables, credentials, folder, socket and
  /// watchdog.
  func runUnit() throws {
    let lines = page.script.split(separator: "\n").filter { $0.contains("=") }
    let settings = lines.map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
    func setting(_ name: String) throws -> String {
      try #require(settings.first { $0[0] == name }?.last, "\(name)")
    }
    #expect(try [setting("Type"), setting("NotifyAccess")] == ["notify", "main"])
    #expect(try setting("RestartPreventExitStatus") == "2 3")
    #expect(try setting("WatchdogSec") == "90s")
    let (hook, taken) = try receiver()
    let variable = try setting("Environment").split(separator: "=", maxSplits: 1).map(String.init)
    let credential = try setting("LoadCredential").split(separator: ":").map(String.init)
    let folder = scene.stage.folder + "/credentials"
    let variables = app(port: scene.server.port).map { "\($0.key)=\($0.value)\n" }
    try scene.stage.write("credentials/" + credential[0], variables.joined())
    let manager = try ListeningManager(isAbstract: false)
    let command = try setting("ExecStart")
    let place = try setting("WorkingDirectory")
    #expect(command.hasPrefix("/usr/local/bin/") && place.hasPrefix("%S/"))
    let program = try scene.stage.start(
      "exec " + (command as NSString).lastPathComponent,
      [
        variable[0]: variable[1].replacing("%d", with: folder), "CREDENTIALS_DIRECTORY": folder,
        "NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "200000",
        "WEBHOOK_URL": "http://127.0.0.1:\(hook.port)/orders",
      ])
    #expect(manager.await("READY=1\nSTATUS=subscribed to 1 channel of 127.0.0.1"))
    for _ in 0..<2 { #expect(manager.await("WATCHDOG=1")) }
    try scene.send("private-orders", "order.created", #"{"id":1}"#, to: program)
    try scene.send("private-orders", "order.created", #"{"id":"refuse"}"#, to: program)
    let undelivered = try scene.stage.contents("undelivered.jsonl")
    #expect(taken.values.first == Self.line("1") + "\n")
    #expect(undelivered == Self.line(#""refuse""#) + "\n")
    program.send(SIGUSR1)
    try program.errorLine(containing: " 2 events (")
    program.send(SIGTERM)
    #expect(manager.await("STOPPING=1"))
    #expect(try program.wait() == .signalled(SIGTERM))
  }

  private func app(port: String) -> [String: String] {
    RecipeScene.app.merging(
      ["PUSHER_HOST": "127.0.0.1", "PUSHER_PORT": port, "PUSHER_SCHEME": "http"]) { $1 }
  }

  /// A receiver that takes all but what asks to be refused.
  private func receiver() throws -> (ScriptedServer, Record<String>) {
    let taken = Record<String>()
    let server = try ScriptedServer { connection in
      let text = try connection.question().body
      if !text.contains("refuse") { taken.add(text) }
      try connection.answer(text.contains("refuse") ? 400 : 204)
    }
    return (server, taken)
  }
}

/// A project whose `.env` has the wrong scheme.
final class MistakePlay {
  private let page: RecipePage
  private let scene: RecipeScene

  init(_ page: RecipePage) throws {
    self.page = page
    scene = try RecipeScene(leads: .never)
    try scene.stage.write(".env", LaravelPlay.settings(port: scene.server.port, scheme: "https"))
  }

  /// A text without what differs from run to run: port, times, and the width of columns.
  private func plain(_ text: String) -> String {
    text.replacing(":\(scene.server.port)", with: ":8080")
      .replacing(" \(scene.server.port) ", with: " 8080 ")
      .replacing(#/\(\d+\.\d ms\)/#, with: "(TIME)").replacing(#/ {2,}/#, with: "  ")
  }

  func play(_ recipe: Recipe) throws {
    let result = try scene.stage.start(page.script).result()
    switch recipe {
    case .check, .config:
      #expect(result.ending == .exited(recipe == .check ? 4 : 0))
      let shown = try page.output("text") + "\n"
      #expect(plain(result.outputText) == plain(shown))
    case .option:
      #expect(result.ending == .exited(0), "\(result.errorText)")
      #expect(result.outputText == "set REVERB_SCHEME=http in .env\n")
    default:
      #expect(result.ending == .exited(0), "\(result.errorText)")
      let told = result.outputText.split(separator: "\n")
      #expect(told.first?.hasPrefix("tls: ") == true)
      #expect(told.first?.hasSuffix("it speaks plain HTTP: add --scheme http") == true)
    }
  }
}
