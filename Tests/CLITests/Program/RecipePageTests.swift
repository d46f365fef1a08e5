import Foundation
import PusherCore
import Testing

@Suite("docs/recipes.md, run as it is printed", .runsPrograms)
struct RecipePageTests {
  /// The last part has engines of its own: `scripts/check.sh recipes` runs its blocks, and fails
  /// when one of them is left out.
  private static let engines = "\n## The engines that events go to\n"
  private static let page = (try? Documentation.text("docs/recipes.md")) ?? ""
  private static let all = Documentation.fenced(text: page)
  private static let blocks = Documentation.fenced(text: page.components(separatedBy: engines)[0])

  /// The blocks that are neither files nor shown as output.
  private static var scripts: [(kind: String, text: String)] {
    blocks.filter { ["sh", "bash"].contains($0.kind) && !$0.text.hasPrefix("#!") }
  }

  @Test func `every block is one that the next test runs, or part of one`() {
    #expect(Self.scripts.count == Recipe.allCases.count)
    for (_, text) in Self.scripts {
      #expect(Recipe.allCases.filter { text.contains($0.rawValue) }.count == 1, "\(text)")
    }
    for file in Self.blocks.filter({ $0.text.hasPrefix("#!") }) {
      let name = RecipePage.name(of: file.text)
      let others = Self.blocks.filter { $0.text != file.text }
      #expect(others.contains { $0.text.contains(name) }, "\(name) is used nowhere")
    }
    #expect(Set(Self.blocks.map(\.kind)) == ["sh", "bash", "json", "text", "ini", "yaml"])
  }

  @Test(arguments: Recipe.allCases)
  func `a recipe does what is said of it`(recipe: Recipe) throws {
    let script = try #require(Self.scripts.first { $0.text.contains(recipe.rawValue) })
    let page = RecipePage(blocks: Self.blocks, script: script.text, shell: script.kind)
    switch recipe {
    case .watch, .table, .artisan, .send, .stand: try LaravelPlay(page).play(recipe)
    case .exec, .fields, .text, .record, .status: try ScripterPlay(page).play(recipe)
    case .build, .descriptor, .local, .load: try JobPlay(page).play(recipe)
    case .forward, .outside, .quiet, .minutes, .replace: try OperatorPlay(page).play(recipe)
    case .check, .config, .option, .advice: try MistakePlay(page).play(recipe)
    case .chat, .messages, .ollama, .tools, .session, .hub, .changes:
      try StreamPlay(page).play(recipe)
    }
  }

  @Test func `the unit runs the forwarder, which hands on events and says how it is`() throws {
    let unit = try #require(Self.blocks.first { $0.kind == "ini" })
    let page = RecipePage(blocks: Self.blocks, script: unit.text, shell: "sh")
    try OperatorPlay(page).runUnit()
  }

  @Test(.needs(.program("shellcheck")))
  func `shellcheck has nothing to say about them`() throws {
    let others = try Documentation.fenced("docs/moving.md")
    for (kind, text) in Self.all + others where ["sh", "bash"].contains(kind) {
      // The first line is typed, and `cd` tells itself when there is no such folder.
      let left = text.hasPrefix("cd project; ") ? ["--exclude=SC2164"] : []
      let result = try PusherCLI.tool(
        ["shellcheck", "-s", kind] + left + ["-"], input: Array((text + "\n").utf8))
      #expect(result.ending == .exited(0), "\(result.outputText)")
    }
  }
}

/// The scripts of the page, each by a part that no other has.
enum Recipe: String, CaseIterable {
  case watch = "cd project;"
  case table = #"-F '%T\t%e\t%D'"#
  case artisan = "php artisan"
  case send = "pusher-cli trigger --env-file"
  case stand = "pusher-cli serve --env-file"
  case exec = "--exec ./on-deploy.sh"
  case fields = "IFS=$tab"
  case text = "xargs -0"
  case record = "<recording.jsonl"
  case status = "no order within"
  case build = "--on-ready ./start-build.sh"
  case descriptor = "--ready-fd 3"
  case local = "./place-order.sh"
  case load = "pusher-cli bench"
  case forward = "--forward-dead"
  case outside = ">report"
  case quiet = "--idle-timeout 2m"
  case minutes = "uniq -c"
  case replace = "./serve-anew.sh"
  case check = "pusher-cli check --env-file"
  case config = "pusher-cli config"
  case option = "set REVERB_SCHEME=http"
  case advice = ".advice[]"
  case chat = "api.openai.com"
  case messages = "api.anthropic.com"
  case ollama = "11434/api/chat"
  case tools = "Mcp-Method"
  case session = "notifications/initialized"
  case hub = "mercure?topic="
  case changes = "stream.wikimedia.org"
}

