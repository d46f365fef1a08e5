import Foundation
import PusherCore
import Testing

/// A folder in which blocks of the documentation run as they are printed.
///
/// The `pusher-cli` that they find leads to the servers of the test, whatever ports and hosts the
/// documentation names, and leaves its process id in a file named after its command. `make` shows
/// what it would do, and `sudo` runs a command as it is.
final class RecipeStage {
  let folder: String
  private let variables: [String: String]

  /// The apps that the documentation speaks of, as `serve --apps` takes them.
  static let apps = """
    [{"id":1,"key":"local","secret":"local"}, {"id":2,"key":"app-key","secret":"app-secret"},
     {"id":3,"key":"KEY","secret":"key-secret"}]
    """

  private static let program = """
    #!/bin/sh
    skip= leads=$STAGE_LEADS
    for word do
      shift
      case $word in
        --listen | --port) [ "$leads" != unnamed ] || leads=never ;;
        --cluster) skip=1; continue ;;
        https://example.com/*) word=http://127.0.0.1:$STREAM_PORT/${word#https://example.com/} ;;
        https://api.*.com/* | https://hub.example.com/* | https://stream.wikimedia.org/*)
          word=http://127.0.0.1:$STREAM_PORT/${word#*://*/} ;;
        http://127.0.0.1:11434/* | http://127.0.0.1:8000/*)
          word=http://127.0.0.1:$STREAM_PORT/${word#*://*/} ;;
        https://shop.example/*) word=http://127.0.0.1:$STAGE_PORT/${word#https://shop.example/} ;;
      esac
      [ "$skip" ] || set -- "$@" "$word"
      skip=
    done
    echo $$ >"$STAGE/$1.pid"
    [ "$leads" != never ] || exec "$PROGRAM" "$@"
    case $1 in
      serve) exec "$PROGRAM" "$@" --listen "127.0.0.1:$STAGE_PORT" ;;
      subscribe | trigger | channels | users | bench | webhook)
        exec "$PROGRAM" "$@" --host 127.0.0.1 --port "$STAGE_PORT" --scheme http ;;
      check)
        [ "$leads" != unnamed ] || set -- "$@" --host 127.0.0.1 --port "$STAGE_PORT" --scheme http
        exec "$PROGRAM" "$@" ;;
      *) exec "$PROGRAM" "$@" ;;
    esac

    """

  /// Calls that the stage sends to its own server; other calls find theirs by their settings.
  enum Lead: String {
    case always, never
    /// Calls without `--port` or `--listen`.
    case unnamed
  }

  /// A stage whose server listens on `port`, its event stream on `streamPort`.
  init(port: String, streamPort: String = "1", leads: Lead = .always) throws {
    folder = TemporaryFolder.shared.file("stage")
    variables = [
      "PATH": "\(folder)/bin:\(try Self.tools.get()):\(PusherCLI.environment["PATH"] ?? "")",
      "STAGE": folder, "PROGRAM": PusherCLI.path, "STAGE_PORT": port, "STREAM_PORT": streamPort,
      "ROOT": Documentation.folder, "STAGE_LEADS": leads.rawValue,
    ]
    try FileManager.default.createDirectory(
      atPath: folder + "/bin", withIntermediateDirectories: true)
  }

  /// Folder of the programs that all stages have.
  private static let tools = Result {
    let folder = TemporaryFolder.shared.file("tools")
    // README installs packages; here they are only named.
    let names = "echo \"$0 $*\""
    let make = "exec env -i PATH=/usr/local/bin:/usr/bin:/bin make -C \"$ROOT\" -n \"$@\""
    let tools = ["apt": names, "pipx": names, "make": make, "sudo": "exec \"$@\""]
    for (name, text) in tools { try write("\(folder)/\(name)", "#!/bin/sh\n\(text)\n") }
    try write("\(folder)/pusher-cli", program)
    return folder
  }

  deinit {
    end("serve")
    end("subscribe")
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// Puts a file into the folder, or into a folder of it; scripts can be run.
  func write(_ name: String, _ text: String) throws { try Self.write("\(folder)/\(name)", text) }

  private static func write(_ path: String, _ text: String) throws {
    guard text.hasPrefix("#!") else {
      try FileManager.default.createDirectory(
        at: URL(filePath: path).deletingLastPathComponent(), withIntermediateDirectories: true)
      let mode = [FileAttributeKey.posixPermissions: 0o600]
      try #require(
        FileManager.default.createFile(atPath: path, contents: Data(text.utf8), attributes: mode))
      return
    }
    // Another process writes scripts: a copy of our descriptor in somebody's new child would keep
    // one from running.
    let writing = "mkdir -p \"${1%/*}\" && printf %s \"$2\" >\"$1\" && chmod 755 \"$1\""
    let result = try ChildProgram(
      "/bin/sh", ["-c", writing, "sh", path, text], environment: PusherCLI.environment
    ).result()
    guard result.ending == .exited(0) else { throw Unexpected(result.errorText) }
  }

