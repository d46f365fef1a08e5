import Foundation
import PusherCore
import Testing

@testable import pusher_cli

@Suite("docs/guide.md, run from the top to the end", .runsProgramsFirst) struct GuideTests {
  private static func page() throws -> String { try Documentation.text("docs/guide.md") }

  @Test func `every session prints what it shows`() throws {
    let streams = try ScriptedServer { connection in
      let path = try connection.question().head.target
      if let (type, body) = Self.answer(at: path) {
        return try connection.send(body: body, type: type)
      }
      try connection.beginAnswer(type: "text/event-stream")
      try connection.send(stream: Self.stream(at: path))
      try connection.remain()
    }
    let ports = try (["6001"] + (6003...6007).map(String.init)).map {
      ($0, String(try Loopback.closedPort()))
    }
    let stage = try RecipeStage(port: ports[0].1, streamPort: "\(streams.port)", leads: .unnamed)
    // Programs in the background write to the standard output of their session.
    var sessions: [ChildProgram] = []
    defer { for session in sessions { session.endWithChildren() } }
    for (kind, text) in try Documentation.fenced(text: Self.page()) {
      #expect(kind == "console", "\(text)")
      let session = ShownSession(ports.reduce(text) { $0.replacing($1.0, with: $1.1) })
      let program = try stage.start(session.commands, merges: true)
      sessions.append(program)
      let lines = try program.lines(session.shown.count).map {
        $0.replacing(" --port \(ports[0].1) of subscribe", with: " of subscribe")
          .replacing("--local --port \(ports[0].1)", with: "--local")
      }
      #expect(lines == session.shown, "\(text)")
      #expect(try program.wait() == .exited(0), "\(text)")
    }
    #expect(sessions.count > 20)
  }

  /// The bodies that are no event stream.
  private static func answer(at path: String) -> (type: String, body: String)? {
    switch path {
    case "/api/chat":
      ("application/x-ndjson", ModelStreams.ollama("Good ", "morning", "!").joined())
    case "/mcp": ("application/json", #"{"jsonrpc":"2.0","id":1,"result":{}}"#)
    default: nil
    }
  }

  private static func stream(at path: String) -> String {
    switch path {
    case "/chat": ModelStreams.chat("Hello", ", world", "!")
    case "/messages": ModelStreams.message("Hel", "lo", end: ModelStreams.overloaded)
    default:
      "id: 7\nevent: price\ndata: {\"eur\":3}\n\n"
        + "id: 8\nevent: price\ndata: {\"eur\":4}\n\n"
    }
  }

  @Test func `the list at the top leads to every section`() throws {
    let lines = try Self.page().split(separator: "\n").map(String.init)
    let listed = lines.compactMap { line in
      line.wholeMatch(of: /- \[(.*)\]\(#(.*)\)/).map { (title: String($0.1), anchor: String($0.2)) }
    }
    #expect(listed.map { "## " + $0.title } == lines.filter { $0.hasPrefix("## ") })
    for (title, anchor) in listed {
      #expect(anchor == title.lowercased().replacing(" ", with: "-"))
    }
  }

  @Test func `the table of statuses lists those of the program`() throws {
    let rows = try Self.page().split(separator: "\n").compactMap { line in
      line.wholeMatch(of: /\| (\d+) \| .* \|/).flatMap { Int32($0.1) }
    }
    let statuses = ExitStatus.allCases.filter { $0 != .internalError }.map(\.rawValue)
    #expect(rows == statuses)
  }

  @Test func `every page of docs is in its index, and every link leads somewhere`() throws {
    let index = try Documentation.text("docs/README.md")
    let pages = try FileManager.default.contentsOfDirectory(atPath: Documentation.folder + "/docs")
    for page in pages where page.hasSuffix(".md") && page != "README.md" {
      #expect(index.contains("](\(page))"), "\(page)")
    }
    for (place, text) in [
      ("docs", index), ("docs", try Self.page()), (".", try Documentation.text("README.md")),
    ] {
      for link in text.matches(of: /\]\(([^)#]+)(#[^)]*)?\)/) {
        let path = "\(Documentation.folder)/\(place)/\(link.1)"
        #expect(FileManager.default.fileExists(atPath: path), "\(link.1)")
      }
    }
  }
}

/// A fenced session of a page: commands behind `$ `, and the lines that they print.
struct ShownSession {
  private(set) var commands = ""
  private(set) var shown: [String] = []

  init(_ text: String) {
    var isContinued = false
    var ending: Substring?
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      guard line.hasPrefix("$ ") || isContinued || ending != nil else {
        shown.append(String(line))
        continue
      }
      let command = line.hasPrefix("$ ") ? line.dropFirst(2) : line
      commands += command + "\n"
      if line == ending {
        ending = nil
      } else if ending == nil {
        ending = command.firstMatch(of: /<<'(\w+)'/).map { $0.1 }
        isContinued = line.hasSuffix("\\") || line.hasSuffix("|")
      }
    }
  }
}