/// A script of the page among the other blocks.
struct RecipePage {
  let blocks: [(kind: String, text: String)]
  let script: String
  let shell: String

  /// What a file's second line calls it, `# NAME: what it does`.
  static func name(of file: String) -> String {
    let line = file.split(separator: "\n").dropFirst().first ?? ""
    return String(line.dropFirst(2).prefix { $0 != ":" })
  }

  /// Puts the files of the page on a stage: `NAME.sh` into its folder, others where programs are
  /// found.
  func install(on stage: RecipeStage) throws {
    for (_, text) in blocks where text.hasPrefix("#!") {
      let name = Self.name(of: text)
      try stage.write(name.hasSuffix(".sh") ? name : "bin/\(name)", text + "\n")
    }
  }

  /// The next block of this kind after the script.
  func output(_ kind: String) throws -> String {
    let place = try #require(blocks.firstIndex { $0.text == script })
    return try #require(blocks[place...].first { $0.kind == kind }).text
  }
}

/// A Laravel project whose `.env` leads to a server.
final class LaravelPlay {
  private let page: RecipePage
  private let scene: RecipeScene
  private let event = (name: #"App\Events\OrderShipped"#, data: #"{"id":1,"total":1.10}"#)

  init(_ page: RecipePage) throws {
    self.page = page
    scene = try RecipeScene(leads: .never)
    try scene.stage.write("project/.env", Self.settings(port: scene.server.port))
  }

  static func settings(port: String, scheme: String = "http") -> String {
    """
    APP_NAME="A shop"
    BROADCAST_CONNECTION=reverb

    REVERB_APP_ID=2
    REVERB_APP_KEY=app-key
    REVERB_APP_SECRET="app-secret"
    REVERB_HOST="127.0.0.1"
    REVERB_PORT=\(port)
    REVERB_SCHEME=\(scheme)

    VITE_REVERB_APP_KEY="${REVERB_APP_KEY}"
    VITE_REVERB_PORT="${REVERB_PORT}"

    """
  }

  func play(_ recipe: Recipe) throws {
    switch recipe {
    case .artisan: try artisan()
    case .send: try send()
    case .stand: try stand()
    case .watch:
      let program = try scene.stage.start(page.script)
      try scene.send("private-orders.1", event.name, event.data, to: program)
      #expect(try program.line() == page.output("json"))
      program.endWithChildren()
    default:
      let program = try scene.stage.start(page.script, in: "project")
      try scene.send("private-orders.1", "order.paid", "1", to: program)
      try scene.send("private-orders.1", event.name, event.data, to: program)
      let fields = try program.line().split(separator: "\t")
      #expect(fields.dropFirst() == [#"App\Events\OrderShipped"#, #"{"id":1,"total":1.10}"#])
      #expect(fields.first?.contains("T") == true)
      program.endWithChildren()
    }
  }

  private func artisan() throws {
    let sending = try #require(page.blocks.first { $0.text.contains(Recipe.send.rawValue) }).text
    try scene.stage.write(
      "bin/php", "#!/bin/sh\n[ \"$*\" = 'artisan orders:ship 1' ] || exit 1\n\(sending)\n")
    let result = try scene.stage.start(page.script, in: "project").result()
    #expect(result.ending == .exited(0), "\(result.errorText)")
    #expect(result.outputText.filter { !$0.isWhitespace }.hasPrefix(#"{"id":1,"total":1.1"#))
  }

  private func send() throws {
    let listener = try PusherCLI.start(
      ["subscribe"] + scene.server.address + ["private-orders.1", "-L"],
      environment: RecipeScene.app)
    _ = try listener.lines(2)
    try scene.stage.start(page.script, in: "project").result().expect(0, prints: "")
    #expect(
      try listener.line()
        == #"{"event":"App\\Events\\OrderShipped","channel":"private-orders.1","data":\#(event.data)}"#
    )
  }