  /// What a file of the folder holds, once it has so many lines.
  func contents(_ name: String, lines: Int = 1) throws -> String {
    try waitFor("somebody wrote \(name)") {
      let text = try? String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
      return text.flatMap { $0.utf8.count(where: { $0 == 0x0A }) >= lines ? $0 : nil }
    }
  }

  /// Starts a block in the folder, or in a folder of it; its messages come on standard output too
  /// when `merges` says so.
  func start(
    _ block: String, _ environment: [String: String] = [:], merges: Bool = false,
    in place: String = ".", by shell: String = "sh"
  ) throws -> ChildProgram {
    let opening = "cd \"$STAGE/\(place)\"\n" + (merges ? "exec 2>&1\n" : "")
    try write("block.sh", opening + block + "\n")
    let all = PusherCLI.environment.merging(variables) { $1 }.merging(environment) { $1 }
    return try ChildProgram(shell, ["\(folder)/block.sh"], environment: all)
  }

  /// Asks the program of this command that a block has started to end.
  func end(_ command: String) {
    let text = try? String(contentsOfFile: "\(folder)/\(command).pid", encoding: .utf8)
    guard let text, let id = pid_t(text.filter(\.isNumber)) else { return }
    try? FileManager.default.removeItem(atPath: "\(folder)/\(command).pid")
    kill(id, SIGTERM)
  }
}

/// What the documentation shows, block by block.
enum Documentation {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  static func text(_ name: String) throws -> String {
    try String(contentsOf: root.appending(path: name), encoding: .utf8)
  }

  static var folder: String { root.path }

  /// The fenced blocks of README.md of this kind.
  static func readme(_ kind: String) throws -> [String] {
    try fenced("README.md").filter { $0.kind == kind }.map(\.text)
  }

  /// The fenced blocks of a page, with what stands after the fence.
  static func fenced(_ page: String) throws -> [(kind: String, text: String)] {
    fenced(text: try text(page))
  }

  static func fenced(text: String) -> [(kind: String, text: String)] {
    text.components(separatedBy: "\n```").enumerated().filter { $0.offset % 2 == 1 }.map {
      let lines = $0.element.components(separatedBy: "\n")
      return (lines[0], lines.dropFirst().joined(separator: "\n"))
    }
  }

  /// The examples of the manual, as a reader sees them.
  static func manual() throws -> [String] {
    let section = try #require(
      try text("man/pusher-cli.1").components(separatedBy: ".Sh ").first {
        $0.hasPrefix("DESCRIPTION\n")
      })
    return section.components(separatedBy: ".Bd -literal -offset indent\n").dropFirst().map {
      $0.components(separatedBy: "\n.Ed")[0].replacing("\\e", with: "\\")
    }
  }

  /// The recipes of the help: what is indented, without the indentation.
  static func recipes(_ page: String) -> [String] {
    page.components(separatedBy: "\n\n").filter { $0.hasPrefix("  ") }.map { block in
      block.split(separator: "\n").map { $0.dropFirst(2) }.joined(separator: "\n")
    }
  }
}

/// A server with the apps that the documentation speaks of, and a stage on which its blocks find
/// it.
final class RecipeScene {
  let server: LocalServer
  let stage: RecipeStage

  /// The second app, which the blocks without a key of their own find in the environment.
  static let app = [
    "PUSHER_APP_KEY": "app-key", "PUSHER_APP_SECRET": "app-secret", "PUSHER_APP_ID": "2",
  ]
  static let local = [
    "PUSHER_APP_KEY": "local", "PUSHER_APP_SECRET": "local", "PUSHER_APP_ID": "1",
  ]
  static let key = [
    "PUSHER_APP_KEY": "KEY", "PUSHER_APP_SECRET": "key-secret", "PUSHER_APP_ID": "3",
  ]

  /// With `leads` the blocks are led to the server, whatever they say.
  init(leads: RecipeStage.Lead = .always) throws {
    let apps = try TemporaryFolder.shared.file("apps", holding: RecipeStage.apps)
    server = try LocalServer(options: ["--apps", apps])
    stage = try RecipeStage(port: server.port, leads: leads)
  }

  func call(_ words: [String], _ app: [String: String] = app) throws -> String {
    let result = try PusherCLI.run(words + server.address, environment: app)
    #expect(result.ending == .exited(0), "\(result.errorText)")
    return result.outputText
  }

  /// Sends an event once the program has joined its channel.
  func send(
    _ channel: String, _ event: String, _ data: String, _ app: [String: String] = app,
    to program: ChildProgram
  ) throws {
    try waitUntil("somebody has joined \(channel): \(program.peekAtErrors())") {
      try call(["channels"], app).contains("\"channel\":\"\(channel)\"")
    }
    _ = try call(["trigger", "-c", channel, "-e", event, data], app)
  }
}
