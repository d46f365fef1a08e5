import Foundation
import PusherCore
import Testing

@testable import pusher_cli

@Suite("What README, help and manual show, run as it is printed", .runsProgramsFirst)
struct RecipeTests {
  @Test func `the first thing shown prints the events of an app's settings`() throws {
    let session = ShownSession(try Documentation.readme("console")[0])
    try RecipePlay(session.commands).laravel(data: RecipePlay.order.2, prints: session.shown)
  }

  @Test func `the session with a server prints what it shows, twenty times in a row`() throws {
    let session = ShownSession(try #require(try Documentation.readme("console").last))
    #expect(session.commands.contains("pusher-cli serve &") && session.shown.count == 3)
    for run in 1...20 {
      let port = String(try Loopback.closedPort())
      let stage = try RecipeStage(port: port)
      let program = try stage.start(session.commands, merges: true)
      let lines = try program.lines(session.shown.count)
      // On another port than the one of --local, serve says which.
      let onUsualPort = lines.map {
        $0.replacing(":\(port)", with: ":6001").replacing(" --port \(port)", with: "")
      }
      #expect(onUsualPort == session.shown, "run \(run)")
      #expect(try program.wait() == .exited(0))
      stage.end("serve")
      #expect(try program.result().outputText == "", "run \(run)")
    }
  }

  private static func blocks() throws -> [String] {
    try Documentation.readme("sh") + Documentation.manual()
      + Documentation.recipes(HelpPage.recipes.text)
  }

  @Test func `every block that is shown is one that the next test runs`() throws {
    let blocks = try Self.blocks()
    #expect(blocks.count == 18)
    for block in blocks {
      #expect(Shown.allCases.filter { block.contains($0.rawValue) }.count == 1, "\(block)")
    }
    for shown in Shown.allCases {
      #expect(blocks.contains { $0.contains(shown.rawValue) }, "\(shown)")
    }
  }

  @Test(arguments: Shown.allCases)
  func `a block does what is said of it`(shown: Shown) throws {
    for block in try Self.blocks() where block.contains(shown.rawValue) {
      try RecipePlay(block).play(shown)
    }
  }
}

/// The blocks that are shown, by a part that no other has.
enum Shown: String, CaseIterable {
  case make = "make build"
  case pusher = "PUSHER_APP_CLUSTER=eu"
  case job = "start-build.sh"
  case forward = "--forward https"
  case table = "--env-file .env -c"
  case deploys = "deploy.requested"
  case presence = "--user-id monitor"
  case record = "tee -a orders.jsonl"
  case quiet = "--idle-timeout 2m"
  case session = "pusher-cli serve &"
  case channels = "news sport"
  case secret = "--secret-file secret"
  case script = "-c deploys -e requested"
  case stream = "--state-file last"
}

/// One block on a stage with a server, and what the outside does meanwhile.
private final class RecipePlay {
  private let block: String
  private let scene: RecipeScene
  private var server: LocalServer { scene.server }
  private var stage: RecipeStage { scene.stage }

  init(_ block: String) throws {
    self.block = block
    scene = try RecipeScene()
  }

  func play(_ shown: Shown) throws {
    switch shown {
    case .make: try stage.start(block).result().expect(0)
    case .pusher: try expect("7", after: ("private-orders", "order.created", "7"))
    case .forward: try forward()
    case .job: try job()
    case .table:
      try stage.write(".env", Self.settings)
      try expect("order.created\t1\t1.1", after: Self.order)
    case .secret:
      try stage.write("secret", "key-secret\n")
      try expect("order.created\t1\t1.1", after: Self.order, RecipeScene.key)
    case .deploys: try deploys(RecipeScene.app, "private-deploys", "deploy.requested")
    case .script: try deploys(RecipeScene.local, "deploys", "requested")
    case .presence: try presence()
    case .record:
      let program = try stage.start(block, RecipeScene.app)
      try scene.send("private-orders", "order.created", "1", to: program)
      #expect(try program.line() == "order.created")
      #expect(try stage.contents("orders.jsonl").contains(#""event":"order.created""#))
    case .quiet:
      let stage = try RecipeStage(port: "1")
      let program = try stage.start(block, RecipeScene.app)
      #expect(try program.line() == "4")
      stage.end("subscribe")
    case .session: try session()
    case .channels: try channels()
    case .stream: try stream()
    }
  }