  private func stand() throws {
    let port = String(try Loopback.closedPort())
    try scene.stage.write("project/.env", Self.settings(port: port))
    let script = page.script.replacing("127.0.0.1:8080", with: "127.0.0.1:\(port)")
    #expect(script != page.script)
    let server = try scene.stage.start(script, in: "project")
    try server.errorLine(containing: "listening on http://127.0.0.1:\(port)")
    let words = ["-c", "private-orders.1", "-e", event.name, event.data]
    let file = scene.stage.folder + "/project/.env"
    try PusherCLI.run(["trigger", "--env-file", file] + words).expect(0)
    #expect(try server.line().contains(#""event":"App\\Events\\OrderShipped""#))
    server.endWithChildren()
  }
}

/// Scripts with the app in the environment.
final class ScripterPlay {
  private let page: RecipePage
  private let scene: RecipeScene

  init(_ page: RecipePage) throws {
    self.page = page
    scene = try RecipeScene()
    try page.install(on: scene.stage)
  }

  private func start() throws -> ChildProgram {
    try scene.stage.start(page.script, RecipeScene.app, by: page.shell)
  }

  func play(_ recipe: Recipe) throws {
    switch recipe {
    case .exec: try exec()
    case .fields:
      let program = try start()
      try scene.send("orders", "created", "a\tb\nc", to: program)
      try scene.send("invoices", "paid", #"{"id":1}"#, to: program)
      let lines = try program.lines(2)
      #expect(lines == [#"orders sent created: a\tb\nc"#, #"invoices sent paid: {"id":1}"#])
      program.endWithChildren()
    case .text:
      try scene.stage.write("import.sh", "#!/bin/sh\nprintf '<%s>' \"$1\"\n")
      let program = try start()
      for text in ["one file", "two\nlines", "$(three)"] {
        try scene.send("files", "uploaded", text, to: program)
      }
      #expect(try program.result().outputText == "<one file><two\nlines><$(three)>")
    case .record: try record()
    default: try status()
    }
  }

  private func exec() throws {
    try scene.stage.write("deploy.sh", "#!/bin/sh\necho \"$1\" >>deployed\n")
    let program = try start()
    try scene.send("deploys", "requested", #"{"ref":"v1 && rm $(x)"}"#, to: program)
    try scene.send("deploys", "refused", #"{"ref":"v0"}"#, to: program)
    try scene.send("deploys", "requested", #"{"ref":"v2"}"#, to: program)
    #expect(try scene.stage.contents("deployed", lines: 2) == "v1 && rm $(x)\nv2\n")
    program.endWithChildren()
  }

  private func record() throws {
    let program = try start()
    for number in 1...3 { try scene.send("orders", "created", "\(number)", to: program) }
    // The recorder has gone once its file is whole; what is heard from then on is the recording.
    let recorded = try scene.stage.contents("recording.jsonl", lines: 3)
    #expect(recorded.split(separator: "\n").allSatisfy { $0.hasPrefix(#"{"received_at":""#) })
    #expect(try program.wait() == .exited(0))
    let listener = try PusherCLI.start(
      ["subscribe"] + scene.server.address + ["orders", "-L", "-n", "3"],
      environment: RecipeScene.app)
    _ = try listener.lines(2)
    let replay = try #require(page.script.split(separator: "\n").last)
    #expect(try scene.stage.start(String(replay), RecipeScene.app).wait() == .exited(0))
    #expect(
      try listener.lines(3)
        == (1...3).map { #"{"event":"created","channel":"orders","data":\#($0)}"# })
  }

  private func status() throws {
    let program = try start()
    try scene.send("private-orders", "created", #"{"id":1}"#, to: program)
    #expect(try program.result().outputText == "{\"id\":1}\n")
    let brief = page.script.replacing("30s", with: "300ms")
    let other = RecipeScene.app.merging(["PUSHER_APP_SECRET": "another"]) { $1 }
    let nowhere = try RecipeStage(port: String(try Loopback.closedPort()))
    for (stage, script, environment, words) in [
      (scene.stage, brief, RecipeScene.app, "no order within 30 seconds"),
      (scene.stage, page.script, other, "the key, the secret or the channel is refused"),
      (nowhere, page.script, RecipeScene.app, "the server cannot be reached"),
      (scene.stage, page.script, [:], "something else: standard error tells it"),
    ] {
      let result = try stage.start(script, environment).result()
      #expect(result.outputText == words + "\n", "\(result.errorText)")
    }
  }
}