  static let order = ("private-orders", "order.created", #"{"id":1,"total":1.10}"#)
  private static let settings = RecipeScene.app.map { "\($0.key)=\($0.value)\n" }.joined()

  /// Sends an event to the running block, and expects the line that it prints.
  private func expect(
    _ line: String, after event: (String, String, String),
    _ app: [String: String] = RecipeScene.app
  ) throws {
    let program = try stage.start(block)
    try scene.send(event.0, event.1, event.2, app, to: program)
    #expect(try program.line() == line, "\(block)")
  }

  /// The build's event decides; without one, and without a build, the job fails.
  private func job() throws {
    let isLocal = block.contains("--local")
    let app = isLocal ? RecipeScene.local : RecipeScene.app
    let (channel, event) =
      isLocal ? ("build", "finished") : ("private-build-17", "build.finished")
    let environment = app.merging(["RUN_ID": "17"]) { $1 }
    let trigger = "pusher-cli trigger -c \(channel) -e \(event) "
    for (build, ending, printed) in [
      (trigger + #"'{"status":"passed"}'"#, 0, "true\n"),
      (trigger + #"'{"status":"failed"}'"#, 1, "false\n"), ("exit 3", 7, ""),
    ] {
      try stage.write("start-build.sh", "#!/bin/sh\n\(build)\n")
      for options in ["", "set -e\n"] {
        try stage.start(options + block, environment).result()
          .expect(Int32(ending), prints: printed)
      }
    }
    try stage.write("start-build.sh", "#!/bin/sh\nexit 0\n")
    let brief = block.replacing("5m", with: "1s")
    #expect(brief != block)
    #expect(try stage.start(brief, environment).result().ending == .exited(124))
  }

  func laravel(data: String, prints lines: [String]) throws {
    try stage.write(".env", Self.settings)
    // A pattern finds the channels in which somebody is.
    let page = try PusherCLI.start(
      ["subscribe", "private-orders"] + server.address, environment: RecipeScene.app)
    let program = try stage.start(block, [:])
    let count = ["channels", "private-orders", "--info", "subscription_count"]
    try waitUntil("both have joined: \(program.peekAtErrors())") {
      try scene.call(count).contains(#""subscription_count":2"#)
    }
    try scene.send("private-orders", "order.created", data, to: program)
    #expect(try program.lines(lines.count) == lines)
    page.send(SIGTERM)
  }

  private func forward() throws {
    // The receiver is a program of Python's, as in the tests of --forward.
    guard PythonPeer.isWanted else { return }
    let receiver = try ForwardReceiver("200")
    let program = try stage.start(
      block.replacing("https://shop.example/hook", with: receiver.url), RecipeScene.app)
    try scene.send("private-orders", "order.created", "7", to: program)
    let line = #"{"event":"order.created","channel":"private-orders","data":7}"#
    #expect(try receiver.requests(1).map(\.body).first?.hasPrefix(line) == true)
    program.endWithChildren()
  }

  private func deploys(_ app: [String: String], _ channel: String, _ event: String) throws {
    try stage.write("deploy.sh", "#!/bin/sh\ncat\necho \"$1\" >>deployed\n")
    let program = try stage.start(block, app)
    try scene.send(channel, event, #"{"ref":"v1 && rm"}"#, app, to: program)
    try scene.send(channel, event, #"{"ref":"v2"}"#, app, to: program)
    #expect(try stage.contents("deployed", lines: 2) == "v1 && rm\nv2\n")
    program.endWithChildren()
  }

  private func presence() throws {
    let program = try stage.start(block, RecipeScene.app)
    let joined = try program.lines(2)
    #expect(joined.last?.contains("\tpusher:subscription_succeeded\t") == true)
    let guest = try PusherCLI.start(
      ["subscribe"] + server.address + ["presence-lobby", "--user-id", "7"],
      environment: RecipeScene.app)
    #expect(try program.line().hasSuffix("\tpusher:member_added\t7"))
    guest.send(SIGTERM)
  }

  private func session() throws {
    let stage = try RecipeStage(port: String(try Loopback.closedPort()))
    let program = try stage.start(block)
    let line = #"{"event":"greeting","channel":"my-channel","data":{"hello":"world"}}"#
    #expect(try program.line() == line)
    #expect(try program.wait() == .exited(0))
    stage.end("serve")
  }

  private func channels() throws {
    let program = try stage.start(block)
    try scene.send("sport", "goal", "1", RecipeScene.key, to: program)
    // jq keeps what it prints into a pipe until its input ends.
    stage.end("subscribe")
    #expect(
      try program.result().outputText.filter { !$0.isWhitespace }
        == #"{"event":"goal","channel":"sport","data":1}"#)
  }

  private func stream() throws {
    let server = try ScriptedServer.streaming("id: 7\ndata: 1\n\n")
    let stage = try RecipeStage(port: "1", streamPort: "\(server.port)")
    let program = try stage.start(block)
    #expect(try stage.contents("log.jsonl") == #"{"event":"message","id":"7","data":1}"# + "\n")
    program.endWithChildren()
  }
}
